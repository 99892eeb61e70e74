"""Fits the weights of math's answer candidates on published replies, and writes the table the product reads.

    python bench/extraction_fit.py ../shared/data            # says what would change
    python bench/extraction_fit.py ../shared/data --write    # writes lic_pipeline/tasks/math/weights.py

A conditional logit: among the candidates of one reply, the recorded answer should be worth most. Ridge towards a prior
that says what a place means by definition (a box holds the answer) or what published replies are too few to show.
Replies and their recorded answers are read from the folder given and from ``tests/tasks/math_replies.jsonl`` (ours).
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lic_pipeline.tasks.math import candidates as candidates_module  # noqa: E402
from lic_pipeline.tasks.math import weights as shipped  # noqa: E402
from lic_pipeline.tasks.math.extract_number import whole_value  # noqa: E402
from lic_pipeline.tasks.math.numbers.number_grammar import normalise, without_bold  # noqa: E402
from lic_pipeline.tasks.reply_reading import visible_text  # noqa: E402

OWN = ROOT / "tests" / "tasks" / "math_replies.jsonl"
LOGS = {"fork": "lic_logs/fork_math_snowball.jsonl.gz", "viewer": "lic_logs/viewer_math.jsonl"}
CASES = ("cases/outside_cases.jsonl", "cases/replies.jsonl")
# Prior and its strength: what stands in an unmistakable place answers by definition, a later one corrects an earlier.
PRIOR = {
    "boxed": (9.0, 20.0), "hashed": (9.0, 20.0), "marked_strong": (7.0, 20.0), "marked": (4.0, 20.0),
    "place_before_last": (-6.0, 20.0), "label_in_list": (5.0, 20.0), "label_asked": (2.5, 20.0),
    "explaining": (-4.0, 20.0), "parenthesis": (-3.0, 20.0), "apposition": (1.5, 8.0), "of_amount": (3.0, 8.0),
    "determiner": (-1.5, 8.0), "reason": (-2.0, 8.0), "relative": (-1.0, 1.0), "rate": (-1.0, 1.0),
    "check": (-3.0, 20.0),
    "given_calculated": (-1.0, 8.0), "unit_other_kind": (-2.0, 8.0), "unit_other": (-0.5, 1.0),
    "unit_asked": (1.0, 1.0), "alone": (2.0, 1.0), "headline": (1.0, 1.0), "marked_next": (1.0, 1.0),
    "bold_alone": (1.0, 1.0), "given": (-1.0, 1.0), "operand": (-1.0, 1.0), "aside": (-1.5, 1.0),
    "purpose": (-1.0, 1.0), "doing": (-1.0, 1.0), "left_of_equals": (-1.0, 1.0),
}  # fmt: skip
OTHER_PRIOR = (0.0, 1.0)


@dataclass
class Attempt:
    """One reply: its question, the recorded answer (None where there is none), gold, and where it comes from."""

    source: str
    group: str
    question: str
    reply: str
    recorded: Fraction | None
    gold: Fraction
    label: str | None = None
    model: str = ""
    weight: float = 1.0
    values: list[Fraction] = field(default_factory=list)
    features: list[list[str]] = field(default_factory=list)


def attempts(data: Path) -> list[Attempt]:
    """Every reply of every source; those of the logs that were not graded have no recorded answer."""
    return [*_logged(data), *_solutions(data), *_cases(data), *_own()]


def _problems(data: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (data / "raw/gsm8k/test.jsonl").read_text(encoding="utf-8").splitlines()]


def _solutions(data: Path) -> Iterator[Attempt]:
    """Every second worked solution of the benchmark, without its marker line: many problems, few words."""
    for number, row in list(enumerate(_problems(data)))[::2]:
        solution, _, answer = row["answer"].partition("####")
        gold = _value(answer)
        assert gold is not None
        text = re.sub(r"<<[^<>]*>>", "", solution).strip()
        yield Attempt("solution", f"gsm8k/{number}", row["question"], text, gold, gold, weight=0.1)


def _logged(data: Path) -> Iterator[Attempt]:
    rows = _problems(data)
    for source, name in LOGS.items():
        opener: Any = gzip.open if name.endswith(".gz") else open
        with opener(data / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from _conversation(source, json.loads(line), rows)


def _conversation(source: str, log: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[Attempt]:
    number = int(log["task_id"].replace("_", "-").replace("/", "-").rpartition("-")[2])
    gold = _value(str(rows[number]["answer"]).rpartition("####")[2])
    assert gold is not None
    found: list[Attempt] = []
    for entry in log["trace"]:
        content = entry["content"]
        if entry["role"] == "assistant":
            made = Attempt(source, f"gsm8k/{number}", rows[number]["question"], content or "", None, gold)
            made.model = log["assistant_model"]
            found.append(made)
        elif entry["role"] == "log" and content.get("type") == "system-verification":
            found[-1].label = content["response"].get("response_type")
        elif entry["role"] == "log" and content.get("type") == "answer-evaluation":
            found[-1].recorded = _value(str(content["exact_answer"] or ""))
    yield from found


def _cases(data: Path) -> Iterator[Attempt]:
    for name in CASES:
        for line in (data / name).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            given, gold = case["input"], _value(str(case["input"].get("reference", "")).rpartition("####")[2])
            if case["task"] != "math" or not isinstance(given.get("response"), str) or gold is None:
                continue
            recorded = gold if case["expected"] == "correct" else None
            group = f"case:{case['kind'][:12]}"
            yield Attempt("case", group, given.get("question") or "", given["response"], recorded, gold, weight=0.5)


def _own() -> Iterator[Attempt]:
    for place, line in enumerate(OWN.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        value = _value(row["answer"])
        assert value is not None
        yield Attempt("own", f"own:{place % 10}", row["question"], row["response"], value, value)


def _value(text: str) -> Fraction | None:
    return whole_value(text.strip())[0] if text.strip() else None


def featurise(found: Sequence[Attempt]) -> list[str]:
    """Give every attempt its candidates; the names of all features."""
    enough, candidates_module.ENOUGH = candidates_module.ENOUGH, float("inf")
    names: dict[str, None] = {}
    for attempt in found:
        plain, bold = without_bold(normalise(visible_text(attempt.reply)[0]))
        made = candidates_module.candidates(plain, bold, attempt.question)
        attempt.values = [candidate.number.value for candidate in made]
        attempt.features = [candidate.features for candidate in made]
        names.update(dict.fromkeys(name for candidate in made for name in candidate.features))
    candidates_module.ENOUGH = enough
    return sorted(names)


class Fitter:
    """Fits weights on any subset of attempts; each fit starts from the one on all of them."""

    def __init__(self, found: Sequence[Attempt]) -> None:
        self.names = featurise(found)
        self._column = {name: place for place, name in enumerate(self.names)}
        telling: dict[tuple[str, str, Fraction | None], Attempt] = {}
        for attempt in found:
            if attempt.recorded in attempt.values and any(value != attempt.recorded for value in attempt.values):
                telling.setdefault((attempt.question, attempt.reply, attempt.recorded), attempt)
        self._telling = list(telling.values())
        self._rows = {id(attempt): self._matrix(attempt) for attempt in self._telling}
        priors = [PRIOR.get(name, OTHER_PRIOR) for name in self.names]
        self._prior, self._strength = np.array(priors).T
        self._start = self._prior
        self._start = self._solve(self._telling)

    def fit(self, left_out: str | None = None) -> dict[str, float]:
        """Weights by feature, fitted without the attempts of one group."""
        kept = [attempt for attempt in self._telling if attempt.group != left_out]
        solved = self._start if left_out is None else self._solve(kept)
        return {name: round(float(value), 2) for name, value in zip(self.names, solved, strict=True)}

    def _matrix(self, attempt: Attempt) -> np.ndarray[Any, Any]:
        rows = np.zeros((len(attempt.values), len(self.names)))
        for row, features in zip(rows, attempt.features, strict=True):
            row[[self._column[name] for name in features]] = 1.0
        return rows

    def _solve(self, kept: Sequence[Attempt]) -> np.ndarray[Any, Any]:
        sizes = [len(attempt.values) for attempt in kept]
        rows = np.vstack([self._rows[id(attempt)] for attempt in kept])
        right = np.concatenate([[value == attempt.recorded for value in attempt.values] for attempt in kept])
        weight = np.array([attempt.weight for attempt in kept])
        owner = np.repeat(np.arange(len(kept)), sizes)
        starts = np.r_[0, np.cumsum(sizes)[:-1]]

        def loss(weights: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
            worth = rows @ weights
            raised = np.exp(worth - np.maximum.reduceat(worth, starts)[owner])
            every, answers = np.add.reduceat(raised, starts), np.add.reduceat(raised * right, starts) + 1e-300
            away = weights - self._prior
            value = -(weight * np.log(answers / every)).sum() + 0.5 * away @ (self._strength * away)
            surplus = (raised / every[owner] - raised * right / answers[owner]) * weight[owner]
            return value, rows.T @ surplus + self._strength * away

        return minimize(loss, self._start, jac=True, method="L-BFGS-B", options={"ftol": 1e-8, "gtol": 1e-4}).x


def table(weights: Mapping[str, float], version: int) -> str:
    """The text of the module that the product reads."""
    lines = "".join(f'    "{name}": {value:.2f},\n' for name, value in sorted(weights.items(), key=lambda w: -w[1]))
    text = Path(shipped.__file__).read_text(encoding="utf-8")
    head, _, rest = text.partition("VERSION = ")
    _, _, tail = rest.partition("\n}\n")
    return f"{head}VERSION = {version}\nWEIGHTS: dict[str, float] = {{\n{lines}}}\n{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    weights = Fitter(attempts(options.data)).fit()
    for name in sorted({*weights, *shipped.WEIGHTS}):
        old, new = shipped.WEIGHTS.get(name), weights.get(name)
        if old != new:
            print(f"{name:20s} {'-' if old is None else f'{old:+.2f}':>6} -> {'-' if new is None else f'{new:+.2f}'}")
    if options.write:
        Path(shipped.__file__).write_text(table(weights, shipped.VERSION + 1), encoding="utf-8")


if __name__ == "__main__":
    main()
