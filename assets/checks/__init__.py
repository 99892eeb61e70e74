"""Asset checks, one module per layer."""
