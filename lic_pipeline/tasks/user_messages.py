"""User messages that do not depend on the task: one shard, and all shards as one bullet list.

Task-specific wording lives in the tasks; restatements of whole conversations live in the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence

from lic_pipeline.prompts import render
from lic_pipeline.records import Instruction, Shard


def bullets(texts: Sequence[str]) -> str:
    """One ``- text`` bullet per text, word for word (line breaks and indentation inside a text are kept)."""
    return "\n".join("- " + text for text in texts)


def concat_bullets(shards: Sequence[Shard]) -> str:
    """The CONCAT message: a short lead-in to consider every point, then all shards verbatim in the given order."""
    return render("common/concat", items=bullets([shard.text for shard in shards]))


def verbatim(shard: Shard) -> str:
    """The message that reveals one shard word for word."""
    return shard.text


class PlainMessages:
    """The user messages of a task that adds no wording of its own; tasks inherit them."""

    def full_message(self, instruction: Instruction) -> str:
        """The instruction as it stands."""
        return instruction.text

    def concat_message(self, instruction: Instruction, shards: Sequence[Shard]) -> str:
        """All shards in the given order as one bullet list with a short lead-in."""
        return concat_bullets(shards)

    def shard_message(self, instruction: Instruction, shard: Shard) -> str:
        """One shard, word for word."""
        return verbatim(shard)
