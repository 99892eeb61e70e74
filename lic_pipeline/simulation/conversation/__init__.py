"""One conversation: its loop, the assistants that answer, the gate and grading of replies, replay of what is stored."""
