"""Whether programs may be run where only the weak sandbox is to be had. The sandbox itself knows nothing of it.

The command line sets ``PERMISSION.allow_weak`` from ``--allow-weak-sandbox`` before anything is scored, and puts it in
the signature. Programs of our own making (gold and menu replies) are run in every mode, so that the demo works
everywhere; they are recognised by their text, not by where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from lic_pipeline.records import Instruction, Reply
from lic_pipeline.sandbox.python.api import sandbox_mode
from lic_pipeline.tasks.code.extract_program import extract_program
from lic_pipeline.tasks.code.persona_replies import menu_items

NO_SANDBOX = "no_sandbox"


@dataclass
class Permission:
    """The user's word for this process; False until somebody says otherwise."""

    allow_weak: bool = False


PERMISSION = Permission()


def may_run(program: str, instruction: Instruction) -> bool:
    """True in strong mode, with permission, or for a program of our own. Raises SandboxError when nothing starts."""
    if sandbox_mode() == "strong" or PERMISSION.allow_weak:
        return True
    return program in {
        extract_program(Reply(text=item.text), instruction).answer
        for item in menu_items(instruction)
        if item.score is not None
    }
