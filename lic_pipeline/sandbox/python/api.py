"""The public face: ``run_program`` and ``sandbox_mode``. Comparing results is the caller's business."""

from __future__ import annotations

import socket
import time
from typing import Any

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.jobs import (
    Call,
    Check,
    Ending,
    Limits,
    Opaque,
    Outcome,
    ProgramJob,
    ProgramResult,
    Stdin,
    Target,
)
from lic_pipeline.sandbox.python.pool import Mode, Pool, SandboxError, default_pool
from lic_pipeline.sandbox.python.wire import ClosedError, LateError, WireError, receive_frame, send_frame

__all__ = [
    "Call",
    "Check",
    "Limits",
    "Opaque",
    "Outcome",
    "Pool",
    "ProgramJob",
    "ProgramResult",
    "SandboxError",
    "Stdin",
    "Target",
    "default_pool",
    "run_program",
    "sandbox_description",
    "sandbox_mode",
]

_GRACE = 5.0
_ERROR_KINDS: dict[str, Ending] = {
    "entry": "no_entry_point",
    "exit": "exited",
    "memory": "memory",
    "output": "output_limit",
    "forbidden": "forbidden",
    "syntax": "compile_error",
}
_ENDINGS = frozenset(Ending.__args__)  # type: ignore[attr-defined]


def sandbox_mode() -> Mode:
    """``strong`` (namespaces, empty root) or ``weak`` (limits only). Raises SandboxError when nothing starts."""
    return default_pool().mode()[0]


def sandbox_description() -> str:
    """For ``lic doctor``: what the strong mode consists of, or why only the weak one is to be had."""
    return default_pool().mode()[1]


def run_program(job: ProgramJob, pool: Pool | None = None) -> ProgramResult:
    """Run an untrusted program through its steps; blocks, may be called from many threads.

    Whatever the program does gives a result. Raises SandboxError when the sandbox itself does not work, ValueError for
    a job that makes no sense (no steps, steps of different kinds, calls without target).
    """
    if not job.steps or len({type(step) for step in job.steps}) != 1:
        raise ValueError("a job needs steps, all of one kind")
    if job.target is None and not isinstance(job.steps[0], Stdin):
        raise ValueError("calls and checks need a target")
    if "\0" in job.source:
        return ProgramResult("compile_error", "source code cannot contain null bytes", (), 0.0)
    pool = pool or default_pool()
    with pool.slots:
        started = time.monotonic()
        for attempt in (1, 2):
            try:
                outcomes = _run(job, pool)
                break
            except _LostError:
                if attempt == 2:
                    outcomes = [Outcome("runtime_error", detail="its sandbox died twice")]
        last = outcomes[-1]
        return ProgramResult(last.ending, last.detail, tuple(outcomes), time.monotonic() - started)


class _LostError(Exception):
    """The supervisor went away although it had time left."""


class _Session:
    """One connection to one supervisor."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.fd = connection.fileno()
        self.end = time.monotonic() + seconds

    def send(self, message: dict[str, Any]) -> None:
        try:
            send_frame(self.fd, plain.dumps(message))
        except (ClosedError, OSError) as error:
            self._gone(error)

    def receive(self) -> dict[str, Any]:
        """The next reply. Raises TimeoutError at the end of the job, _LostError when nobody answers before."""
        try:
            message = plain.loads(receive_frame(self.fd, self.end + _GRACE))
        except LateError:
            raise TimeoutError from None
        except (ClosedError, WireError, OSError, plain.PlainError) as error:
            self._gone(error)
        if not isinstance(message, dict):
            return {"stopped": "runtime_error", "detail": "malformed message"}
        return message

    def _gone(self, error: Exception) -> Any:
        if time.monotonic() >= self.end - 0.05:
            raise TimeoutError from error
        raise _LostError from error


def _run(job: ProgramJob, pool: Pool) -> list[Outcome]:
    limits = job.limits
    seconds = limits.wall_seconds
    if isinstance(job.steps[0], Check):  # test code that loops by itself shall not hold everything up
        seconds = min(seconds, 4 * limits.test_seconds + 5)
    with pool.connect(seconds) as connection:
        session = _Session(connection, seconds)
        outcomes: list[Outcome] = []
        try:
            session.send(_specification(job))
            if not isinstance(job.steps[0], Stdin):
                loaded = _outcome(session.receive())
                if loaded.ending != "ok":
                    return [loaded]
            for number, step in enumerate(job.steps):
                session.send(_request(step))
                outcome = _outcome(session.receive())
                outcomes.append(outcome)
                wanted = job.judge is None or job.judge(number, outcome)
                if not wanted or outcome.ending != "ok":
                    break
        except TimeoutError:
            outcomes.append(Outcome("timeout", detail=f"all tests together took more than {seconds:g} s"))
        return outcomes


def _specification(job: ProgramJob) -> dict[str, Any]:
    limits = job.limits
    script = isinstance(job.steps[0], Stdin)
    target = None if job.target is None else {"name": job.target.name, "owner": job.target.owner}
    return {
        "kind": "script" if script else "module",
        "source": job.source,
        "target": target,
        "tolerant": job.tolerant,
        "test_seconds": limits.test_seconds,
        "cpu_seconds": int(limits.test_seconds + 2 if script else limits.wall_seconds + 2),
        "memory_bytes": limits.memory_bytes,
        "output_bytes": limits.output_bytes,
    }


def _request(step: Call | Stdin | Check) -> dict[str, Any]:
    if isinstance(step, Stdin):
        return {"op": "run", "stdin": step.text}
    if isinstance(step, Check):
        return {"op": "check", "test": step.test, "setup": step.setup, "entry": step.entry}
    return {"op": "call", "args": [plain.encode(item, _refuse) for item in step.args]}


def _refuse(value: Any) -> tuple[int, str]:
    raise ValueError(f"arguments must be plain data, not {type(value).__name__}")


def _outcome(message: dict[str, Any]) -> Outcome:
    """A reply as an outcome; everything in it may come from the program and is checked."""
    value: Any = None
    if "stdout" in message:
        value = message["stdout"]
    if "stopped" in message:
        ending: Ending = message["stopped"] if message["stopped"] in _ENDINGS else "runtime_error"
        detail = str(message.get("detail", ""))[:500]
        if ending == "exited" and detail == "exit status 0" and isinstance(value, str):
            return Outcome("ok", value)  # a script may leave by os._exit(0)
        return Outcome(ending, value, detail)
    if "error" in message:
        error = message["error"] if isinstance(message["error"], dict) else {}
        line = error.get("line")
        detail = f"{error.get('type', 'error')}: {error.get('message', '')}"[:450]
        if isinstance(line, int):
            detail += f" (line {line})"
        return Outcome(_ERROR_KINDS.get(str(error.get("kind")), "runtime_error"), value, detail)
    if value is None:
        try:
            value = plain.decode(message.get("ok"), lambda _number, kind: Opaque(kind))
        except plain.PlainError as problem:
            return Outcome("runtime_error", None, str(problem))
    return Outcome("ok", value)
