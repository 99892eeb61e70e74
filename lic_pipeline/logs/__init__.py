"""Conversation logs of the reference scripts: read, joined with references, stored as conversations, rescored.

``names`` knows what the scripts called things, ``trace`` and ``parse`` read one line, ``joins`` finds instruction and
shards, ``build`` makes the conversation, ``importing`` does it for files, ``rescoring`` scores it again step by step.
Means and intervals over conversations are computed in ``metrics.artefact``.
"""
