"""A small real language model served on this machine for ``lic demo-llm``: its files, its server, its registry entries.

Optional: nothing else in the project needs what is here. The model shows that every part is real; it is far too small
for anything it says as assistant, user or judge of replies to mean something.
"""
