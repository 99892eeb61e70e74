"""Running untrusted Python programs. Start reading at ``api``; why it is built so: docs/sandbox_python.md.

``api`` and ``pool`` run in our process, ``zygote`` in the small process that forks, ``supervisor`` and ``checker`` in
the trusted process of one job, ``candidate`` in the process that runs the program. This file imports nothing, because
all of them import it.
"""
