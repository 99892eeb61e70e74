"""Gates between the layers: gold checks of instructions, static checks of shards, approval."""
