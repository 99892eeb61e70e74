"""The streaming engine behind ``lic score``: JSON lines in, one score line each out, in order, in flat memory.

``items`` reads a line, ``scorer`` scores one, ``stream`` runs many, ``sink`` writes them, ``lookup`` finds the task.
The scores themselves come from ``tasks`` and ``dialogues``; nothing here knows one of them by its rules.
"""
