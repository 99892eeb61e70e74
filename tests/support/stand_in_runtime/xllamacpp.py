"""Stands where the runtime of the local model would: the same names, a server of canned replies, no weights.

With this folder on PYTHONPATH ``models.local.serve`` runs as it is. STAND_IN_PIDS: a file its process id is added to.
STAND_IN_DIES_AFTER: so many replies, and the process ends without a word. Not a test module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fault_server import FaultServer
from role_answers import played_answer


class CommonParams(SimpleNamespace):
    """Holds whatever is set."""

    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    """Listens once it is made."""

    def __init__(self, parameters: CommonParams) -> None:
        if not Path(parameters.model.path).read_bytes():
            print("failed to load model: the file is empty", file=sys.stderr)
            raise RuntimeError("Failed to init server, please check the input params.")
        assert parameters.hostnames == ["127.0.0.1"]
        self._left = int(os.environ.get("STAND_IN_DIES_AFTER", "1000000000"))
        self._server = FaultServer(answer=self._answer, keep=False, port=parameters.port, delay_s=0.005)
        self._server.__enter__()
        if "STAND_IN_PIDS" in os.environ:
            with open(os.environ["STAND_IN_PIDS"], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")

    @property
    def listening_address(self) -> str:
        return self._server.url.removesuffix("/v1")

    def _answer(self, body: Mapping[str, Any]) -> str:
        self._left -= 1
        if self._left < 0:
            os._exit(9)
        return played_answer(body)
