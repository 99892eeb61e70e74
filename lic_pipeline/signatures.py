"""The signature that travels with every number: ``field:value`` pairs joined by ``|``, in a fixed order.

Two numbers may be compared when their signatures are equal but for the fields under study, which the comparison names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

ORDER = (
    *("task", "items", "setting", "condition", "policy", "gate", "stop", "score", "extraction"),
    *("user", "user_model", "user_t", "fidelity", "system", "judge", "assistant", "t", "budgets", "system_prompt"),
    *("history", "db", "actions_contract", "engine", "ver", "seed", "n", "pct", "approval"),
)
"""Fields in the order they are written; others follow by name."""

SETTING_FIELDS = frozenset({"setting", "stop", "user", "user_model", "user_t", "fidelity", "system", "recap"})
"""What may differ when one setting is compared with another: the setting and what only multi-turn settings have."""

_ESCAPES = {"%": "%25", "|": "%7C", "\n": "%0A", "\r": "%0D"}


def build(fields: Mapping[str, object]) -> str:
    """The signature of these fields; None values are left out; ``|``, ``%`` and line ends are escaped."""
    present = {name: value for name, value in fields.items() if value is not None}
    rank = {name: i for i, name in enumerate(ORDER)}
    names = sorted(present, key=lambda name: (rank.get(name, len(rank)), name))
    return "|".join(f"{_escaped(name).replace(':', '%3A')}:{_escaped(str(present[name]))}" for name in names)


def parse(signature: str) -> dict[str, str]:
    """Fields of a signature. Raises ValueError naming the part that is no ``field:value`` or stands twice."""
    fields: dict[str, str] = {}
    for part in signature.split("|") if signature else []:
        name, colon, value = part.partition(":")
        if not colon or not name:
            raise ValueError(f"signature part {part!r} is no field:value")
        if _plain(name) in fields:
            raise ValueError(f"signature field {name!r} stands twice")
        fields[_plain(name)] = _plain(value)
    return fields


def of_cell(signature: str, n: int, approvals: str = "") -> str:
    """The signature of a metric cell: that of its scores, then N, the percentile rule and the mix of approvals."""
    tail = f"n:{n}|pct:linear" + (f"|approval:{_escaped(approvals)}" if approvals else "")
    return f"{signature}|{tail}" if signature else tail


def differing(first: str, second: str, under_study: Collection[str] = ()) -> list[str]:
    """Names of fields that differ beyond those under study, sorted; an empty list means comparable."""
    if first == second:
        return []
    a, b = _fields(first), _fields(second)
    return sorted(name for name in {*a, *b} - set(under_study) if a.get(name) != b.get(name))


def _fields(signature: str) -> dict[str, str]:
    """Fields, or one opaque field where foreign text is no signature: then nothing is comparable but its equal."""
    try:
        return parse(signature)
    except ValueError:
        return {"signature": signature}


def _escaped(text: str) -> str:
    for plain, coded in _ESCAPES.items():
        text = text.replace(plain, coded)
    return text


def _plain(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
