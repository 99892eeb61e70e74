"""The server's own process: ``python -m lic_pipeline.models.local.serve WEIGHTS THREADS CONTEXT``.

Prints ``{"url": ...}`` once it listens on a loopback port the system chose, and lives until it is told to stop or until
whoever started it is gone: then its standard input ends. It shares nothing with the project but this contract.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve one model in one slot. Ends with the runtime's own error when it cannot."""
    weights, threads, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    threading.Thread(target=_end_with_starter, daemon=True).start()
    runtime: Any = importlib.import_module("xllamacpp")
    server = runtime.Server(_parameters(runtime, weights, threads, context))
    sys.stdout.write(json.dumps({"url": server.listening_address}) + "\n")
    sys.stdout.flush()
    threading.Event().wait()


def _parameters(runtime: Any, weights: str, threads: int, context: int) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {Path(weights).stem}
    parameters.hostnames = ["127.0.0.1"]
    # The system chooses a free port: looking for one first leaves time for somebody else to take it.
    parameters.port = 0
    # One slot without prompt caching: replies to seeded requests then repeat, whatever else is asked meanwhile.
    parameters.n_parallel = 1
    parameters.cache_prompt = False
    parameters.n_ctx = context
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0  # threads that spin while they wait starve whatever else runs, and are starved themselves
    parameters.offline = True
    parameters.ui = False
    return parameters


def _end_with_starter() -> None:
    """Reads until the other end of standard input is closed, which a killed process does as well."""
    # Through os: an interpreter that ends while another thread holds the lock of sys.stdin aborts.
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
