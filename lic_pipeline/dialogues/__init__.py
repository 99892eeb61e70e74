"""The conversational reliability suite: paired single- and multi-turn items, and how their replies are graded."""
