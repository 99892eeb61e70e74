"""Ctrl-C, SIGTERM, a closed terminal in mid-run: out within seconds with 130, nothing lost, nothing paid twice."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from contextlib import closing

import pytest
from support.lic_command import SMALL, Lic

LONG = ("run", "-m", "sim/lost", "-t", "math", "-k", "4", "-n", "100", "-s", "FULL", "-s", "SHARDED", "-C", "2")
"""A run of 800 conversations: long enough to be interrupted, short enough to be finished."""


def _stored(lic: Lic) -> dict[tuple[object, ...], float]:
    """When each call was stored, by its key."""
    try:
        with closing(lic.ledger()) as connection:
            rows = connection.execute("SELECT conversation_id, epoch, role, turn, ask, stored_at FROM calls").fetchall()
    except sqlite3.OperationalError:
        return {}
    return {row[:-1]: row[-1] for row in rows}


def _interrupted(lic: Lic, number: signal.Signals) -> dict[tuple[object, ...], float]:
    """Start the long run, signal it and its children as a terminal does, once calls are stored; returns those."""
    process = lic.start(*LONG)
    until = time.monotonic() + 90
    while len(_stored(lic)) < 50:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "no call was stored"
        time.sleep(0.05)
    os.killpg(process.pid, number)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 5
    assert process.returncode == 130, err
    told = [line for line in err.splitlines() if line.startswith("lic: ")]
    assert len(told) == 1
    assert "interrupted" in told[0]
    assert "Traceback" not in err
    return _stored(lic)


def test_an_interrupted_run_goes_on_where_it_stopped(lic: Lic) -> None:
    before = _interrupted(lic, signal.SIGINT)
    stopped = lic("status", "--json").document
    assert stopped["experiments"] == []
    assert sum(stopped["outside_manifests"].values()) > 0

    done = lic(*LONG)
    after = _stored(lic)
    made = int(re.search(r"([\d,]+) calls made, 800 conversations wanted", done.err)[1].replace(",", ""))  # type: ignore[index]
    assert {key: after[key] for key in before} == before
    assert made == len(after) - len(before)
    (row,) = lic("status", "--json").document["experiments"]
    assert (row["wanted"], row["done"], row["scored"], row["missing"]) == (800, 800, 800, {})
    assert row["calls"] == len(after)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGHUP])
def test_other_signals_end_a_run_as_ctrl_c_does(lic: Lic, number: signal.Signals) -> None:
    before = _interrupted(lic, number)
    assert len(before) >= 50


def test_a_run_started_with_nohup_does_not_hear_the_terminal_close(lic: Lic) -> None:
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = lic.start("run", *SMALL)
    finally:
        signal.signal(signal.SIGHUP, ignored)
    assert process.stderr is not None
    assert process.stderr.readline() == "preparing math\n"
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


def test_ctrl_c_before_the_first_call_is_answered_too(lic: Lic) -> None:
    process = lic.start(*LONG)
    assert process.stderr is not None
    assert process.stderr.readline() == "preparing math\n"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 5
    assert process.returncode == 130, err
    assert err.startswith("lic: interrupted")
    assert err.count("\n") == 1
