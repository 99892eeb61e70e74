"""The declared truth of a persona: what our own estimators must find, at the N used, over exactly these items.

Each run of an instruction draws one reply from a finite menu with known scores, so the law of a run is a short list of
(score, probability). E and SD of P, A90_N and U_N follow by enumerating how N runs fall on the distinct scores
(multinomial law) under the percentile rule of ``statistics`` (measurement: personas).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, sqrt

import numpy as np

from lic_pipeline.metrics.statistics.reliability import percentile
from lic_pipeline.models.clients.persona_client import TALK_SHARES, can_do
from lic_pipeline.models.personas import Persona, chance_right
from lic_pipeline.records import Setting
from lic_pipeline.simulation.conversation.persona_replies import PersonaReplies
from lic_pipeline.simulation.plan.conversation_plan import Plan

Law = tuple[tuple[float, float], ...]
"""Distinct scores of one run with their probabilities, ascending by score."""

MOST_OUTCOMES = 200_000
"""Most ways N runs may fall on the scores before enumeration is refused."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Expectation and standard deviation of one estimate."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class CellTruth:
    """Truth of P, A90 and U90-10 of one (persona, task, setting) over ``n`` instructions at N runs each."""

    task: str
    setting: Setting
    n: int
    runs: int
    P: Truth
    A90: Truth
    U90_10: Truth


def plan_truth(plan: Plan, persona: Persona, replies: Mapping[str, PersonaReplies]) -> list[CellTruth]:
    """Truth of every setting of a persona's plan. Items without a menu are not in it, as they are in no score."""
    cells = []
    held = {(spec.setting, spec.instruction_id) for spec in plan.specs}
    for setting in plan.experiment.settings_for(plan.task.name):
        names = [name for name in plan.items if name in replies and (setting, name) in held]
        laws = [
            run_law(persona, plan.task.kind, plan.task.name, setting, name, replies[name], _shards(plan, name))
            for name in names
        ]
        if laws:
            cells.append(_cell(plan, setting, laws))
    return cells


def _shards(plan: Plan, name: str) -> int:
    return len(plan.items[name].shards)


def _cell(plan: Plan, setting: Setting, laws: Sequence[Law]) -> CellTruth:
    runs = plan.experiment.runs
    found = [estimates(law, runs) for law in laws]

    def over_items(place: int) -> Truth:
        means = [one[place].mean for one in found]
        return Truth(sum(means) / len(means), sqrt(sum(one[place].sd ** 2 for one in found)) / len(found))

    return CellTruth(plan.task.name, setting, len(laws), runs, over_items(0), over_items(1), over_items(2))


def run_law(
    persona: Persona, kind: str, task: str, setting: Setting, instruction_id: str, menu: PersonaReplies, shards: int
) -> Law:
    """The law of the headline score of one run of one instruction."""
    traits = persona.traits_for(task, setting)
    before = persona.traits_for(task, Setting.SHARDED)
    binary = kind == "binary"
    right = chance_right(traits, setting, shards, "binary" if binary else "refinement", before)
    if not can_do(persona, task, instruction_id):
        right = 0.0
    if binary:
        return _merged([(100.0, right), (0.0, 1 - right)])
    scores: dict[str, list[float]] = {}
    for item, score in zip(menu.items, menu.scores, strict=True):
        scores.setdefault(item.kind, []).append(score)
    wrong = 1 - traits.no_answer - right
    talk = [(scores[kind_][0], traits.no_answer * share) for kind_, share in TALK_SHARES.items()]
    wrongs = [(score, wrong / len(scores["wrong"])) for score in scores["wrong"]]
    return _merged([(scores["right"][0], right), *wrongs, *talk])


def _merged(pairs: Sequence[tuple[float, float]]) -> Law:
    total: dict[float, float] = {}
    for score, chance in pairs:
        if chance > 0:
            total[score] = total.get(score, 0.0) + chance
    return tuple(sorted(total.items()))


@lru_cache(maxsize=4096)
def estimates(law: Law, runs: int) -> tuple[Truth, Truth, Truth]:
    """Truth of P, A90 and U90-10 of one instruction at ``runs`` runs. Raises ValueError when too many ways."""
    if comb(runs + len(law) - 1, runs) > MOST_OUTCOMES:
        raise ValueError(f"{len(law)} distinct scores at {runs} runs are too many outcomes to enumerate")
    moments = np.zeros((3, 2))
    for counts, chance in _outcomes(len(law), runs, tuple(p for _, p in law)):
        values = np.repeat([score for score, _ in law], counts)
        high, low = percentile(values, 90), percentile(values, 10)
        for place, value in enumerate((float(values.mean()), high, high - low)):
            moments[place] += (chance * value, chance * value * value)
    found = [Truth(float(mean), sqrt(max(0.0, float(square - mean * mean)))) for mean, square in moments]
    return found[0], found[1], found[2]


def _outcomes(kinds: int, runs: int, chances: tuple[float, ...]) -> Iterator[tuple[list[int], float]]:
    """Every way ``runs`` draws fall on ``kinds`` scores, with its multinomial probability."""
    if kinds == 1:
        yield [runs], chances[0] ** runs
        return
    for first in range(runs + 1):
        for rest, chance in _outcomes(kinds - 1, runs - first, chances[1:]):
            yield [first, *rest], comb(runs, first) * chances[0] ** first * chance
