"""Lines of summaries scored with a model as judge: what carries no verdicts is asked, the rest is scored as it is.

The questions are those of conversations, so a summary that a run has judged is not paid for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from lic_pipeline.errors import RecordError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Json
from lic_pipeline.scoring.line_scorer import LineScorer, OutputLine
from lic_pipeline.simulation.engine.outcome import Progress
from lic_pipeline.simulation.judge.pending_questions import Answer
from lic_pipeline.simulation.judge.question_loop import ToJudge, answer_questions
from lic_pipeline.simulation.roles.llm_judge import judge_identity
from lic_pipeline.tasks.summary.stored_verdicts import NO_VERDICT, QuestionCollector, StoredJudge
from lic_pipeline.tasks.summary.task import Summary

Write = Callable[[OutputLine], None]


class _Read(NamedTuple):
    """A line: scored already, or to be scored (``raw``) by the answer to its question."""

    number: int
    raw: bytes
    scored: OutputLine | None


def score_judged(
    entry: ModelEntry,
    ledger: Ledger,
    budget: Budget,
    raw_lines: Iterable[bytes],
    scorer: LineScorer,
    write: Write,
    *,
    connections: int | None = None,
    again: bool = False,
) -> Progress:
    """Score lines of summaries in order, having ``entry`` judge what they bring no verdict on.

    ``scorer`` says policy and folder; its task is replaced. A question without a usable answer leaves its line without
    a score, with the reason as its error; ``again`` asks once more what had none before. Returns the calls made and
    what is known of their cost. Raises the errors of ``question_loop.answer_questions``.
    """
    judged = _JudgedLines(entry, scorer)

    def on_answered(line: _Read, answers: Mapping[str, Answer]) -> None:
        write(judged.score(line, answers) if line.scored is None else line.scored)

    progress = Progress(f"judging by {entry.alias}", 0)
    answer_questions(
        entry, ledger, budget, judged.cases(raw_lines), on_answered, progress, connections=connections, again=again
    )
    return progress


class _JudgedLines:
    """Scores each line at most twice: to learn what it asks, and by what was answered."""

    def __init__(self, entry: ModelEntry, scorer: LineScorer) -> None:
        self._identity = judge_identity(entry)
        self._answers: Mapping[str, Answer] = {}
        self._collector = QuestionCollector(entry.alias)
        self._first = replace(scorer, task=Summary(self._collector, fill=True))
        by_answers = StoredJudge(entry.alias, self._identity, self._find)
        self._second = replace(scorer, task=Summary(by_answers, fill=True))

    def cases(self, raw_lines: Iterable[bytes]) -> Iterator[ToJudge[_Read]]:
        """Every line that is not blank, with its question if it has one. Numbers count blank lines too, from 1."""
        for number, raw in enumerate(raw_lines, start=1):
            if raw.strip():
                self._collector.questions.clear()
                scored = self._first.score(number, raw)
                questions = {question.key(self._identity): question for question in self._collector.questions}
                # A line that waits is kept as it came; its output alone may be as large.
                yield ToJudge(_Read(number, raw, None) if questions else _Read(number, b"", scored), questions)

    def score(self, line: _Read, answers: Mapping[str, Answer]) -> OutputLine:
        """The output of a line whose question was answered."""
        self._answers = answers
        return self._second.score(line.number, line.raw)

    def _find(self, key: str) -> Json:
        answer = self._answers[key]
        if answer.verdicts is None:
            raise RecordError(f"judge: {answer.state}: {answer.why}" if answer.why else NO_VERDICT)
        return answer.verdicts
