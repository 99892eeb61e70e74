-- reliability_by_instruction: one row per experiment, condition, task, model, setting and instruction.
-- P: mean over scored runs. P_if_missing_0 / _100: the same with missing runs counted as 0 / as 100.
-- A90, U90_10: over exactly n_target runs; with more runs the average over all subsets of n_target runs
-- (percentile_weights hold the weight of each sorted run); with fewer NULL.
-- favg and fsum are the compensated sums: rows arrive in nobody's order, and plain sums of floats depend on it.
-- reaches: at least n_target runs are scored. compared: and the same holds in every other cell of this task and model
-- in which at least 90% of the instructions reach their target; only compared instructions enter A90 and U90_10.
-- always / never: share of n_target-subsets in which every / no run is solved; NULL for tasks with partial scores.
-- early_solvable: solved before the last shard in more than half of the solved runs of any model.
CREATE OR REPLACE TABLE reliability_by_instruction AS
WITH by_instruction AS (
    SELECT
        experiment, condition, task, model, setting, instruction_id,
        favg(score) AS P,
        fsum(coalesce(score, 0)) / count(*) AS P_if_missing_0,
        fsum(coalesce(score, 100)) / count(*) AS P_if_missing_100,
        var_samp(score) AS variance,
        quantile_cont(score, 0.9) AS plain_90,
        quantile_cont(score, 0.1) AS plain_10,
        favg(score_max) AS score_max,
        favg(score_last) AS score_last,
        favg(score_first) AS score_first,
        favg(score_full_info) AS score_full_info,
        count(score_full_info) AS n_full_info,
        favg(score_cumulative) AS score_cumulative,
        favg(score_reference) AS score_reference,
        count(*) FILTER (WHERE score = 100 AND solved_before_last_shard) AS n_solved_early
    FROM runs
    GROUP BY ALL
),
ranked AS (
    SELECT
        r.experiment, r.condition, r.task, r.model, r.setting, r.instruction_id, r.score, i.n_scored, i.n_target,
        row_number() OVER (
            PARTITION BY r.experiment, r.condition, r.task, r.model, r.setting, r.instruction_id ORDER BY r.score
        ) AS position
    FROM runs AS r
    JOIN instruction_runs AS i USING (experiment, condition, task, model, setting, instruction_id)
    WHERE r.score IS NOT NULL AND i.n_scored > i.n_target
),
subset_average AS (
    SELECT
        experiment, condition, task, model, setting, instruction_id,
        fsum(score * weight_90) AS subset_90,
        fsum(score * weight_10) AS subset_10
    FROM ranked
    JOIN percentile_weights USING (n_scored, n_target, position)
    GROUP BY ALL
),
judged AS (
    SELECT
        i.*,
        i.n_scored >= i.n_target AS reaches,
        100 * count(*) FILTER (WHERE i.n_scored >= i.n_target) OVER cell >= 90 * count(*) OVER cell AS cell_usable
    FROM instruction_runs AS i
    WINDOW cell AS (PARTITION BY i.experiment, i.condition, i.task, i.model, i.setting)
),
compared AS (
    SELECT
        *,
        reaches AND NOT bool_or(cell_usable AND NOT reaches) OVER (
            PARTITION BY experiment, task, model, instruction_id
        ) AS compared
    FROM judged
),
task_kinds AS (
    SELECT experiment, task, bool_and(score = 0 OR score = 100) AS binary_task FROM runs GROUP BY ALL
),
early AS (
    SELECT experiment, task, instruction_id, bool_or(2 * n_early > n_solved) AS early_solvable
    FROM (
        SELECT
            b.experiment, b.task, b.instruction_id, b.model,
            sum(b.n_solved_early) AS n_early,
            sum(i.n_solved) FILTER (WHERE i.setting NOT IN ('FULL', 'CONCAT', 'SHUFFLE-CONCAT')) AS n_solved
        FROM by_instruction AS b
        JOIN instruction_runs AS i USING (experiment, condition, task, model, setting, instruction_id)
        GROUP BY ALL
    )
    GROUP BY ALL
)
SELECT
    c.experiment, c.condition, c.task, c.model, c.setting, c.instruction_id,
    c.n_planned, c.n_scored, c.n_solved, c.n_target, c.reaches, c.compared,
    b.P, b.P_if_missing_0, b.P_if_missing_100,
    CASE WHEN c.n_scored = c.n_target THEN b.plain_90 WHEN c.reaches THEN s.subset_90 END AS A90,
    CASE WHEN c.n_scored = c.n_target THEN b.plain_90 - b.plain_10
         WHEN c.reaches THEN s.subset_90 - s.subset_10 END AS U90_10,
    CASE WHEN c.n_scored = c.n_target THEN 100 - (b.plain_90 - b.plain_10)
         WHEN c.reaches THEN 100 - (s.subset_90 - s.subset_10) END AS R,
    b.variance,
    CASE WHEN k.binary_task AND c.reaches THEN w.all_solved END AS always,
    CASE WHEN k.binary_task AND c.reaches THEN 1 - w.any_solved END AS never,
    coalesce(k.binary_task, false) AS binary_task,
    coalesce(e.early_solvable, false) AS early_solvable,
    b.score_max, b.score_last, b.score_first, b.score_full_info, b.n_full_info, b.score_cumulative, b.score_reference
FROM compared AS c
JOIN by_instruction AS b USING (experiment, condition, task, model, setting, instruction_id)
LEFT JOIN subset_average AS s USING (experiment, condition, task, model, setting, instruction_id)
LEFT JOIN task_kinds AS k USING (experiment, task)
LEFT JOIN early AS e USING (experiment, task, instruction_id)
LEFT JOIN subset_solved AS w ON w.n_scored = c.n_scored AND w.n_solved = c.n_solved AND w.k = c.n_target
ORDER BY c.experiment, c.condition, c.task, c.model, c.setting, c.instruction_id;
