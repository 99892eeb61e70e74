"""The tests that a reply brings along: known by their form, and left out of what is graded.

A program is graded by the tests of its benchmark. Its own may fail, end the process (``unittest.main()`` does) or need
modules that the sandbox lacks, none of which says anything about it. Nothing here runs a program.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from lic_pipeline.tasks.code.program_syntax import is_test_class, parse

_HINT = re.compile(
    r"unittest|TestCase|pytest|doctest|hypothesis|nose|parameterized|ddt|class\s+\w*Test|from\s+[\w.]+\s+import"
)
_ABSENT = frozenset({"pytest", "hypothesis", "nose", "parameterized", "ddt"})
_LIBRARIES = _ABSENT | {"unittest", "doctest"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


def without_own_tests(program: str) -> str:
    """The program with test classes, calls of test runners and imports that only tests need replaced by ``pass``.

    Line numbers stay. A class that the rest of the program reads stays too, and so does a program that is no Python.
    """
    tree = parse(program) if _HINT.search(program) and "\r" not in program else None
    if tree is None:
        return program
    tools = _tools(tree)
    own = {node.name for node in tree.body if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    tests = [node for node in tree.body if _is_test(node, tools) or _imports_own(node, own)]
    calls = list(_runner_calls(tree, tools))
    read = _reads(tree, [*tests, *calls])
    dropped = [*calls, *[node for node in tests if getattr(node, "name", None) not in read]]
    left = _with_pass(program, dropped)
    return left if parse(left) is not None else program


def _tools(tree: ast.Module) -> set[str]:
    """The names that test libraries are imported under, and names bound to something of theirs."""
    names = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, _IMPORTS) and _comes_from(node, _LIBRARIES)
        for alias in node.names
    }
    for node in tree.body:
        # suite = unittest.TestLoader()...; runner = unittest.TextTestRunner()
        if isinstance(node, ast.Assign) and _loads(node.value) & names and isinstance(node.value, ast.Call):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _comes_from(node: ast.Import | ast.ImportFrom, libraries: frozenset[str]) -> bool:
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return all(module.partition(".")[0] in libraries for module in modules)


def _is_test(node: ast.stmt, tools: set[str]) -> bool:
    if isinstance(node, ast.ClassDef):
        return is_test_class(node)
    if isinstance(node, _FUNCTIONS):
        return any(_loads(decorator) & tools for decorator in node.decorator_list)
    return isinstance(node, _IMPORTS) and _comes_from(node, _ABSENT)


def _imports_own(node: ast.stmt, own: set[str]) -> bool:
    """True for "from solution import f" beside the definition of f, as a file of tests would begin."""
    if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] in sys.stdlib_module_names:
        return False
    return all(alias.name in own and alias.asname in {None, alias.name} for alias in node.names)


def _runner_calls(tree: ast.Module, tools: set[str]) -> Iterator[ast.stmt]:
    """The statements at the top level, or in guards there, that run the tests; no nesting is too deep."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.Try | ast.With):
            for field in ("body", "orelse", "finalbody"):
                waiting += getattr(node, field, ())
        elif isinstance(node, ast.Expr | ast.Assign) and _runs(node.value, tools):
            yield node


def _runs(value: ast.expr, tools: set[str]) -> bool:
    """True when an expression calls something of a test library, also inside of ``sys.exit(...)``."""
    return any(isinstance(part, ast.Call) and _loads(part.func) & tools for part in ast.walk(value))


def _loads(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _reads(tree: ast.Module, dropped: list[ast.stmt]) -> set[str]:
    """The names read by what is not dropped."""
    inside = {id(part) for node in dropped for part in ast.walk(node)}
    return {
        part.id
        for part in ast.walk(tree)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in inside
    }


def _with_pass(program: str, dropped: list[ast.stmt]) -> str:
    """The text with ``pass`` in place of these statements, last one first; positions in a tree count bytes."""
    lines = [line.encode() for line in program.split("\n")]
    for node in sorted(dropped, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        last = (node.end_lineno or node.lineno) - 1
        head = lines[first][: node.col_offset]
        tail = lines[last][node.end_col_offset or 0 :]
        lines[first : last + 1] = [head + b"pass" + tail, *[b""] * (last - first)]
    return b"\n".join(lines).decode()
