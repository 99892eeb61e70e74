"""The actions task (BFCL parallel): its Task object and the cumulative score.

Calls as data live in ``calls.py``, where they stand in ``find.py``, the matching rules in
``match.py``, the reference policy's parser in ``reference.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import (
    Extraction,
    Instruction,
    Json,
    PersonaReply,
    Policy,
    Reply,
    Rung,
    Strategy,
    Verdict,
)
from lic_pipeline.tasks.actions.check_item import check_calls, check_functions
from lic_pipeline.tasks.actions.faults import fault_at, fault_of
from lic_pipeline.tasks.actions.find_calls import Found, find_calls
from lic_pipeline.tasks.actions.match_calls import Reference, assign, assign_greedily, mismatch, plain_name, schemas
from lic_pipeline.tasks.actions.python_calls import Call, CallSyntaxError, render_calls
from lic_pipeline.tasks.actions.reference import parse_published
from lic_pipeline.tasks.actions.reference_replies import gold_calls, wrong_calls
from lic_pipeline.tasks.reading_cache import Kept, Same
from lic_pipeline.tasks.reply_reading import TRUNCATED_REASONING, label_without_answer, storable, visible_text
from lic_pipeline.tasks.user_messages import PlainMessages


def _known(instruction: Instruction) -> dict[str, Mapping[str, Json]]:
    return schemas(instruction.context.get("functions") or [])


@Kept
def _found(text: str, functions: Same) -> Found:
    """The calls of a visible reply, given the list of functions of its instruction."""
    return find_calls(text, schemas(functions.thing or []))


def _calls_of(text: str, instruction: Instruction) -> Found:
    return _found(text, Same(instruction.context.get("functions")))


class ActionsTask(PlainMessages):
    """Requests answered by a list of function calls, matched one to one with the reference calls."""

    name = "actions"
    kind: Literal["binary", "refinement"] = "binary"
    costly = False
    scores_every_turn = True
    scorer_version = 3
    answer_description = "a list of function calls with literal arguments, such as [f(a=1), g(b='x')]"

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError when the function list or the reference calls are missing or garbled."""
        check_functions(instruction.context.get("functions"), "context.functions")
        check_calls(instruction.reference.get("calls"), "reference.calls")

    def system_prompt(self, instruction: Instruction) -> str:
        """Role, answer format and the function list as JSON."""
        functions = json.dumps(list(instruction.context.get("functions") or []), indent=2, ensure_ascii=False)
        return render("actions/system", functions=functions)

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """Strategy: calls are an attempt, alternatives hedging, everything else by the shared rules."""
        extraction = self.extract(reply, instruction)
        if extraction.rung is Rung.AMBIGUOUS:
            return Strategy.HEDGING
        text, _ = visible_text(reply.text)
        if extraction.answer is None:
            return label_without_answer(text)
        known = _known(instruction)
        if known and not _names_known(extraction.answer, known):
            return label_without_answer(text)
        if extraction.rung is Rung.LOOSE:
            other = label_without_answer(text)
            return other if other in {Strategy.CLARIFICATION, Strategy.INTERROGATION} else Strategy.ANSWER_ATTEMPT
        return Strategy.ANSWER_ATTEMPT

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The calls of a reply as text; structured tool calls come first. ``reference`` takes the whole reply."""
        text, truncated = visible_text(reply.text)
        flags = (TRUNCATED_REASONING,) if truncated else ()
        if reply.tool_calls:
            listed = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
            return Extraction(answer=json.dumps(listed), rung=Rung.BLOCK, flags=flags)
        if policy == "reference":
            whole = storable(text.strip())
            return Extraction(answer=whole or None, rung=Rung.WHOLE if whole else Rung.FAILED, flags=flags)
        found = _calls_of(text, instruction)
        if found.rung is Rung.AMBIGUOUS:
            candidates = tuple(storable(call.render()) for call in found.calls[:20])
            return Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=candidates, flags=flags)
        if not found.calls and not found.text:
            return Extraction(
                answer=None, rung=Rung.FAILED, flags=(*flags, "unreadable_call") if found.broken else flags
            )
        answer = storable(found.text or render_calls(list(found.calls)))
        return Extraction(answer=answer, rung=found.rung, flags=flags)

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 when the calls match the reference calls one to one."""
        references: list[Reference] = instruction.reference.get("calls") or []
        if not references:
            return Verdict(score=None, verdict="not_judged", error="reference_calls is missing")
        if policy == "reference":
            return _score_published(answer, references, _known(instruction))
        known = _known(instruction)
        found = _calls_of(visible_text(answer)[0], instruction)
        if found.rung is Rung.AMBIGUOUS:
            return Verdict(
                score=0.0, verdict="ambiguous", detail={"calls": [storable(call.render()) for call in found.calls[:20]]}
            )
        if not found.calls and found.text != "[]":
            if found.broken or _looks_like_calls(answer, known):
                return Verdict(score=0.0, verdict="parse_error", detail=fault_of(answer, known))
            return Verdict(score=0.0, verdict="no_answer")
        return _verdict(list(found.calls), references, known)

    def score_cumulative(self, answers: Sequence[str], instruction: Instruction) -> Verdict:
        """100 when the distinct calls of all answers of a conversation match the reference calls exactly.

        Answers that cannot be read add nothing. Never part of performance; shows incremental answering.
        """
        references: list[Reference] = instruction.reference.get("calls") or []
        if not references:
            return Verdict(score=None, verdict="not_judged", error="reference_calls is missing")
        known = _known(instruction)
        distinct: dict[str, Call] = {}
        for answer in answers:
            found = _calls_of(visible_text(answer)[0], instruction)
            for call in found.calls if found.rung is not Rung.AMBIGUOUS else ():
                distinct.setdefault(_identity(call), call)
        if not distinct:
            return Verdict(score=0.0, verdict="no_answer")
        return _verdict(list(distinct.values()), _distinct_references(references), known)

    def gold(self, instruction: Instruction) -> str | None:
        """The reference calls as a reply, None without reference."""
        calls = gold_calls(instruction.reference.get("calls") or [])
        return render_calls(calls) if calls else None

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Right, two wrong, and the three kinds of reply that are no attempt. Raises RecordError without reference."""
        self.check(instruction)
        right = gold_calls(instruction.reference["calls"])
        extra, spoiled = wrong_calls(right)
        return (
            PersonaReply(kind="right", text=render_calls(right), score=100.0),
            PersonaReply(kind="wrong", text=render_calls(extra), score=0.0),
            PersonaReply(kind="wrong", text=render_calls(spoiled), score=0.0),
            PersonaReply(kind="question", text="Which values should the calls use?"),
            PersonaReply(kind="hedge", text=f"Either {render_calls(extra)} or {render_calls(spoiled)} would do."),
            PersonaReply(kind="refusal", text="I am sorry, but I cannot make these calls."),
        )

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line ``{functions, reference_calls, response}``."""
        for name in ("functions", "reference_calls"):
            if line.get(name) is None:
                raise RecordError("is missing", field=name)
        check_functions(line["functions"], "functions")
        check_calls(line["reference_calls"], "reference_calls")
        return Instruction(
            instruction_id=str(line.get("id", "")),
            task=self.name,
            benchmark="lic_score",
            text="",
            context={"functions": line["functions"]},
            reference={"calls": line["reference_calls"]},
        )


def _names_known(answer: str, known: Mapping[str, Json]) -> bool:
    flat = plain_name(answer)
    return any(name in flat for name in known)


def _looks_like_calls(answer: str, known: Mapping[str, Json]) -> bool:
    return _names_known(answer, {f"{name}(": None for name in known}) or (
        answer.lstrip()[:1] in {"[", "{"} and len(answer.strip()) > 2
    )


def _identity(call: Call) -> str:
    return json.dumps([plain_name(call.name), call.positional, call.named], sort_keys=True, default=str)


def _distinct_references(references: Sequence[Reference]) -> list[Reference]:
    """References that demand the same call twice cannot be told apart in a set of distinct calls."""
    return list({json.dumps(reference, sort_keys=True): reference for reference in references}.values())


def _verdict(calls: list[Call], references: Sequence[Reference], known: Mapping[str, Mapping[str, Json]]) -> Verdict:
    answer = storable(render_calls(calls))
    if len(calls) != len(references):
        detail = {"calls": len(calls), "expected": len(references)}
        return Verdict(score=0.0, verdict="wrong_count", answer=answer, detail=detail)
    assigned = assign(calls, references, known)
    missing = [place for place, call in enumerate(assigned) if call is None]
    if not missing:
        return Verdict(score=100.0, verdict="correct", answer=answer)
    spare = [i for i in range(len(calls)) if i not in assigned]
    why = [mismatch(calls[i], references[missing[0]], known) for i in spare]
    return Verdict(
        score=0.0,
        verdict="wrong",
        answer=answer,
        detail={"unmatched": missing, "why": [storable(reason or "") for reason in why[:10]]},
    )


def _score_published(answer: str, references: Sequence[Reference], known: Mapping[str, Mapping[str, Json]]) -> Verdict:
    try:
        calls = parse_published(answer)
    except CallSyntaxError as error:
        return Verdict(score=0.0, verdict="parse_error", detail=fault_at(answer, error.offset or 0, str(error)))
    if len(calls) != len(references):
        return Verdict(score=0.0, verdict="wrong_count", answer=storable(render_calls(calls)))
    right = None not in assign_greedily(calls, references, known)
    answer = storable(render_calls(calls))
    return Verdict(score=100.0 if right else 0.0, verdict="correct" if right else "wrong", answer=answer)


TASK = ActionsTask()
