"""Tables for people: console, markdown and CSV. Nothing is computed here that is not in the warehouse."""
