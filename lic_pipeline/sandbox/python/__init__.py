"""Running untrusted Python programs. Start reading at ``api``; why it is built so: docs/sandbox_python.md.

``api``, ``jobs`` and ``pool`` run in our process; ``zygote`` and ``server`` in the small process that forks;
``supervisor``, ``child`` and ``checker`` in the trusted process beside a program; ``candidate`` in the program's own.
``isolation`` and ``seccomp`` are the walls, ``plain`` and ``wire`` what passes through. This file imports nothing,
because all of them import it.
"""
