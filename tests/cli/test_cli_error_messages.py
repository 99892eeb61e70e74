"""Errors of libraries, as the command tells them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
from pathlib import Path

import duckdb
import pytest
from support.lic_command import PROGRAM, Lic

from lic_pipeline.cli.shared.error_messages import error_message


def _interrupted_query() -> BaseException:
    """What DuckDB raises when Ctrl-C comes while a query runs."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with duckdb.connect() as connection:
            connection.execute("SELECT count(*) FROM range(10_000_000_000) WHERE random() > 2").fetchall()
    except BaseException as error:
        return error
    raise AssertionError("the query ended before it was interrupted")


def test_ctrl_c_during_a_query_is_an_interrupt_and_no_fault() -> None:
    message, code = error_message(_interrupted_query())
    assert code == 130
    assert message.startswith("interrupted")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2, "the disk is full"),
        (OSError(errno.EROFS, "Read-only file system"), 2, "choose a writable LIC_HOME"),
        (RuntimeError("attempt to write a readonly database"), 2, "choose a writable LIC_HOME"),
        (RuntimeError("Query was good"), 70, "a fault in lic itself (RuntimeError: Query was good)"),
        (KeyError("x"), 70, "set LIC_DEBUG=1"),
        (ValueError(""), 70, "(ValueError: ValueError)"),
    ],
)
def test_an_error_becomes_a_line_and_a_code(error: Exception, code: int, says: str) -> None:
    assert error_message(error)[1] == code
    assert says in error_message(error)[0]
    wrapped = RuntimeError("a step failed")
    wrapped.__cause__ = error
    if code != 70:
        assert error_message(wrapped) == error_message(error)


def test_a_current_folder_that_is_gone_is_said(lic: Lic, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd '{gone}' && rmdir '{gone}' && exec '{PROGRAM}' status"
    environment = lic.environment({"LIC_HOME": "relative"})
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lic: the current folder does not exist any more; change to another one\n"
