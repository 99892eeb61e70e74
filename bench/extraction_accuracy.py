"""How often math extraction misses a right answer, and how often it finds one that is not there.

    python bench/extraction_accuracy.py ../shared/data

*Miss*: of the attempts whose recorded answer (of the published LLM extractor) equals the gold answer, the share that is
read otherwise. *False hit*: of all graded attempts, the share read as the gold answer where another one is recorded.
Two baselines stand beside it. Weights are fitted anew for every instruction, without it. Rule labels are no part of the
fit; their phrases were chosen on the viewer logs, and hardly changed for the fork's.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from extraction_fit import Attempt, Fitter, attempts

from lic_pipeline.records import Instruction, Reply, Rung, Strategy
from lic_pipeline.tasks.math import TASK
from lic_pipeline.tasks.math.extract_number import read
from lic_pipeline.tasks.math.features import results_of
from lic_pipeline.tasks.math.numbers.number_grammar import normalise, without_bold
from lic_pipeline.tasks.math.weights import WEIGHTS
from lic_pipeline.tasks.reply_reading import sentence_spans, visible_text

Read = tuple[Rung | None, Fraction | None]
_FIGURE = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def last_number(attempt: Attempt) -> Read:
    """The last number of the reply."""
    found = _FIGURE.findall(normalise(visible_text(attempt.reply)[0]))
    return None, _value(found[-1]) if found else None


def calculated_number(attempt: Attempt) -> Read:
    """Of the last sentence with a number: its last result of an earlier calculation that is no given, else its last."""
    text, _ = without_bold(normalise(visible_text(attempt.reply)[0]))
    given = {_value(figure) for figure in _FIGURE.findall(attempt.question)}
    spans = [span for span in sentence_spans(text) if _FIGURE.search(text, *span)]
    if not spans:
        return None, None
    values = [_value(figure) for figure in _FIGURE.findall(text, *spans[-1])]
    results = {Fraction(*result) for result in results_of(text[: spans[-1][1]])}
    return None, next((value for value in reversed(values) if value in results - given), values[-1])


def _value(figure: str) -> Fraction:
    return Fraction(figure.replace(",", ""))


def product(attempt: Attempt) -> Read:
    """The product's own reading, with whatever weights are set."""
    found = read._read(visible_text(attempt.reply)[0], attempt.question)
    return found.extraction.rung, None if found.number is None else found.number.value


def left_out(found: Sequence[Attempt], fitter: Fitter) -> list[Read]:
    """The product's reading of each attempt by weights fitted without its instruction."""
    kept = dict(WEIGHTS)
    by_group: dict[str, list[int]] = defaultdict(list)
    for place, attempt in enumerate(found):
        if attempt.source != "solution":
            by_group[attempt.group].append(place)
    readings: list[Read] = [(None, None)] * len(found)
    for group, places in by_group.items():
        WEIGHTS.clear()
        WEIGHTS.update(fitter.fit(group))
        for place in places:
            readings[place] = product(found[place])
    WEIGHTS.clear()
    WEIGHTS.update(kept)
    return readings


def rates(found: Sequence[Attempt], readings: Sequence[Read]) -> str:
    """Miss and false-hit rates of one way of reading one source."""
    right = [(a, value) for a, (_, value) in zip(found, readings, strict=True) if a.recorded == a.gold]
    missed = sum(value != attempt.gold for attempt, value in right)
    graded = [(a, value) for a, (_, value) in zip(found, readings, strict=True) if a.recorded is not None]
    false = sum(value == attempt.gold for attempt, value in graded if attempt.recorded != attempt.gold)
    return f"{missed / len(right):8.1%} ({missed:3d}) {false / len(graded):8.1%} ({false:3d})"


def by_rung(found: Sequence[Attempt], readings: Sequence[Read]) -> Iterator[str]:
    """Per rung: how many right attempts it decided, and how many of them otherwise than recorded."""
    decided: Counter[str] = Counter()
    otherwise: Counter[str] = Counter()
    for attempt, (rung, value) in zip(found, readings, strict=True):
        if attempt.recorded == attempt.gold:
            decided[str(rung)] += 1
            otherwise[str(rung)] += value != attempt.gold
    for rung, count in decided.most_common():
        wrong = otherwise[rung]
        yield f"  {rung:12s} {count:5d} right attempts, {wrong:3d} read otherwise ({wrong / count:.1%})"


def labels(found: Sequence[Attempt]) -> str:
    """Precision and recall of the rule label, attempt or not, against the recorded one."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for attempt in found:
        if attempt.label is not None and attempt.reply:
            instruction = Instruction(instruction_id="x", task="math", benchmark="gsm8k", text=attempt.question)
            mine = TASK.label(Reply(text=attempt.reply), instruction) is Strategy.ANSWER_ATTEMPT
            counts[attempt.label == "answer_attempt", mine] += 1
    right = counts[True, True]
    precision, recall = right / (right + counts[False, True]), right / (right + counts[True, False])
    return f"{sum(counts.values())} labelled replies: precision {precision:.1%}, recall {recall:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    every = attempts(options.data)
    fitter = Fitter(every)
    readings = left_out(every, fitter)
    ways: dict[str, Callable[[Attempt], Read]] = {
        "last number": last_number, "calculated, not given": calculated_number, "as shipped (fitted on these)": product,
    }  # fmt: skip
    for source in ("fork", "viewer", "own", "case"):
        chosen = [(a, r) for a, r in zip(every, readings, strict=True) if a.source == source]
        found = [attempt for attempt, _ in chosen]
        graded = sum(attempt.recorded is not None for attempt in found)
        instructions = len({attempt.question for attempt in found})
        print(f"{source}: {instructions} questions, {graded} attempts with an answer; miss, false hits")
        for name, way in ways.items():
            print(f"  {name:30s}{rates(found, [way(attempt) for attempt in found])}")
        print(f"  {'instruction left out':30s}{rates(found, [reading for _, reading in chosen])}")
        yielded = by_rung(found, [reading for _, reading in chosen])
        print("\n".join(yielded))
        if source in {"fork", "viewer"}:
            print("  rule label:", labels(found))


if __name__ == "__main__":
    main()
