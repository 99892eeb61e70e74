"""Numbers in English text: their grammar, words, units, and what stands around one. No reply, no question."""
