"""Strategy of a reply in the code task, by rules. Where the program stands is told by ``extract``."""

from __future__ import annotations

import re

from lic_pipeline.records import Instruction, Reply, Strategy
from lic_pipeline.tasks.code.extract_program import entry_point_of, extract_program
from lic_pipeline.tasks.code.program_syntax import classes_of, defined_names, functions_of, is_stub, parse
from lic_pipeline.tasks.fenced_blocks import inner_blocks, without_fences
from lic_pipeline.tasks.reply_reading import label_without_answer, visible_text

_CONDITION = re.compile(
    r"\bif (?:you|your|the|it|that|this|by)\b"
    r"|\b(?:option|version|variant|case|interpretation|possibility) (?:[1-9a-c]\b|one|two)"
    r"|\bdepend(?:s|ing) on\b|\bin case you\b|\balternatively\b|\bassuming you\b",
    re.IGNORECASE,
)
_CHOOSES = re.compile(
    r"\b(?:final|complete|full|corrected|improved|updated|fixed|optimi[sz]ed|recommended|better|revised) "
    r"(?:solution|version|code|program|function|implementation|answer)\b"
    r"|\bi(?:'d| would)? (?:recommend|suggest|choose)\b",
    re.IGNORECASE,
)


def label_reply(reply: Reply, instruction: Instruction) -> Strategy:
    """An attempt when a program can be lifted that is no mere stub; several ones under conditions are hedging."""
    text, _ = visible_text(reply.text)
    if not text.strip():
        return Strategy.MISSING
    program = extract_program(reply, instruction).answer
    if program is None or _only_stubs(program):
        return label_without_answer(text)
    return Strategy.HEDGING if _offers_alternatives(text, entry_point_of(instruction)) else Strategy.ANSWER_ATTEMPT


def _only_stubs(program: str) -> bool:
    tree = parse(program)
    if tree is None:
        return False
    functions = functions_of(tree.body) + [f for owner in classes_of(tree) for f in functions_of(owner.body)]
    return bool(functions) and all(is_stub(function) for function in functions)


def _offers_alternatives(text: str, expected: str | None) -> bool:
    """Two blocks with different programs for the same thing, and prose that sets conditions instead of choosing."""
    texts = {block.body.strip() for block in inner_blocks(text)}
    programs = [tree for body in texts if (tree := parse(body)) is not None]
    if expected is not None:
        programs = [tree for tree in programs if expected in defined_names(tree.body) or classes_of(tree)]
    else:
        programs = [tree for tree in programs if len(tree.body) > 1]
    prose = without_fences(text)
    return len(programs) > 1 and len(_CONDITION.findall(prose)) > 1 and _CHOOSES.search(prose) is None
