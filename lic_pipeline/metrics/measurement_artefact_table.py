"""The table ``measurement_artefact`` and what its rows name, in order: levels, steps, totals, variants of the gate.

How the numbers come about is in ``artefact``.
"""

from __future__ import annotations

from lic_pipeline.logs.rescoring import STEPS
from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.tables import Column, TableSpec, register

ALL = "*"
LEVELS = (
    ("recorded_last", "recorded_last"),
    ("recorded_max", "recorded_max"),
    ("reference_last", "reference_last"),
    ("reference_max", "reference_max"),
    ("robust_last", "gate_last"),
    ("robust_max", "robust_max"),
    ("cumulative", "score_cumulative"),
    ("incremental", "incremental"),
)
"""Names of levels and the columns they stand in. A last is compared with a last, a max with a max. ``incremental`` is
the share of conversations whose calls are right taken together although every attempt is wrong."""
TOTALS = (("last", "recorded_last", "gate_last"), ("max", "recorded_max", "robust_max"))
"""All steps together, like for like."""
VARIANTS = ("grade_all", "label_only", "rule_gate")
CHANGES = (
    *(("step", name, before, after) for name, before, after in zip(STEPS, STEP_SCORES, STEP_SCORES[1:], strict=False)),
    *(("total", name, before, after) for name, before, after in TOTALS),
    *(("variant", name, "robust_max", name) for name in VARIANTS),
)
"""Kind, name, column before and column after of everything that has a change, in order."""


def _number(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=-100, maximum=100)


MEASUREMENT_ARTEFACT = register(
    TableSpec(
        "measurement_artefact",
        "Imported logs: levels, steps from the recorded to the robust score, their total, and variants of the gate.",
        (
            Column("experiment", "string", "Experiment of the import"),
            Column("condition", "json", "Condition columns, keys sorted"),
            Column("task", "string", "Task"),
            Column("model", "string", "Model, * = all, weighing equally"),
            Column("setting", "string", "Setting, or a setting minus FULL over the instructions both have"),
            Column("kind", "string", "What the row is", choices=("level", "step", "total", "variant")),
            Column("position", "int", "Place in order: of levels, of changes (steps, totals, variants)", minimum=0),
            Column("name", "string", "Name of the level, step, total or variant"),
            _number("value", "Mean score; of a step or total: after it; points"),
            _number("value_low", "Lower end, 95%, over instructions"),
            _number("value_high", "Upper end, 95%, over instructions"),
            _number("change", "Step, total: change of the mean; variant: difference from robust_max; points"),
            _number("change_low", "Lower end of the change, 95%, paired over instructions"),
            _number("change_high", "Upper end of the change, 95%, paired over instructions"),
            Column("method", "string", "Method of the interval of the value", nullable=True),
            Column("change_method", "string", "Method of the interval of the change", nullable=True),
            Column("n_instructions", "int", "Instructions", minimum=0),
            Column("few", "bool", "Fewer than 10 instructions"),
            Column("n_conversations", "int", "Conversations", minimum=0),
            Column("n_left_out", "int", "Conversations with an unknown score, left out", minimum=0),
            Column("conversations_up", "int", "Conversations whose score the change raised", True, 0),
            Column("conversations_down", "int", "Conversations whose score the change lowered", True, 0),
            Column("attempts_up", "int", "Attempts whose own score rose; gate: attempts admitted", True, 0),
            Column("attempts_down", "int", "Attempts whose own score fell; gate: attempts held back", True, 0),
            Column("signature", "string", "What the numbers depend on; of several cells, a hash over theirs"),
        ),
        ("experiment", "condition", "task", "model", "setting", "kind", "name"),
    )
)
