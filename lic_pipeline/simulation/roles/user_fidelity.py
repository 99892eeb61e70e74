"""Checks of what a simulated user says (measurement: user role). Each defect has a name and a reason for asking again.

``lost``: something of the told shard is missing. ``leak``: something only an untold shard has. ``added``: something no
shard and no earlier user turn has. ``answer``: the reference answer. ``echo``: a long run of the assistant's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lic_pipeline.simulation.roles.message_literals import Literals, literals

ECHO_WORDS = 10
"""So many words in a row taken from the last reply are an echo."""

_SHORTEST_ANSWER = 4
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FidelityContext:
    """What an utterance is compared with. ``told``: the shard it says it tells, None = none. ``others``: untold ones.

    ``known``: every shard and earlier user message. ``answer``: the reference answer, None when there is none.
    """

    told: str | None
    others: Sequence[str]
    known: Sequence[str]
    last_reply: str
    answer: str | None


def defects(text: str, around: FidelityContext) -> dict[str, str]:
    """Defects of an utterance by name, each with what to say when asking again."""
    said = literals(text)
    shard = literals(around.told or "")
    known = [literals(text) for text in around.known]
    found: dict[str, str] = {}
    lost = _missing(shard, said)
    if lost:
        found["lost"] = f"it left out {_listed(lost)} of the piece it tells"
    earlier = [shard, *(literals(text) for text in around.known if text not in around.others)]
    new = _new(said, earlier)
    hidden = {name for text in around.others for name in _new(literals(text), earlier)} if new else set()
    leaked = [name for name in new if name in hidden]
    if leaked:
        found["leak"] = f"it gave away {_listed(leaked)} of a piece it does not tell"
    added = [name for name in _new(said, [shard, *known]) if name not in leaked]
    if added:
        found["added"] = f"it brought in {_listed(added)}, which is in no piece"
    if _gives_answer(text, said, around, [shard, *known]):
        found["answer"] = "it gave the answer of the task"
    if _echoes(text, around):
        found["echo"] = "it repeated the assistant's words at length"
    return found


def _missing(shard: Literals, said: Literals) -> list[str]:
    wanted = sorted(shard.numbers | shard.meant)
    numbers = [_shown(number) for number in wanted if not said.has_number(number)]
    return numbers + [name for name in sorted(shard.names) if not said.has_name(name)]


def _new(said: Literals, places: Sequence[Literals]) -> list[str]:
    """Digits and names of ``said`` that stand in none of the places."""
    numbers = [_shown(n) for n in sorted(said.numbers) if not any(place.has_number(n) for place in places)]
    return numbers + [name for name in sorted(said.names) if not any(place.has_name(name) for place in places)]


def _gives_answer(text: str, said: Literals, around: FidelityContext, known: Sequence[Literals]) -> bool:
    if around.answer is None:
        return False
    number = _number(around.answer)
    if number is not None:
        return number in said.numbers and not any(place.has_number(number) for place in known)
    answer = _plain(around.answer)
    return len(answer) >= _SHORTEST_ANSWER and answer in _plain(text) and answer not in _plain(around.told or "")


def _echoes(text: str, around: FidelityContext) -> bool:
    words = _WORD.findall(text.lower())
    if len(words) < ECHO_WORDS:
        return False
    reply = f" {' '.join(_WORD.findall(around.last_reply.lower()))} "
    own = f" {' '.join(_WORD.findall(' '.join(around.known).lower()))} "
    for start in range(len(words) - ECHO_WORDS + 1):
        run = f" {' '.join(words[start : start + ECHO_WORDS])} "
        if run in reply and run not in own:
            return True
    return False


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text.replace(",", "").replace("$", "").strip())
    except (ValueError, ZeroDivisionError):
        return None


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _shown(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):g}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5])
