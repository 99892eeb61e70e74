"""When two query results are the same table: one assignment of columns under which the bags of rows agree.

Columns are told apart by their contents and by how they line up in rows (colour refinement on the table seen as a
graph of rows and columns, then a search over what remains); no permutation is ever enumerated. Runs no SQL.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

Cell = None | int | float | str | bytes
Rows = Sequence[Sequence[Cell]]

RELATIVE_TOLERANCE = 1e-9
_WORK = 10_000_000


class UndecidedError(Exception):
    """The tables are so symmetric that the search was given up; practically only adversarial input gets here."""


@dataclass
class _Table:
    """A result as class numbers, with a colour per row and per column."""

    rows: list[tuple[int, ...]]
    columns: list[tuple[int, ...]]
    row_colours: list[int]
    column_colours: list[int]

    def copy(self) -> _Table:
        return _Table(self.rows, self.columns, list(self.row_colours), list(self.column_colours))


def same_table(
    gold: Rows, other: Rows, groups: Sequence[int] | None = None, *, tolerance: float = RELATIVE_TOLERANCE
) -> bool:
    """True when both tables hold the same rows under one assignment of columns.

    ``groups`` gives each row position its tie group: rows must agree group by group (order matters); None = no order.
    Both tables must have the same number of rows and columns. Raises UndecidedError.
    """
    if not gold:
        return not other
    if len(gold) != len(other) or len(gold[0]) != len(other[0]):
        return False
    left, right = _tables(gold, other, groups or [0] * len(gold), tolerance)
    if _bag(left, range(len(left.columns))) == _bag(right, range(len(right.columns))):
        return True
    cells = len(left.rows) * len(left.columns)
    return _search(left, right, [_WORK + 4 * cells])


def _tables(gold: Rows, other: Rows, groups: Sequence[int], tolerance: float) -> tuple[_Table, _Table]:
    numbers = _number_classes((c for rows in (gold, other) for row in rows for c in row), tolerance)
    classes: dict[Hashable, int] = {}

    def class_of(cell: Cell) -> int:
        key: Hashable = ("n", numbers[cell]) if isinstance(cell, int | float) else (type(cell).__name__, cell)
        return classes.setdefault(key, len(classes))

    def table(rows: Rows) -> _Table:
        coded = [tuple(class_of(cell) for cell in row) for row in rows]
        columns = list(zip(*coded, strict=True))
        return _Table(coded, columns, list(groups), [0] * len(columns))

    return table(gold), table(other)


def _number_classes(cells: Iterable[Cell], tolerance: float) -> dict[int | float, int]:
    """Class of each number: neighbours within the tolerance share one, two different whole numbers never do."""
    ordered = sorted({cell for cell in cells if isinstance(cell, int | float)})
    classes: dict[int | float, int] = {}
    current, previous, whole = -1, None, None
    for value in ordered:
        is_whole = isinstance(value, int) or (math.isfinite(value) and value.is_integer())
        near = (
            previous is not None
            and math.isfinite(value)
            and math.isfinite(previous)
            and value - previous <= tolerance * max(abs(value), abs(previous))
            and not (is_whole and whole is not None)
        )
        if not near:
            current, whole = current + 1, None
        whole = value if is_whole else whole
        classes[value] = current
        previous = value
    return classes


def _bag(table: _Table, order: Iterable[int]) -> Counter[tuple[int, tuple[int, ...]]]:
    columns = [table.columns[i] for i in order]
    rows = zip(*columns, strict=True)
    return Counter(zip(table.row_colours, rows, strict=True))


def _recolour(keys_left: list[Hashable], keys_right: list[Hashable]) -> tuple[list[int], list[int]] | None:
    """New colours, equal for equal keys; None when the two sides differ as bags."""
    if Counter(keys_left) != Counter(keys_right):
        return None
    names: dict[Hashable, int] = {}
    return (
        [names.setdefault(key, len(names)) for key in keys_left],
        [names.setdefault(key, len(names)) for key in keys_right],
    )


def _refine(left: _Table, right: _Table, budget: list[int]) -> bool:
    """Refine colours on both sides until nothing changes; False when the sides cannot be the same table."""
    known = (0, 0)
    while True:
        budget[0] -= len(left.rows) * len(left.columns)
        if budget[0] < 0:
            raise UndecidedError
        columns = _recolour(_column_keys(left), _column_keys(right))
        if columns is None:
            return False
        left.column_colours, right.column_colours = columns
        rows = _recolour(_row_keys(left), _row_keys(right))
        if rows is None:
            return False
        left.row_colours, right.row_colours = rows
        now = (len(set(left.column_colours)), len(set(left.row_colours)))
        if now == known:
            return True
        known = now


def _column_keys(table: _Table) -> list[Hashable]:
    return [
        (colour, tuple(sorted(zip(table.row_colours, column, strict=True))))
        for colour, column in zip(table.column_colours, table.columns, strict=True)
    ]


def _row_keys(table: _Table) -> list[Hashable]:
    return [
        (colour, tuple(sorted(zip(table.column_colours, row, strict=True))))
        for colour, row in zip(table.row_colours, table.rows, strict=True)
    ]


def _search(left: _Table, right: _Table, budget: list[int]) -> bool:
    """``budget`` counts cell visits still allowed, over all branches."""
    if not _refine(left, right, budget):
        return False
    open_class = _ambiguous(left, right)
    if open_class is None:
        order_left = sorted(range(len(left.columns)), key=lambda i: left.column_colours[i])
        order_right = sorted(range(len(right.columns)), key=lambda i: right.column_colours[i])
        return _bag(left, order_left) == _bag(right, order_right)
    chosen = left.column_colours.index(open_class)
    fresh = len(left.columns) + 1
    tried: set[tuple[int, ...]] = set()
    for i, colour in enumerate(right.column_colours):
        if colour != open_class or right.columns[i] in tried:
            continue
        tried.add(right.columns[i])
        fixed_left, fixed_right = left.copy(), right.copy()
        fixed_left.column_colours[chosen] = fresh
        fixed_right.column_colours[i] = fresh
        if _search(fixed_left, fixed_right, budget):
            return True
    return False


def _ambiguous(left: _Table, right: _Table) -> int | None:
    """The smallest colour class whose columns are not all the same, None when every choice is made."""
    best: tuple[int, int] | None = None
    for colour, size in Counter(left.column_colours).items():
        if size == 1:
            continue
        same = all(
            len({c for c, k in zip(t.columns, t.column_colours, strict=True) if k == colour}) == 1
            for t in (left, right)
        )
        if not same and (best is None or size < best[0]):
            best = (size, colour)
    return best[1] if best else None
