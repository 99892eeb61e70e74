"""Worker processes: further processes that work through the same plan, where one cannot make calls fast enough.

They share nothing but the ledger and the lake, as two ``lic run`` on one plan do; ``worker_assignment`` is what each is
told, ``worker_main`` what it does, ``worker_processes`` how the first process starts, hears and ends them.
"""
