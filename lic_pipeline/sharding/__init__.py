"""Sharded instructions: where they come from, and how instructions are cut into shards."""
