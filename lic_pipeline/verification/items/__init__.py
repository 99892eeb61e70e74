"""Which items can be used: the gold check, approval, and every version of an item that was ever prepared."""
