"""Fixtures of the tests of models: the fault server of ``tests/support`` and entries that point at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fault_server import FaultServer

from lic_pipeline.models.registry import ModelEntry

QUICK = {"first_pause_s": 0.002, "longest_pause_s": 0.05, "attempt_s": 5.0, "total_s": 60.0}


@pytest.fixture
def serve() -> Iterator[Callable[..., FaultServer]]:
    """Starts fault servers that stop with the test."""
    with ExitStack() as stack:

        def start(*arguments: Any, **options: Any) -> FaultServer:
            return stack.enter_context(FaultServer(*arguments, **options))

        yield start


@pytest.fixture
def entry_for() -> Callable[..., ModelEntry]:
    """Registry entries of a server, with short pauses."""

    def make(server: FaultServer, **fields: Any) -> ModelEntry:
        patience = {**QUICK, **fields.pop("patience", {})}
        defaults = {"alias": "fake", "id": "local/fake", "base_url": server.url, "patience": patience}
        return ModelEntry.model_validate({**defaults, **fields})

    return make
