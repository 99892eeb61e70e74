"""Statistics of reliability, the metric tables as SQL, and the published warehouse. No model, no conversation."""
