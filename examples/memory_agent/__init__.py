"""A memory-keeping agent and the bare model it is evaluated beside (docs/systems.md has the commands)."""
