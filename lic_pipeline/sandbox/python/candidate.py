"""The process that runs the program. Nothing it says is believed: it sends plain data, never a verdict.

It is forked before the tests arrive, so neither its memory nor its descriptors hold an expected value. A program that
takes this module over gains only the right to choose its own answers.
"""

from __future__ import annotations
import __future__ as future

import ast
import atexit
import builtins
import contextlib
import gc
import io
import os
import random
import sys
import threading
import types
from typing import Any, NoReturn

from lic_pipeline.sandbox.python import isolation, plain
from lic_pipeline.sandbox.python.wire import MAX_FRAME, ClosedError, receive_frame, send_frame

CHANNEL = 3
FILENAME = "<program>"
MAX_ITEMS = 1_000_000
_FAILS_ALONE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.With, ast.If, ast.Try)


class MissingEntryError(Exception):
    """The program does not define what the tests call."""


def run(spec: dict[str, Any], *, strong: bool) -> NoReturn:
    """Run the program that ``spec`` describes; never returns. The walls stand already, limits and input come now."""
    if spec["stdin"]:
        name = "/tmp/.stdin" if strong else ".stdin"
        with open(name, "wb") as file:
            file.write(spec["stdin"].encode("utf-8", "surrogatepass"))
        os.dup2(os.open(name, os.O_RDONLY), 0)
        os.closerange(CHANNEL + 1, 16)
    isolation.limit_resources(spec["memory_bytes"], spec["cpu_seconds"])
    random.seed(0)
    gc.enable()
    if spec["kind"] == "module":
        run_module(spec["source"], spec["target"], tolerant=spec["tolerant"])
    run_script(spec["source"])


def run_module(source: str, target: dict[str, str | None], *, tolerant: bool) -> NoReturn:
    """Load the program, then answer calls until the other end closes."""
    try:
        host = Host(load(source, tolerant=tolerant), target)
        host.entry()
        _send({"ok": None})
    except BaseException as error:
        _send({"error": describe(error)})
        os._exit(0)
    with contextlib.suppress(ClosedError):
        while True:
            _send(host.answer(plain.loads(receive_frame(CHANNEL))))
    os._exit(0)


def run_script(source: str) -> NoReturn:
    """Run the program as ``__main__``, then say how it ended."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    outcome: dict[str, Any] = {"ok": None}
    try:
        exec(compile(source, FILENAME, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as stop:
        outcome = {"ok": None} if stop.code in (None, 0) else {"error": describe(stop)}
    except BaseException as error:
        outcome = {"error": describe(error)}
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    _send(outcome)
    os._exit(0)


def standard_streams() -> None:
    """Fresh standard streams on descriptors 0 to 2; made once, before the forks, whatever stands there later."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "rb", closefd=False)), "utf-8", "replace")
    writer = io.BufferedWriter(io.FileIO(1, "wb", closefd=False))
    sys.stdout = io.TextIOWrapper(writer, "utf-8", "surrogateescape", write_through=False)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "wb", closefd=False), "utf-8", "replace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    builtins.exit = builtins.quit = _quit  # type: ignore[assignment]
    sys.argv = [FILENAME]


def _quit(code: Any = None) -> NoReturn:
    raise SystemExit(code)


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as data: kind, type, message, line of the program."""
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (MissingEntryError, "entry"),
        (SystemExit, "exit"),
        (MemoryError, "memory"),
        (PermissionError, "forbidden"),
    )
    kind = next((name for base, name in kinds if isinstance(error, base)), "exception")
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == FILENAME:
        kind, line = ("syntax", error.lineno) if line is None else (kind, line)
    try:
        message = str(error)[:300]
    except BaseException:
        message = ""
    return {"kind": kind, "type": type(error).__name__[:100], "message": message, "line": line}


def load(source: str, *, tolerant: bool) -> dict[str, Any]:
    """The namespace of the program.

    ``tolerant``: statements run one by one, prints and asserts of a usage block are left out, and a top-level
    statement that is no definition may fail or exit (a usage block that reads input, a run of the program's own
    tests), since what the tests need decides.
    """
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    if tolerant:
        _step_by_step(source, module.__dict__)
    else:
        exec(compile(source, FILENAME, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _step_by_step(source: str, namespace: dict[str, Any]) -> None:
    tree = compile(source, FILENAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    flags = sum(
        getattr(future, name.name).compiler_flag
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for name in node.names
        if hasattr(future, name.name)
    )
    compile(tree, FILENAME, "exec", flags, dont_inherit=True)
    for node in tree.body:
        if _is_usage(node):
            continue
        code = compile(ast.Module([node], []), FILENAME, "exec", flags, dont_inherit=True)
        try:
            exec(code, namespace)
        except MemoryError:
            raise
        except SystemExit:
            if not isinstance(node, (*_FAILS_ALONE, ast.Raise)):
                raise
        except Exception:
            if not isinstance(node, _FAILS_ALONE):
                raise


def _is_usage(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


def _send(message: dict[str, Any]) -> None:
    try:
        body = plain.dumps(message)
        if len(body) > MAX_FRAME:
            body = plain.dumps({"error": {"kind": "output", "type": "result", "message": "the result is too large"}})
    except BaseException as error:
        body = plain.dumps({"error": describe(error)})
    try:
        send_frame(CHANNEL, body)
    except BaseException:
        os._exit(1)


class Host:
    """Answers requests about the program's objects; values that are no plain data stay here behind a number."""

    def __init__(self, namespace: dict[str, Any], target: dict[str, str | None]) -> None:
        self.namespace = namespace
        self.target = target
        self.objects: list[Any] = []

    def entry(self) -> Any:
        """What the tests call: a function, or a bound method of a fresh instance."""
        name, owner = str(self.target["name"]), self.target.get("owner")
        try:
            if owner is None:
                return self.namespace[name]
            return getattr(self.namespace[owner](), name)
        except (KeyError, AttributeError):
            raise MissingEntryError(f"the program does not define {owner + '.' if owner else ''}{name}") from None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request; whatever goes wrong is an answer too."""
        try:
            return self._do(request)
        except BaseException as error:
            return {"error": describe(error)}

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        operation, handle = request["op"], request.get("handle")
        thing = self.entry() if handle is None else self.objects[handle]
        if operation == "call":
            return self._call(thing, request)
        if operation == "get":
            result = getattr(thing, request["name"])
        elif operation == "item":
            result = thing[plain.decode(request["key"], self._object)]
        elif operation == "iter":
            result = [item for _, item in zip(range(MAX_ITEMS), thing, strict=False)]
        elif operation == "len":
            result = len(thing)
        else:
            result = bool(thing)
        return {"ok": plain.encode(result, self._handle)}

    def _call(self, function: Any, request: dict[str, Any]) -> dict[str, Any]:
        args = [plain.decode(item, self._object) for item in request["args"]]
        kwargs = {name: plain.decode(item, self._object) for name, item in request.get("kwargs", {}).items()}
        result = function(*args, **kwargs)
        answer = {"ok": plain.encode(result, self._handle)}
        if request.get("track"):
            after = [plain.encode(item, self._handle) for item in args]
            if after != request["args"]:
                answer["args"] = after
        return answer

    def _handle(self, value: Any) -> tuple[int, str]:
        if isinstance(value, _Callback):
            return value.number, "function"
        self.objects.append(value)
        return len(self.objects) - 1, type(value).__name__[:100]

    def _object(self, number: int, _kind: str) -> Any:
        return self.objects[number] if number >= 0 else _Callback(self, number)


class _Callback:
    """A function of the tests, handed to the program."""

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self.number = number

    def __call__(self, *args: Any) -> Any:
        _send({"callback": self.number, "args": [plain.encode(item, self._host._handle) for item in args]})
        reply = plain.loads(receive_frame(CHANNEL))
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return plain.decode(reply["ok"], self._host._object)
