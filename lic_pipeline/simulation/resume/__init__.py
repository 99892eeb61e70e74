"""What of a plan is still to be done: pending conversations, those that stopped too early, drift that is accepted."""
