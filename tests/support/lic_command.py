"""The command as people call it: the installed console script in a process of its own, with an LIC_HOME of its own."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lic_pipeline.cli import _call

PROGRAM = Path(sys.executable).with_name("lic")
SMALL = ("-m", "sim/lost", "-t", "math", "-k", "2", "-n", "2", "-s", "FULL", "-s", "SHARDED", "-s", "RECAP")
"""Options of the run behind ``finished``: 12 conversations of two items."""


QUICK = frozenset({"doctor", "ledger", "plan", "status"})


@dataclass(frozen=True)
class Lic:
    """Calls ``lic`` with this home; the environment holds no key and no setting of the caller's."""

    home: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What the command is started with."""
        dropped = ("LIC_", "DAGSTER_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped) and not k.endswith("_API_KEY")}
        return {**kept, "LIC_HOME": str(self.home), **(extra or {})}

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """A running command, its output in pipes, the head of a process group of its own."""
        folder = next(parent for parent in self.home.parents if parent.is_dir())
        return subprocess.Popen(
            [str(PROGRAM), *arguments], env=self.environment(env), cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
        )  # fmt: skip

    def __call__(
        self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None, apart: bool = False,
        here: bool = False,
    ) -> Output:  # fmt: skip
        """Run to the end and insist on the exit code.

        Commands that launch nothing run in this process, which saves a second of imports each, unless ``apart``; with
        ``here`` others do too, which saves several where one test calls them again and again.
        """
        if (here or arguments[0] in QUICK) and not apart:
            ended, output = self._here(arguments, env)
        else:
            process = self.start(*arguments, env=env)
            output = Output(*process.communicate(timeout=120))
            ended = process.returncode
        assert ended == code, f"lic {' '.join(arguments)}: {ended}\n{output.out[-2000:]}\n{output.err}"
        assert "Traceback" not in output.err
        return output

    def _here(self, arguments: Sequence[str], env: Mapping[str, str] | None) -> tuple[int, Output]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environment(env))
        try:
            with redirect_stdout(out), redirect_stderr(err):
                code = _call(arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)
        return code, Output(*(stream.buffer.getvalue().decode() for stream in (out, err)))

    def error(self, *arguments: str, code: int = 2, env: Mapping[str, str] | None = None, apart: bool = False) -> str:
        """Run, insist on the exit code and on one line ``lic: ...`` as the last; returns that line."""
        lines = self(*arguments, code=code, env=env, apart=apart).err.splitlines()
        told = [line for line in lines if line.startswith("lic: ")]
        assert told == lines[-1:], lines
        return told[0]

    def ledger(self) -> sqlite3.Connection:
        """The ledger's own file, read from outside."""
        return sqlite3.connect(self.home / "ledger" / "ledger.sqlite", timeout=30)


@dataclass(frozen=True)
class Output:
    """What a command printed."""

    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Stdout as the one JSON document it must be."""
        found: dict[str, Any] = json.loads(self.out)
        assert found["schema"] == 1
        return found


def end_in_error(lic: Lic, ids: Sequence[str], state: str) -> None:
    """Make finished conversations look as if a provider had failed: no outcome, and no reply of their last turn."""
    with lic.ledger() as connection:
        for name in ids:
            connection.execute("UPDATE conversations SET state = ?, stop_reason = NULL WHERE conversation_id = ?",
                               (state, name))  # fmt: skip
            last = "(SELECT max(turn) FROM calls WHERE conversation_id = :name)"
            connection.execute(f"DELETE FROM decisions WHERE conversation_id = :name AND turn = {last}", {"name": name})
            connection.execute(f"DELETE FROM calls WHERE conversation_id = :name AND turn = {last}", {"name": name})
    connection.close()
