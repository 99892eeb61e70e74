"""Runs a benchmark's own test code against a program that lives in another process.

The test code sees a proxy: arguments go over as plain data, results come back as plain data, so every comparison uses
the pristine builtins of this process. An object that is no plain data stays over there and equals nothing here.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterator
from typing import Any

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.child import Child, Stopped, Timer, stopped

TEST_FILE = "<test>"
_KINDS = {"memory": "memory", "forbidden": "forbidden", "output": "output_limit"}


class ProgramError(Exception):
    """The program raised an exception of a class that is no builtin."""


def check(request: dict[str, Any], child: Child, seconds: float) -> dict[str, Any]:
    """Run ``setup`` (the benchmark's prompt), then ``test``, then ``check(candidate)``; how it ended as a message."""
    remote = _Remote(child, Timer.start(seconds, child.pid))
    random.seed(0)
    namespace: dict[str, Any] = {"__name__": "test"}
    candidate = RemoteObject(remote, None, "function")
    error: BaseException | None = None
    try:
        exec(compile(request["setup"], "<prompt>", "exec", dont_inherit=True), namespace)
        namespace[request["entry"]] = candidate
        exec(compile(request["test"], TEST_FILE, "exec", dont_inherit=True), namespace)
        namespace["check"](candidate)
    except BaseException as raised:
        error = raised
    if remote.end is not None:
        return stopped(remote.end)
    return {"ok": None} if error is None else _failure(error, remote)


def _failure(error: BaseException, remote: _Remote) -> dict[str, Any]:
    if error is remote.last_error:
        description = remote.last_description
        return {"stopped": _KINDS.get(description["kind"], "runtime_error"), "detail": _sentence(description)}
    if isinstance(error, MemoryError):
        return {"stopped": "memory", "detail": "the results need too much memory"}
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == TEST_FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {"stopped": "wrong", "detail": f"test line {line}: {type(error).__name__}: {str(error)[:200]}".rstrip(": ")}


def _sentence(description: dict[str, Any]) -> str:
    line = description.get("line")
    return f"{description['type']}: {description['message']}" + (f" (line {line})" if line else "")


class _Remote:
    """The conversation with the program's process; its end, once it came, is final."""

    def __init__(self, child: Child, timer: Timer) -> None:
        self.child = child
        self.timer = timer
        self.end: Stopped | plain.PlainError | None = None
        self.objects: list[Any] = []
        self.last_error: BaseException | None = None
        self.last_description: dict[str, Any] = {}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.end is not None:
            raise self.end
        try:
            self.child.send(request, self.timer)
            while True:
                answer = self.child.await_answer(self.timer)
                if "callback" not in answer:
                    break
                self.child.send(self._callback(answer), self.timer)
        except (Stopped, plain.PlainError) as end:
            self.end = end
            raise
        except Exception as error:  # the other end closed, or sent nonsense: a fact about the program
            self.end = Stopped("exited", f"{type(error).__name__}: {error}"[:200])
            raise self.end from None
        if "error" in answer:
            raise self._exception(answer["error"])
        return answer

    def value(self, data: Any) -> Any:
        try:
            return plain.decode(data, self.from_handle)
        except plain.PlainError as error:
            self.end = error
            raise

    def _callback(self, message: dict[str, Any]) -> dict[str, Any]:
        """Call a function of the test code for the program."""
        function = self.objects[-int(message["callback"]) - 1]
        try:
            result = function(*[self.value(item) for item in message["args"]])
            return {"ok": plain.encode(result, self.to_handle)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:300]}

    def _exception(self, description: Any) -> BaseException:
        """The program's exception as a builtin one of the same name; leaving the process is final."""
        if not isinstance(description, dict):
            description = {"kind": "exception", "type": "Exception", "message": ""}
        description = {key: str(description.get(key, ""))[:300] for key in ("kind", "type", "message", "line")}
        if description["kind"] == "exit":
            self.end = Stopped("exited", "raised SystemExit")
            return self.end
        known = getattr(builtins, description["type"], None)
        error: BaseException
        if isinstance(known, type) and issubclass(known, Exception):
            error = known.__new__(known)
            error.args = (description["message"],)
        else:
            error = ProgramError(f"{description['type']}: {description['message']}")
        self.last_error, self.last_description = error, description
        return error

    def to_handle(self, value: Any) -> tuple[int, str]:
        if isinstance(value, RemoteObject):
            return value.handle_number, "object"
        self.objects.append(value)
        return -len(self.objects), "function"

    def from_handle(self, number: int, kind: str) -> Any:
        return self.objects[-number - 1] if number < 0 else RemoteObject(self, number, kind)


class RemoteObject:
    """Something of the program that is no plain data; can be called, read and iterated, equals only itself."""

    __slots__ = ("_handle", "_kind", "_remote")

    def __init__(self, remote: _Remote, handle: int | None, kind: str) -> None:
        self._remote = remote
        self._handle = handle
        self._kind = kind

    @property
    def handle_number(self) -> int:
        """Its number; the entry point itself has none to send back."""
        if self._handle is None:
            raise TypeError("the program's entry point cannot be an argument")
        return self._handle

    def _ask(self, operation: str, **more: Any) -> Any:
        return self._remote.value(self._remote.ask({"op": operation, "handle": self._handle, **more}).get("ok"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it over there. Raises what it raises, as a builtin exception of the same name, or Stopped."""
        remote = self._remote
        sent = [plain.encode(item, remote.to_handle) for item in args]
        named = {name: plain.encode(item, remote.to_handle) for name, item in kwargs.items()}
        track = any(isinstance(item, (list, dict, set, bytearray)) for item in args)
        answer = remote.ask({"op": "call", "handle": self._handle, "args": sent, "kwargs": named, "track": track})
        changed = answer.get("args")
        # a function that returns nothing may have worked in place; no other one gets to rewrite what it is checked by
        if track and answer.get("ok") is None and isinstance(changed, list):
            for before, after in zip(args, changed, strict=False):
                _overwrite(before, remote.value(after))
        return remote.value(answer.get("ok"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask("get", name=name)

    def __getitem__(self, key: Any) -> Any:
        return self._ask("item", key=plain.encode(key, self._remote.to_handle))

    def __iter__(self) -> Iterator[Any]:
        items = self._ask("iter")
        if not isinstance(items, list):
            raise TypeError("the program's object cannot be iterated")
        return iter(items)

    def __len__(self) -> int:
        return int(self._ask("len"))

    def __bool__(self) -> bool:
        return self._handle is None or bool(self._ask("bool"))

    def __repr__(self) -> str:
        return f"<{self._kind} of the program>"


def _overwrite(before: Any, after: Any) -> None:
    """Give an argument the content the program left in it."""
    if type(before) is not type(after):
        return
    if isinstance(before, (list, bytearray)):
        before[:] = after
    elif isinstance(before, (dict, set)) and before != after:
        before.clear()
        before.update(after)
