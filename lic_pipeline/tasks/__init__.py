"""The six tasks: prompts, answer rules, scorers and menus behind one protocol; one package each, and a registry."""
