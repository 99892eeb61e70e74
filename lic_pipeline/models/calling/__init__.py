"""A call to a real model: attempts, retries, limits, what errors mean, and the heartbeat. Clients make one attempt."""
