-- reliability_by_model: one row per experiment, condition, model and setting.
-- Unweighted means over the tasks of the cell; NULL with reason as soon as one task's value is NULL, because a mean
-- over other tasks is another quantity. n_target NULL = the tasks have different N.
-- Intervals resample instructions within each task (helper table model_intervals).
CREATE OR REPLACE TABLE reliability_by_model AS
WITH over_tasks AS (
    SELECT
        experiment, condition, model, setting,
        count(*) AS n_tasks,
        string_agg(task, ', ' ORDER BY task) AS tasks,
        CAST(sum(n_instructions) AS BIGINT) AS n_instructions,
        CASE WHEN min(n_target) = max(n_target) THEN min(n_target) END AS n_target,
        CAST(sum(n_planned) AS BIGINT) AS n_planned,
        CAST(sum(n_scored) AS BIGINT) AS n_scored,
        CAST(sum(n_missing) AS BIGINT) AS n_missing,
        avg(P) AS P,
        avg(P_if_missing_0) AS P_if_missing_0,
        avg(P_if_missing_100) AS P_if_missing_100,
        avg(A90) AS A90,
        avg(U90_10) AS U90_10,
        string_agg(task || ': ' || reason, '; ' ORDER BY task) AS reason,
        string_agg(task || ': ' || reason_aptitude, '; ' ORDER BY task) AS reason_aptitude,
        'cells:' || left(sha256(string_agg(task || signature, chr(10) ORDER BY task)), 12) AS signature
    FROM reliability_by_task
    GROUP BY experiment, condition, model, setting
)
SELECT
    o.experiment, o.condition, o.model, o.setting, o.n_tasks, o.tasks, o.n_instructions, o.n_target,
    o.n_planned, o.n_scored, o.n_missing,
    CASE WHEN o.reason IS NULL THEN o.P END AS P,
    CASE WHEN o.reason IS NULL THEN i.P_low END AS P_low,
    CASE WHEN o.reason IS NULL THEN i.P_high END AS P_high,
    CASE WHEN o.reason IS NULL THEN i.P_method END AS P_method,
    o.P_if_missing_0,
    o.P_if_missing_100,
    o.P_if_missing_100 - o.P_if_missing_0 > 2 AS bounds_differ,
    CASE WHEN o.reason_aptitude IS NULL THEN o.A90 END AS A90,
    CASE WHEN o.reason_aptitude IS NULL THEN i.A90_low END AS A90_low,
    CASE WHEN o.reason_aptitude IS NULL THEN i.A90_high END AS A90_high,
    CASE WHEN o.reason_aptitude IS NULL THEN o.U90_10 END AS U90_10,
    CASE WHEN o.reason_aptitude IS NULL THEN i.U90_10_low END AS U90_10_low,
    CASE WHEN o.reason_aptitude IS NULL THEN i.U90_10_high END AS U90_10_high,
    CASE WHEN o.reason_aptitude IS NULL THEN i.aptitude_method END AS aptitude_method,
    CASE WHEN o.reason_aptitude IS NULL THEN 100 - o.U90_10 END AS R,
    o.reason,
    o.reason_aptitude,
    o.signature
FROM over_tasks AS o
LEFT JOIN model_intervals AS i USING (experiment, condition, model, setting)
ORDER BY o.experiment, o.condition, o.model, o.setting;
