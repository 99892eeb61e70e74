"""Tables of imported logs: one row per conversation with its scores step by step, and one per model, task, setting."""

from __future__ import annotations

from lic_pipeline.tables import Column, TableSpec, register
from lic_pipeline.tables.scores import IDENTITY


def _score(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=0, maximum=100)


STEP_SCORES = ("recorded_last", "reference_last", "comparison_last", "extraction_last", "gate_last", "robust_max")
"""Columns of the decomposition in their fixed order: each differs from the one before in one thing only."""

IMPORTED_LOGS = register(
    TableSpec(
        "imported_logs",
        "One imported conversation: where it came from, its recorded score, and its scores step by step.",
        (
            *IDENTITY,
            Column("conv_id", "string", "Id in the log"),
            Column("file", "string", "Name of the file"),
            Column("line", "int", "Line from 1", minimum=1),
            Column("conv_type", "string", "Setting as the log names it"),
            Column("task_id", "string", "Item as the log names it"),
            Column("named_model", "string", "Model as the log names it"),
            Column("user_model", "string", "User simulator as the log names it"),
            Column("system_model", "string", "Classifier and extractor as the log names it"),
            Column("git_version", "string", "Version of the scripts"),
            Column("stop", "string", "Stop rule it shows", choices=("none", "correct", "exhausted", "unknown")),
            _score("recorded", "Score of the conversation as the log says"),
            _score("recorded_last", "Recorded score of the last graded attempt, none = 0"),
            _score("recorded_max", "Best recorded score of an attempt"),
            _score("reference_last", "Reference policy, given the recorded extraction: last graded attempt"),
            _score("reference_max", "The same: best graded attempt"),
            _score("comparison_last", "Robust comparison of the recorded extraction: last graded attempt"),
            _score("extraction_last", "Robust extraction and comparison: last graded attempt"),
            _score("gate_last", "Robust gate too: last attempt"),
            _score("robust_max", "Best attempt under the robust policy"),
            _score("robust", "Headline score under the robust policy"),
            Column("missing_reason", "string", "Why the headline score is NULL", nullable=True),
            _score("score_cumulative", "Actions: distinct calls of the whole conversation"),
            _score("grade_all", "Best reply when every reply is graded"),
            _score("label_only", "Best reply among those labelled answer_attempt"),
            _score("rule_gate", "Best reply under the robust gate with labels by rule in every setting"),
            Column("attempts", "int", "Attempts graded in the log", minimum=0),
            Column(
                "reproduced", "int", "Of these, attempts whose recorded score the reference policy gives", minimum=0
            ),
            Column("moves", "json", "Attempts changed by a step: {step: [up, down]}; gate: [admitted, held back]"),
            Column("reasons", "json", "Steps at which the score changed, such as extraction+"),
            Column("signature", "string", "What the scores depend on, field:value joined by |"),
        ),
        ("experiment", "conversation_id"),
    )
)

LOG_COMPARISON = register(
    TableSpec(
        "log_comparison",
        "Recorded score, reference policy and robust policy of imported logs, per model, task and setting.",
        (
            Column("experiment", "string", "Experiment of the import"),
            Column("condition", "json", "Condition columns, keys sorted"),
            Column("task", "string", "Task"),
            Column("model", "string", "Model"),
            Column("setting", "string", "Setting"),
            Column("n_conversations", "int", "Conversations", minimum=0),
            Column("n_instructions", "int", "Instructions", minimum=0),
            _score("recorded", "Mean recorded score"),
            _score("reference", "Mean score of the last graded attempt, reference policy"),
            _score("robust_last", "Mean score of the last attempt, robust policy"),
            _score("robust", "Mean headline score, robust policy"),
            _score("score_cumulative", "Actions: mean cumulative score"),
            Column("n_missing", "int", "Conversations without a robust score", minimum=0),
            Column("attempts", "int", "Attempts graded in the log", minimum=0),
            Column("reproduced", "int", "Of these, reproduced by the reference policy", minimum=0),
            Column("n_up", "int", "Conversations that robust scores above the recorded score", minimum=0),
            Column("n_down", "int", "Conversations that robust scores below the recorded score", minimum=0),
            Column("reasons", "json", "{reason: {n, examples}}: what changed the score; examples are ids of the log"),
            Column("signature", "string", "What the scores depend on, field:value joined by |"),
        ),
        ("experiment", "condition", "task", "model", "setting"),
    )
)


def partition_of(experiment: str, task: str, model: str) -> dict[str, str]:
    """Partition of every table an import writes per task and model, the one manifests are found under."""
    return {"experiment": experiment, "task": task, "model": model}
