"""The specs of the metric tables. What each value means is written once, in the head of its file in ``sql/``."""

from __future__ import annotations

from lic_pipeline.tables import Column, TableSpec, register

_EXPERIMENT = Column("experiment", "string", "experiment")
_CONDITION = Column("condition", "json", "condition columns as a JSON object")
_TASK = Column("task", "string", "task")
_MODEL = Column("model", "string", "registry entry under test")
_SETTING = Column("setting", "string", "how the instruction is revealed")
_SIGNATURE = Column("signature", "string", "what the numbers depend on; of several cells, a hash over theirs")
_REASON = Column("reason", "string", "why values are NULL", nullable=True)
_CELL = (_EXPERIMENT, _CONDITION, _TASK, _MODEL, _SETTING)
_OVER_TASKS = (_EXPERIMENT, _CONDITION, _MODEL, _SETTING)
_CELL_KEY = tuple(column.name for column in _CELL)
_MODEL_KEY = tuple(column.name for column in _OVER_TASKS)


def _count(name: str, description: str, nullable: bool = False) -> Column:
    return Column(name, "int", description, nullable=nullable, minimum=0)


def _points(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=0, maximum=100)


def _share(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=0, maximum=1)


def _number(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True)


def _text(name: str, description: str) -> Column:
    return Column(name, "string", description, nullable=True)


def _yes(name: str, description: str, nullable: bool = False) -> Column:
    return Column(name, "bool", description, nullable=nullable)


def _interval(name: str, what: str) -> tuple[Column, Column]:
    return _points(f"{name}_low", f"lower end, 95%, {what}"), _points(f"{name}_high", f"upper end, 95%, {what}")


_BOUNDS = (
    _points("P_if_missing_0", "P with missing runs counted as 0"),
    _points("P_if_missing_100", "P with missing runs counted as 100"),
)
_BOUNDS_DIFFER = _yes("bounds_differ", "the two bounds differ by more than 2 points")
_APTITUDE = (
    _points("A90", "aptitude: mean 90th percentile"),
    *_interval("A90", "A90 over instructions"),
    _points("U90_10", "unreliability: mean 90th - 10th percentile"),
    *_interval("U90_10", "U90-10 over instructions"),
    _text("aptitude_method", "method of the intervals of A90 and U90-10"),
    _points("R", "reliability: 100 - U90-10"),
)
_KINDS = (
    _points("score_max", "mean score of the best attempt"),
    _points("score_last", "mean score of the last attempt"),
    _points("score_first", "mean score of the first attempt"),
    _points("score_full_info", "mean score of the first attempt with every shard out"),
    _count("n_full_info", "conversations with such an attempt"),
    _points("score_cumulative", "mean cumulative score (actions)"),
    _points("score_reference", "mean headline score under the reference policy"),
)
_COUNTS = (
    _count("n_planned", "conversations planned"),
    _count("n_scored", "conversations with a score"),
)
_DROP = (
    _number("drop_points", "setting P - FULL P, points"),
    Column("drop_low", "float", "lower end of the drop, 95%", True, -100, 100),
    Column("drop_high", "float", "upper end of the drop, 95%", True, -100, 100),
    _text("drop_method", "method of the interval of the drop"),
    _share("p_value", "two-sided sign-flip p"),
)

BY_INSTRUCTION = TableSpec(
    "reliability_by_instruction",
    "P, A90, U90-10 per instruction of a cell.",
    (
        *_CELL,
        Column("instruction_id", "string", "instruction"),
        *_COUNTS,
        _count("n_solved", "runs at 100"),
        _count("n_target", "target N"),
        _yes("reaches", "at least N runs scored"),
        _yes("compared", "reaches N in every usable cell it is compared with; enters A90 and U90-10"),
        _points("P", "mean over scored runs"),
        *_BOUNDS,
        _points("A90", "90th percentile over N runs"),
        _points("U90_10", "90th - 10th percentile over N runs"),
        _points("R", "100 - U90-10"),
        _number("variance", "variance of one run (n-1), squared points"),
        _share("always", "share of N-subsets with every run solved"),
        _share("never", "share of N-subsets with no run solved"),
        _yes("binary_task", "every score of the task in the experiment is 0 or 100"),
        _yes("early_solvable", "solved before the last shard in over half of the solved runs of a model"),
        *_KINDS,
    ),
    (*_CELL_KEY, "instruction_id"),
)
BY_TASK = TableSpec(
    "reliability_by_task",
    "P, A90, U90-10 per cell with intervals, bounds and reasons.",
    (
        *_CELL,
        _count("n_instructions", "instructions planned"),
        _count("n_compared", "instructions in A90 and U90-10"),
        _count("n_target", "target N"),
        *_COUNTS,
        _count("n_missing", "conversations without a score"),
        _points("P", "performance: mean over instructions"),
        *_interval("P", "P over instructions like these"),
        _text("P_method", "method of the interval of P"),
        *_interval("P_runs", "P if the same instructions were run again"),
        *_BOUNDS,
        _BOUNDS_DIFFER,
        *_APTITUDE,
        _yes("binary_task", "every score of the task in the experiment is 0 or 100"),
        _share("always", "share of instructions solved in all N runs"),
        Column(
            "sometimes", "float", "share of instructions solved in some runs", nullable=True, minimum=-1e-9, maximum=1
        ),
        _share("never", "share of instructions never solved"),
        _points("sd_within", "SD of one run within its instruction, n-1"),
        *_KINDS,
        _yes("few_instructions", "fewer than 10 instructions"),
        _REASON,
        _text("reason_aptitude", "why A90 and U90-10 are NULL"),
        _SIGNATURE,
    ),
    _CELL_KEY,
)
BY_MODEL = TableSpec(
    "reliability_by_model",
    "Unweighted means over tasks per model and setting.",
    (
        *_OVER_TASKS,
        _count("n_tasks", "tasks"),
        Column("tasks", "string", "their names"),
        _count("n_instructions", "instructions planned over all tasks"),
        _count("n_target", "target N; NULL when the tasks differ", True),
        *_COUNTS,
        _count("n_missing", "conversations without a score"),
        _points("P", "performance: mean over tasks"),
        *_interval("P", "P over instructions like these"),
        _text("P_method", "method of the interval of P"),
        *_BOUNDS,
        _BOUNDS_DIFFER,
        *_APTITUDE,
        _REASON,
        _text("reason_aptitude", "why A90 and U90-10 are NULL"),
        _SIGNATURE,
    ),
    _MODEL_KEY,
)
DEGRADATION_BY_TASK = TableSpec(
    "degradation_by_task",
    "A setting against FULL, per task.",
    (
        *_CELL,
        Column("full_condition", "json", "condition of the FULL cell", nullable=True),
        _count("n_target", "target N"),
        _count("full_n_target", "target N of FULL", True),
        _count("n_common", "instructions scored in both"),
        _points("P", "P of the setting"),
        _points("full_P", "P of FULL"),
        Column("ratio", "float", "setting P / FULL P, percent", nullable=True, minimum=0),
        *_DROP,
        _number("A90_difference", "setting A90 - FULL A90, points, at equal N"),
        _number("U90_10_difference", "setting U90-10 - FULL U90-10, points, at equal N"),
        _number("mean_attempts", "mean number of attempts of the setting"),
        _points("full_pass_at_k", "FULL pass@k at that many attempts, rounded; binary tasks"),
        _text("differs", "signature fields that differ and are not under study"),
        _REASON,
        _SIGNATURE,
    ),
    _CELL_KEY,
)
DEGRADATION = TableSpec(
    "degradation",
    "A setting against FULL, mean over tasks.",
    (
        *_OVER_TASKS,
        _count("n_tasks", "tasks"),
        Column("tasks", "string", "their names"),
        _text("left_out", "tasks left out of the ratio because FULL P < 5"),
        _count("n_common", "instructions scored in both settings"),
        _count("n_target", "target N; NULL when the tasks differ", True),
        Column("ratio", "float", "mean over tasks of setting P / FULL P, percent", nullable=True, minimum=0),
        _number("ratio_low", "lower end of the ratio, 95%"),
        _number("ratio_high", "upper end of the ratio, 95%"),
        _text("ratio_method", "method of the interval of the ratio"),
        *_DROP,
        _share("p_holm", "p adjusted by Holm over the experiment's rows"),
        _REASON,
        _SIGNATURE,
    ),
    _MODEL_KEY,
)
MISSING = TableSpec(
    "missing",
    "Planned conversations without a score, by reason.",
    (
        *_CELL,
        Column("reason", "string", "why there is no score"),
        _count("n", "conversations"),
        _count("n_planned", "of the cell"),
    ),
    (*_CELL_KEY, "reason"),
)
ATTEMPTS = TableSpec(
    "attempts",
    "Attempts and turns per cell, over scored conversations.",
    (
        *_CELL,
        _count("n_conversations", "scored conversations"),
        _number("mean_attempts", "mean number of attempts"),
        _number("mean_turns", "mean number of turns"),
        _share("no_attempt", "share without any attempt"),
        _share("solved", "share solved at some turn"),
        _number("mean_solved_at_turn", "mean turn of the first solving attempt"),
        _share("solved_early", "share solved before the last shard was out"),
    ),
    _CELL_KEY,
)
FLAGS = TableSpec(
    "flags",
    "Flags per cell.",
    (
        *_CELL,
        Column("flag", "string", "flag"),
        _count("n", "conversations that carry it"),
        _count("n_conversations", "conversations of the cell"),
        _share("share", "n / n_conversations"),
    ),
    (*_CELL_KEY, "flag"),
)
PASS_AT_K = TableSpec(
    "pass_at_k",
    "pass@k and pass^k per cell of a binary task.",
    (
        *_CELL,
        _count("k", "runs drawn"),
        _count("n_instructions", "instructions"),
        _share("pass_at_k", "at least one of k solved"),
        _share("pass_hat_k", "all of k solved"),
    ),
    (*_CELL_KEY, "k"),
)

METRIC_TABLES = tuple(
    register(spec)
    for spec in (
        BY_INSTRUCTION,
        BY_TASK,
        BY_MODEL,
        DEGRADATION_BY_TASK,
        DEGRADATION,
        MISSING,
        ATTEMPTS,
        FLAGS,
        PASS_AT_K,
    )
)
"""Every table ``build_metrics`` makes, in the order of making."""
