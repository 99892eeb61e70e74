"""The time limit of one test: processor time, wall clock where that cannot be had."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from lic_pipeline.sandbox.python import child
from lic_pipeline.sandbox.python.child import Timer


def test_a_process_that_has_ended_has_not_run_out_of_time() -> None:
    """Its clock is gone with it; what it answered before may still be on its way."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    timer = Timer.start(6.0, process.pid)
    assert timer.cpu_start is not None
    process.communicate(b"\n")
    assert 5.0 < timer.left() <= 6.0


def test_a_process_that_had_ended_before_is_timed_by_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    timer = Timer.start(6.0, process.pid)
    assert timer.cpu_start is None
    assert 5.0 < timer.left() <= 6.0
    now = time.monotonic()
    monkeypatch.setattr(child.time, "monotonic", lambda: now + 6.5)
    assert timer.left() == 0.0


def test_processor_time_counts_against_the_limit() -> None:
    loop = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)\ninput()"
    process = subprocess.Popen([sys.executable, "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    timer = Timer.start(0.4, process.pid)
    assert process.stdout is not None
    process.stdout.readline()
    assert timer.left() == 0.0
    process.communicate(b"\n")
