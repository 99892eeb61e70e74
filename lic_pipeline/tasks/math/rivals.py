"""Values offered side by side ("40 or 60", "between 20 and 30"): a reply that offers several gives no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from lic_pipeline.tasks.math.numbers.number_grammar import Number

_RESTATES = re.compile(
    r"[\s,(]*(?:[≈=]|or|i\.e\.|that is)?[\s,]*(?:about|approximately|roughly|around|nearly|exactly)?\s*", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s%]*(?:[a-z]+\s)?and\s")
_OR = re.compile(r"[^.;?!]{0,120}?(?:,|\s)\s?or\b[^.;?!\d]{0,80}$", re.IGNORECASE)
_OR_BOXES = re.compile(r"[}$\\()\s,]*\bor\b[\s$\\(]*(?:\\boxed\s?\{)?")
_SAME_AS = re.compile(
    r"\bor\s(?:about|approximately|roughly|around|equivalently|simply|just|exactly|in other words)\b", re.IGNORECASE
)


def offered_beside(text: str, values: Sequence[Number], chosen: Number) -> tuple[Number, Number] | None:
    """The chosen value and the neighbour offered as its alternative, None without one."""
    for left, right in pairwise(values):
        if chosen not in (left, right) or left.value == right.value or same_quantity(left, right):
            continue
        between = text[left.end : right.start]
        joined = _OR.match(between) or _OR_BOXES.fullmatch(between)
        spread = _BETWEEN.fullmatch(between) and text[max(0, left.start - 9) : left.start].lower().endswith("between ")
        if len(between) <= 200 and (joined or spread) and not _SAME_AS.search(between):
            return left, right
    return None


def restated(text: str, left: Number, right: Number) -> bool:
    """True for one quantity written twice: "0.4 or 40%", "86/3, about 28.67"."""
    return _RESTATES.fullmatch(text, left.end, right.start) is not None and same_quantity(left, right)


def same_quantity(left: Number, right: Number) -> bool:
    """True for two values that differ by rounding or by the percent sign only."""
    if left.percent != right.percent:
        plain, percent = (right, left) if left.percent else (left, right)
        return plain.value * 100 == percent.value
    rounded = max(left.value.denominator, right.value.denominator) > 1
    return rounded and abs(left.value - right.value) * 200 <= abs(left.value)
