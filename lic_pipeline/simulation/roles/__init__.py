"""The roles beside the assistant: ``scripted`` needs no model and states the protocols; ``llm`` asks models."""
