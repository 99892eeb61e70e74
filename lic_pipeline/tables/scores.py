"""The two tables every metric is computed from: planned conversations and their scores.

Scoring fills ``scores``, the plan fills ``planned``; metrics read both. No metric is computed here.
"""

from __future__ import annotations

from lic_pipeline.tables import Column, TableSpec, register

IDENTITY = (
    Column("conversation_id", "string", "hash of everything that shapes the transcript"),
    Column("experiment", "string", "named entry of experiments.yaml, or the hash of an ad-hoc one"),
    Column("task", "string", "task name"),
    Column("model", "string", "registry entry under test, parameters included"),
    Column("setting", "string", "how the instruction is revealed"),
    Column("condition", "json", "condition columns of the experiment as a JSON object, keys sorted; {} = none"),
    Column("instruction_id", "string", "instruction"),
    Column("run", "int", "repeat index, from 0", minimum=0),
)


def _score(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=0, maximum=100)


SCORES = register(
    TableSpec(
        name="scores",
        description="One row per conversation and experiment: how it ended and its scores, 0..100.",
        columns=(
            *IDENTITY,
            Column("n_shards", "int", "shards of the instruction; 0 = unsharded", minimum=0),
            Column("n_turns", "int", "turns the conversation took", minimum=0),
            Column("state", "string", "done, or error:<class>"),
            Column("stop_reason", "string", "why the conversation ended", nullable=True),
            Column("missing_reason", "string", "why the headline score is null; null where there is a score", True),
            _score("score", "headline score under the robust policy"),
            _score("score_max", "best attempt"),
            _score("score_last", "last attempt"),
            _score("score_first", "first attempt"),
            _score("score_full_info", "first attempt made once every shard was out; null when solved earlier"),
            _score("score_cumulative", "actions: distinct calls of the whole conversation"),
            Column("solved_at_turn", "int", "turn of the first attempt at 100", nullable=True, minimum=1),
            Column("solved_before_last_shard", "bool", "solved while a shard was still hidden", nullable=True),
            Column("n_attempts", "int", "graded attempts", minimum=0),
            _score("score_reference", "headline score under the reference policy"),
            Column("flags", "json", "flags of the conversation, a JSON list of strings"),
            Column("approval", "string", "approval of the instruction's shards"),
            Column("signature", "string", "what the score depends on, field:value joined by |"),
            Column("scorer_version", "int", "version of the task's scorer", minimum=0),
        ),
        key=("experiment", "conversation_id"),
    )
)

PLANNED = register(
    TableSpec(
        name="planned",
        description="One row per conversation an experiment's manifest wants; a row without score is missing.",
        columns=(
            *IDENTITY,
            Column("signature", "string", "what the score will depend on, field:value joined by |"),
            Column("unanswerable", "string", "why no run holds it: context, no_reference, no_shards", nullable=True),
        ),
        key=("experiment", "conversation_id"),
    )
)
