"""User messages that do not depend on the task: one shard, and all shards as one bullet list.

Task-specific wording lives in the tasks; restatements of whole conversations live in the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence

from lic_pipeline.prompts import render
from lic_pipeline.records import Shard


def bullets(texts: Sequence[str]) -> str:
    """One ``- text`` bullet per text, word for word (line breaks and indentation inside a text are kept)."""
    return "\n".join("- " + text for text in texts)


def concat_bullets(shards: Sequence[Shard]) -> str:
    """The CONCAT message: a short lead-in to consider every point, then all shards verbatim in the given order."""
    return render("common/concat", items=bullets([shard.text for shard in shards]))


def verbatim(shard: Shard) -> str:
    """The message that reveals one shard word for word."""
    return shard.text
