"""The specs of the metric tables. What each value means is written once, in the head of its file in ``sql/``."""

from __future__ import annotations

from lic_pipeline.metrics.simulator_health import EVENTS
from lic_pipeline.metrics.table_columns import (
    APTITUDE,
    BOUNDS,
    BOUNDS_DIFFER,
    CELL,
    CELL_KEY,
    COUNTS,
    DROP,
    KINDS,
    MODEL_KEY,
    OVER_TASKS,
    REASON,
    SIGNATURE,
    count,
    interval,
    number,
    points,
    share,
    text,
    yes,
)
from lic_pipeline.tables import Column, TableSpec, register

BY_INSTRUCTION = TableSpec(
    "reliability_by_instruction",
    "P, A90, U90-10 per instruction of a cell.",
    (
        *CELL,
        Column("instruction_id", "string", "instruction"),
        *COUNTS,
        count("n_solved", "runs at 100"),
        count("n_target", "target N"),
        yes("reaches", "at least N runs scored"),
        yes("compared", "reaches N in every usable cell it is compared with; enters A90 and U90-10"),
        points("P", "mean over scored runs"),
        *BOUNDS,
        points("A90", "90th percentile over N runs"),
        points("U90_10", "90th - 10th percentile over N runs"),
        points("R", "100 - U90-10"),
        number("variance", "variance of one run (n-1), squared points"),
        share("always", "share of N-subsets with every run solved"),
        share("never", "share of N-subsets with no run solved"),
        yes("binary_task", "every score of the task in the experiment is 0 or 100"),
        yes("early_solvable", "solved before the last shard in over half of the solved runs of a model"),
        *KINDS,
    ),
    (*CELL_KEY, "instruction_id"),
)
BY_TASK = TableSpec(
    "reliability_by_task",
    "P, A90, U90-10 per cell with intervals, bounds and reasons.",
    (
        *CELL,
        count("n_instructions", "instructions planned"),
        count("n_compared", "instructions in A90 and U90-10"),
        count("n_target", "target N"),
        *COUNTS,
        count("n_missing", "conversations without a score"),
        points("P", "performance: mean over instructions"),
        *interval("P", "P over instructions like these"),
        text("P_method", "method of the interval of P"),
        *interval("P_runs", "P if the same instructions were run again"),
        *BOUNDS,
        BOUNDS_DIFFER,
        *APTITUDE,
        yes("binary_task", "every score of the task in the experiment is 0 or 100"),
        share("always", "share of instructions solved in all N runs"),
        Column(
            "sometimes", "float", "share of instructions solved in some runs", nullable=True, minimum=-1e-9, maximum=1
        ),
        share("never", "share of instructions never solved"),
        points("sd_within", "SD of one run within its instruction, n-1"),
        *KINDS,
        yes("few_instructions", "fewer than 10 instructions"),
        REASON,
        text("reason_aptitude", "why A90 and U90-10 are NULL"),
        SIGNATURE,
    ),
    CELL_KEY,
)
BY_MODEL = TableSpec(
    "reliability_by_model",
    "Unweighted means over tasks per model and setting.",
    (
        *OVER_TASKS,
        count("n_tasks", "tasks"),
        Column("tasks", "string", "their names"),
        count("n_instructions", "instructions planned over all tasks"),
        count("n_target", "target N; NULL when the tasks differ", True),
        *COUNTS,
        count("n_missing", "conversations without a score"),
        points("P", "performance: mean over tasks"),
        *interval("P", "P over instructions like these"),
        text("P_method", "method of the interval of P"),
        *BOUNDS,
        BOUNDS_DIFFER,
        *APTITUDE,
        REASON,
        text("reason_aptitude", "why A90 and U90-10 are NULL"),
        SIGNATURE,
    ),
    MODEL_KEY,
)
DEGRADATION_BY_TASK = TableSpec(
    "degradation_by_task",
    "A setting against FULL, per task.",
    (
        *CELL,
        Column("full_condition", "json", "condition of the FULL cell", nullable=True),
        count("n_target", "target N"),
        count("full_n_target", "target N of FULL", True),
        count("n_common", "instructions scored in both"),
        count("full_n_instructions", "instructions of FULL; more than the setting's where some have no shards", True),
        points("P", "P of the setting"),
        points("full_P", "P of FULL"),
        Column("ratio", "float", "setting P / FULL P, percent", nullable=True, minimum=0),
        *DROP,
        number("A90_difference", "setting A90 - FULL A90, points, at equal N"),
        number("U90_10_difference", "setting U90-10 - FULL U90-10, points, at equal N"),
        number("mean_attempts", "mean number of attempts of the setting"),
        points("full_pass_at_k", "FULL pass@k at that many attempts, rounded; binary tasks"),
        text("differs", "signature fields that differ and are not under study"),
        REASON,
        SIGNATURE,
    ),
    CELL_KEY,
)
DEGRADATION = TableSpec(
    "degradation",
    "A setting against FULL, mean over tasks.",
    (
        *OVER_TASKS,
        count("n_tasks", "tasks"),
        Column("tasks", "string", "their names"),
        text("left_out", "tasks left out of the ratio because FULL P < 5"),
        count("n_common", "instructions scored in both settings"),
        count("n_target", "target N; NULL when the tasks differ", True),
        Column("ratio", "float", "mean over tasks of setting P / FULL P, percent", nullable=True, minimum=0),
        number("ratio_low", "lower end of the ratio, 95%"),
        number("ratio_high", "upper end of the ratio, 95%"),
        text("ratio_method", "method of the interval of the ratio"),
        *DROP,
        share("p_holm", "p adjusted by Holm over the experiment's rows"),
        REASON,
        SIGNATURE,
    ),
    MODEL_KEY,
)
MISSING = TableSpec(
    "missing",
    "Planned conversations without a score, by reason.",
    (
        *CELL,
        Column("reason", "string", "why there is no score"),
        count("n", "conversations"),
        count("n_planned", "of the cell"),
    ),
    (*CELL_KEY, "reason"),
)
ATTEMPTS = TableSpec(
    "attempts",
    "Attempts and turns per cell, over scored conversations.",
    (
        *CELL,
        count("n_conversations", "scored conversations"),
        number("mean_attempts", "mean number of attempts"),
        number("mean_turns", "mean number of turns"),
        share("no_attempt", "share without any attempt"),
        share("solved", "share solved at some turn"),
        number("mean_solved_at_turn", "mean turn of the first solving attempt"),
        share("solved_early", "share solved before the last shard was out"),
    ),
    CELL_KEY,
)
FLAGS = TableSpec(
    "flags",
    "Flags per cell.",
    (
        *CELL,
        Column("flag", "string", "flag"),
        count("n", "conversations that carry it"),
        count("n_conversations", "conversations of the cell"),
        share("share", "n / n_conversations"),
    ),
    (*CELL_KEY, "flag"),
)
PASS_AT_K = TableSpec(
    "pass_at_k",
    "pass@k and pass^k per cell of a binary task.",
    (
        *CELL,
        count("k", "runs drawn"),
        count("n_instructions", "instructions"),
        share("pass_at_k", "at least one of k solved"),
        share("pass_hat_k", "all of k solved"),
    ),
    (*CELL_KEY, "k"),
)
SIMULATOR_HEALTH = TableSpec(
    "simulator_health",
    "What simulated users, classifiers and extractors did per cell.",
    (
        *CELL,
        count("n_conversations", "planned conversations that ended by themselves"),
        *EVENTS,
        share("user_flawed_share", "user_flawed / user_turns"),
        share("user_fallback_share", "user_fallback / user_turns"),
        share("label_disagreement_share", "label_disagreements / replies"),
        share("extractor_failed_share", "extractor_failed / extractor_asked"),
        share("truncated_share", "truncated / replies"),
        share("flawed_conversation_share", "flawed_conversations / n_conversations"),
        text("over", "components over their limit"),
    ),
    CELL_KEY,
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
        SIMULATOR_HEALTH,
    )
)
"""Every table ``build_metrics`` makes, in the order of making."""
