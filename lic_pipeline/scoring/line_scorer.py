"""Scoring one line: the contract of an output line, and the promise that no line ever stops the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lic_pipeline.errors import RecordError, plain_words
from lic_pipeline.records import Extraction, Instruction, Json, Policy, Reply, Rung, Verdict
from lic_pipeline.scoring.input_lines import given_answer, item_id, misnamed_reply, parse_object, read_reply
from lic_pipeline.tasks.reply_reading import unanswered

OutputLine = dict[str, Json]

_SIGNED_DETAILS = ("judge", "db", "sandbox")


class Scorable(Protocol):
    """The part of a task that ``lic score`` needs (see ``tasks.protocol.Task``)."""

    @property
    def name(self) -> str:
        """Its registered name."""

    @property
    def costly(self) -> bool:
        """True when scoring leaves the process."""

    @property
    def scorer_version(self) -> int:
        """Rises whenever a score could change."""

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """Lift the answer from a reply."""

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """Score an extracted answer."""

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one input line. Raises RecordError."""


@dataclass(frozen=True)
class LineScorer:
    """Scores lines of one task under one policy; paths in a line are relative to ``base``.

    ``options`` are further settings a score depends on; they stand in the signature as given. ``withheld``: why answers
    are not scored at all (no safe sandbox); empty = they are.
    """

    task: Scorable
    policy: Policy = "robust"
    base: Path = field(default_factory=Path)
    options: tuple[tuple[str, str], ...] = ()
    withheld: str = ""

    @property
    def signature(self) -> str:
        """What every score of this scorer depends on, as ``key:value`` joined by ``|``."""
        fixed = (("task", self.task.name), ("policy", self.policy), ("ver", str(self.task.scorer_version)))
        return "|".join(f"{key}:{value}" for key, value in (*fixed, *self.options))

    def score(self, number: int, raw: bytes) -> OutputLine:
        """The output line of input line ``number`` (from 1). Never raises an Exception: a bad line is an output too."""
        given_id: Json = None
        try:
            fields = parse_object(raw)
            given_id = item_id(fields, number)
            return self._score(given_id, fields, number)
        except RecordError as error:
            reason = f"{error.field} {error.reason}" if error.field else error.reason
            return bad_line(given_id, number, reason)
        except Exception as error:
            return bad_line(given_id, number, f"cannot be scored, {type(error).__name__}: {plain_words(error)}"[:500])

    def _score(self, given_id: Json, fields: Mapping[str, Json], number: int) -> OutputLine:
        instruction = self.task.score_item(fields, self.base)
        answer = given_answer(fields)
        if answer is not None:
            rung = Rung.GIVEN if answer.strip() else Rung.FAILED
            extraction = Extraction(answer=answer if answer.strip() else None, rung=rung)
        else:
            reply = read_reply(fields)
            if reply is None:
                verdict = Verdict(score=None, verdict="no_answer", error=_no_response(fields, number))
                return self._line(given_id, verdict, None)
            extraction = self.task.extract(reply, instruction, self.policy)
        if extraction.answer is None:
            return self._line(given_id, unanswered(extraction), extraction)
        if self.withheld:
            return self._line(given_id, Verdict(score=None, verdict="not_judged", error=self.withheld), extraction)
        return self._line(given_id, self.task.score(extraction.answer, instruction, self.policy), extraction)

    def _line(self, given_id: Json, verdict: Verdict, extraction: Extraction | None) -> OutputLine:
        detail = dict(verdict.detail)
        if extraction is not None and extraction.flags:
            detail["flags"] = list(extraction.flags)
        return {
            "id": given_id,
            "answer": verdict.answer,
            "score": verdict.score,
            "correct": None if verdict.score is None else verdict.correct,
            "extraction": None if extraction is None else str(extraction.rung),
            "verdict": None if extraction is None else verdict.verdict,
            "detail": detail,
            "error": verdict.error,
            "signature": self._signed(detail),
        }

    def _signed(self, detail: Mapping[str, Json]) -> str:
        extra = [f"{key}:{detail[key]}" for key in _SIGNED_DETAILS if isinstance(detail.get(key), str)]
        return "|".join([self.signature, *extra])


def _no_response(fields: Mapping[str, Json], number: int) -> str:
    """Nothing was received; where the reply seems to stand under another name, which one."""
    seen = misnamed_reply(fields)
    if seen is None:
        return "no_response"
    return f"no_response: line {number} has {seen!r} where response should be; rename that field to response"


def bad_line(given_id: Json, number: int, reason: str) -> OutputLine:
    """The output of a line that cannot be scored at all."""
    return {"id": given_id, "line": number, "score": None, "error": f"line {number}: {reason}"}
