"""The reference policy of the code task: the last top-level function alone, renamed in its text.

Kept with its quirks (imports, helpers and constants are lost; a name is replaced wherever its letters stand), so that
published figures can be compared. The robust rules stand in ``extract``.
"""

from __future__ import annotations

import ast

from lic_pipeline.records import Extraction, Instruction, Reply, Rung
from lic_pipeline.tasks.code.extract_program import entry_point_of
from lic_pipeline.tasks.code.program_syntax import functions_of, parse
from lic_pipeline.tasks.fenced_blocks import fenced_blocks


def extract_reference(reply: Reply, instruction: Instruction) -> Extraction:
    """The last fenced block (else the whole reply), cut to its last function; unreadable code stays whole."""
    blocks = fenced_blocks(reply.text)
    text, rung = (blocks[-1].body, Rung.BLOCK) if blocks else (reply.text, Rung.WHOLE)
    if not text.strip():
        return Extraction(answer=None, rung=Rung.FAILED)
    expected = entry_point_of(instruction)
    return Extraction(answer=text if expected is None else last_function(text, expected), rung=rung)


def last_function(program: str, expected: str) -> str:
    """The text of the last top-level function under the expected name; the program itself when it has none."""
    tree = parse(program)
    functions = functions_of(tree.body) if tree is not None else []
    if not functions:
        return program
    segment = ast.get_source_segment(program, functions[-1]) or program
    return segment.replace(functions[-1].name, expected)
