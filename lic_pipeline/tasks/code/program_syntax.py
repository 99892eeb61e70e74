"""What the text of a Python program tells without running it: definitions, names it lacks, its entry point.

Nothing here runs a program or chooses a block of a reply.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from lic_pipeline.sandbox.python.jobs import Target
from lic_pipeline.tasks.python_tree import parse_python

MAX_PROGRAM = 4_000_000
_MOST_KEPT = 20_000  # a tree holds fifty times the room of its text
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HARNESS = re.compile(r"main$|_?tests?(?:_|$)|check(?:_|$)|run_tests?$|solve_all$|test[A-Z]")
_CALLED_TEST = re.compile(r"Tests?(?![a-z])|\w*[a-z0-9_]Tests?$")


def parse(source: str) -> ast.Module | None:
    """The tree of a program, None when it is not Python (or far too long). Never raises."""
    if len(source) > MAX_PROGRAM:
        return None
    return _parsed(source) if len(source) < _MOST_KEPT else _parse(source)


def _parse(source: str) -> ast.Module | None:
    try:
        return parse_python(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_parsed = lru_cache(maxsize=512)(_parse)


def defined_names(body: Iterable[ast.stmt]) -> set[str]:
    """Names that top-level statements bind."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            names.update(
                part.id for part in _walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )
            names.update(part.name for part in _walk(node) if isinstance(part, (*_FUNCTIONS, ast.ClassDef)))
    return names


def missing_names(tree: ast.Module) -> set[str]:
    """Names a program reads but binds nowhere and that are no builtins."""
    read: set[str] = set()
    bound = defined_names(tree.body)
    for part in _walk(tree):
        if isinstance(part, ast.Name):
            (read if isinstance(part.ctx, ast.Load) else bound).add(part.id)
        elif isinstance(part, ast.arg):
            bound.add(part.arg)
        elif isinstance(part, (*_FUNCTIONS, ast.ClassDef)) or (isinstance(part, ast.ExceptHandler) and part.name):
            bound.add(part.name or "")
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).partition(".")[0] for alias in part.names)
    return {name for name in read - bound if not hasattr(builtins, name) and not name.startswith("__")}


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    return ast.walk(node)


def acts_when_loaded(tree: ast.Module) -> bool:
    """True when the top level holds more than definitions, imports, constants and a guarded main."""
    return not all(_only_defines(node) for node in tree.body)


def _only_defines(node: ast.stmt) -> bool:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Compare) and _names(node.test, "__name__")
    return isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant)


def _names(node: ast.AST, text: str) -> bool:
    """True when a name with this text stands anywhere below; not recursive, so that no nesting is too deep."""
    return any(isinstance(part, ast.Name) and text in part.id for part in _walk(node))


def functions_of(body: Iterable[ast.stmt]) -> list[ast.FunctionDef]:
    """The plain functions among statements."""
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def classes_of(tree: ast.Module) -> list[ast.ClassDef]:
    """The top-level classes that are no tests."""
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and not is_test_class(node)]


def is_test_class(owner: ast.ClassDef) -> bool:
    """True for a class that derives from a ``TestCase``, or is called a test and has tests."""
    bases = {part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in owner.bases}
    if any(base.endswith("TestCase") for base in bases):
        return True
    return _CALLED_TEST.match(owner.name) is not None and any(
        method.name.startswith("test") for method in functions_of(owner.body)
    )


def is_test(function: ast.FunctionDef) -> bool:
    """True for a function called like a test or a main, which is no solution."""
    return _HARNESS.match(function.name) is not None


def defines(tree: ast.Module, name: str) -> bool:
    """True when the program binds ``name`` at its top level or as a method of a top-level class."""
    if name in defined_names(tree.body):
        return True
    return any(name == method.name for owner in classes_of(tree) for method in functions_of(owner.body))


def imports_from_elsewhere(tree: ast.Module, name: str) -> bool:
    """True when the top level only imports ``name`` and does not define it ("from solution import name")."""
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    others = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return name in defined_names(imports) and name not in defined_names(others)


def is_stub(function: ast.FunctionDef) -> bool:
    """True for a body that is only ``pass``, ``...``, a docstring or NotImplementedError."""
    for node in function.body:
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None and _names(node.exc, "NotImplemented"):
            continue
        return False
    return True


def accepts(function: ast.FunctionDef, count: int | None, *, method: bool = False) -> bool:
    """True when the function can be called with ``count`` positional arguments (None = unknown, any)."""
    if count is None:
        return True
    arguments = function.args
    bound = method and not any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    most = len(arguments.posonlyargs) + len(arguments.args) - bound
    least = most - len(arguments.defaults)
    if any(default is None for default in arguments.kw_defaults):
        return False
    return least <= count and (count <= most or arguments.vararg is not None)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the tests call, and whether its name is not the expected one."""

    target: Target
    renamed: bool


def find_entry(tree: ast.Module, expected: str, count: int | None) -> Entry | None:
    """The expected name (function, or method of a class), else the only function or method it can be."""
    if expected in defined_names(tree.body):
        return Entry(Target(expected), renamed=False)
    owners = sorted(classes_of(tree), key=lambda owner: owner.name != "Solution")
    for owner in owners:
        if any(method.name == expected for method in functions_of(owner.body)):
            return Entry(Target(expected, owner.name), renamed=False)
    functions = functions_of(tree.body)
    only = _only_candidate(functions, tree, count, method=False)
    if only is not None:
        return Entry(Target(only.name), renamed=True)
    solutions = [owner for owner in owners if owner.name == "Solution"] or owners
    if len(solutions) == 1 and not any(accepts(f, count) and not _HARNESS.match(f.name) for f in functions):
        only = _only_candidate(functions_of(solutions[0].body), tree, count, method=True)
        if only is not None:
            return Entry(Target(only.name, solutions[0].name), renamed=True)
    return None


def _only_candidate(
    functions: list[ast.FunctionDef], tree: ast.Module, count: int | None, *, method: bool
) -> ast.FunctionDef | None:
    """The only public function with fitting arguments that no other function (but a test or main) calls."""
    latest = {function.name: function for function in functions}
    called = _called_by_others(tree)
    fitting = [
        function
        for name, function in latest.items()
        if accepts(function, count, method=method)
        and name not in called
        and not (method and name.startswith("_"))
        and not _HARNESS.match(name)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _called_by_others(tree: ast.Module) -> set[str]:
    called: set[str] = set()
    for part in _walk(tree):
        if not isinstance(part, _FUNCTIONS) or _HARNESS.match(part.name):
            continue
        for inner in _walk(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id != part.name:
                called.add(inner.id)
            elif isinstance(inner, ast.Attribute) and inner.attr != part.name:
                called.add(inner.attr)
    return called


def header_of(prompt: str, entry_point: str) -> str:
    """What stands before the entry point in a HumanEval prompt: imports and helpers."""
    tree = parse(prompt)
    for node in tree.body if tree is not None else ():
        if isinstance(node, _FUNCTIONS) and node.name == entry_point:
            first = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
            return "\n".join(prompt.split("\n")[: first - 1])
    found = re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", prompt, re.MULTILINE)
    return prompt[: found.start()] if found else ""


def argument_count(prompt: str, entry_point: str) -> int | None:
    """How many arguments the tests pass, by the signature in the prompt; None when it does not tell."""
    tree = parse(prompt)
    for node in functions_of(tree.body) if tree is not None else ():
        if node.name == entry_point and not node.args.defaults and node.args.vararg is None:
            return len(node.args.posonlyargs) + len(node.args.args)
    return None


_FUTURE = re.compile(r"^from __future__ import [^\n]*\n?", re.MULTILINE)


def with_header(header: str, program: str) -> str:
    """``header`` before ``program``; ``from __future__`` lines stay first."""
    if not header.strip():
        return program
    futures = "".join(line.rstrip("\n") + "\n" for line in _FUTURE.findall(program))
    return futures + header.rstrip("\n") + "\n" + (_FUTURE.sub("\n", program) if futures else program)
