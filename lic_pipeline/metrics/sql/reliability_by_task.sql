-- reliability_by_task: one row per cell = experiment, condition, task, model and setting.
-- P, A90, U90_10: means over instructions; R = 100 - U90_10. NULL with reason when under 95% of the planned
-- conversations are scored or their signatures differ; A90 and U90_10 also when under 90% of the instructions reach N
-- (reason_aptitude). n_compared: instructions that entered A90 and U90_10.
-- *_low, *_high, *_method: 95% intervals over instructions (helper table task_intervals); P_runs_*: the same instructions run again.
-- always, sometimes, never: shares of instructions (binary tasks). sd_within: SD of one run within its instruction.
CREATE OR REPLACE TABLE reliability_by_task AS
WITH summed AS (
    SELECT
        experiment, condition, task, model, setting,
        count(*) AS n_instructions,
        count(*) FILTER (WHERE compared) AS n_compared,
        count(*) FILTER (WHERE reaches) AS n_reaching,
        CAST(min(n_target) AS BIGINT) AS n_target,
        CAST(sum(n_planned) AS BIGINT) AS n_planned,
        CAST(sum(n_scored) AS BIGINT) AS n_scored,
        bool_and(binary_task) AS binary_task,
        avg(P) AS P,
        avg(P_if_missing_0) AS P_if_missing_0,
        avg(P_if_missing_100) AS P_if_missing_100,
        avg(A90) FILTER (WHERE compared) AS A90,
        avg(U90_10) FILTER (WHERE compared) AS U90_10,
        avg(always) FILTER (WHERE compared) AS always,
        avg(never) FILTER (WHERE compared) AS never,
        sqrt(avg(variance)) AS sd_within,
        avg(score_max) AS score_max,
        avg(score_last) AS score_last,
        avg(score_first) AS score_first,
        avg(score_full_info) AS score_full_info,
        CAST(sum(n_full_info) AS BIGINT) AS n_full_info,
        avg(score_cumulative) AS score_cumulative,
        avg(score_reference) AS score_reference
    FROM reliability_by_instruction
    GROUP BY ALL
),
ruled AS (
    SELECT
        s.*,
        g.approvals,
        concat_ws('|', nullif(g.signature, ''), 'n:' || s.n_target, 'pct:linear',
                  'approval:' || g.approvals) AS signature,
        CASE WHEN g.signatures > 1 THEN 'signatures differ'
             WHEN s.n_scored = 0 THEN 'no conversation scored'
             WHEN 100 * s.n_scored < 95 * s.n_planned THEN
                 'fewer than 95% of planned conversations scored (' || s.n_scored || ' of ' || s.n_planned || ')'
        END AS reason
    FROM summed AS s
    JOIN cell_signatures AS g USING (experiment, condition, task, model, setting)
),
decided AS (
    SELECT
        *,
        CASE WHEN reason IS NOT NULL THEN reason
             WHEN 100 * n_reaching < 90 * n_instructions THEN
                 'fewer than 90% of instructions reach N=' || n_target || ' (' || n_reaching || ' of ' || n_instructions || ')'
             WHEN n_compared = 0 THEN 'no instruction reaches N in every cell it is compared with'
        END AS reason_aptitude
    FROM ruled
)
SELECT
    d.experiment, d.condition, d.task, d.model, d.setting,
    d.n_instructions, d.n_compared, d.n_target, d.n_planned, d.n_scored, d.n_planned - d.n_scored AS n_missing,
    CASE WHEN d.reason IS NULL THEN d.P END AS P,
    CASE WHEN d.reason IS NULL THEN i.P_low END AS P_low,
    CASE WHEN d.reason IS NULL THEN i.P_high END AS P_high,
    CASE WHEN d.reason IS NULL THEN i.P_method END AS P_method,
    CASE WHEN d.reason IS NULL THEN i.P_runs_low END AS P_runs_low,
    CASE WHEN d.reason IS NULL THEN i.P_runs_high END AS P_runs_high,
    d.P_if_missing_0,
    d.P_if_missing_100,
    d.P_if_missing_100 - d.P_if_missing_0 > 2 AS bounds_differ,
    CASE WHEN d.reason_aptitude IS NULL THEN d.A90 END AS A90,
    CASE WHEN d.reason_aptitude IS NULL THEN i.A90_low END AS A90_low,
    CASE WHEN d.reason_aptitude IS NULL THEN i.A90_high END AS A90_high,
    CASE WHEN d.reason_aptitude IS NULL THEN d.U90_10 END AS U90_10,
    CASE WHEN d.reason_aptitude IS NULL THEN i.U90_10_low END AS U90_10_low,
    CASE WHEN d.reason_aptitude IS NULL THEN i.U90_10_high END AS U90_10_high,
    CASE WHEN d.reason_aptitude IS NULL THEN i.aptitude_method END AS aptitude_method,
    CASE WHEN d.reason_aptitude IS NULL THEN 100 - d.U90_10 END AS R,
    d.binary_task,
    CASE WHEN d.reason_aptitude IS NULL THEN d.always END AS always,
    CASE WHEN d.reason_aptitude IS NULL THEN greatest(0, 1 - d.always - d.never) END AS sometimes,
    CASE WHEN d.reason_aptitude IS NULL THEN d.never END AS never,
    CASE WHEN d.reason IS NULL THEN d.sd_within END AS sd_within,
    CASE WHEN d.reason IS NULL THEN d.score_max END AS score_max,
    CASE WHEN d.reason IS NULL THEN d.score_last END AS score_last,
    CASE WHEN d.reason IS NULL THEN d.score_first END AS score_first,
    CASE WHEN d.reason IS NULL THEN d.score_full_info END AS score_full_info,
    d.n_full_info,
    CASE WHEN d.reason IS NULL THEN d.score_cumulative END AS score_cumulative,
    CASE WHEN d.reason IS NULL THEN d.score_reference END AS score_reference,
    d.n_instructions < 10 AS few_instructions,
    d.reason,
    d.reason_aptitude,
    d.signature
FROM decided AS d
LEFT JOIN task_intervals AS i USING (experiment, condition, task, model, setting)
ORDER BY d.experiment, d.condition, d.task, d.model, d.setting;
