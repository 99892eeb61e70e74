-- degradation: one row per experiment, condition, model and setting other than FULL.
-- ratio: mean over tasks of setting P / FULL P in percent; tasks with FULL P < 5 are left out of it and named.
-- drop_points: mean over all tasks of setting P - FULL P. Both NULL with reason as soon as one task cannot be compared.
-- Intervals: paired bootstrap within task (ratio), rules of ci_items on paired differences (drop).
-- p_value: sign-flip permutation; p_holm: adjusted over all rows of the experiment.
CREATE OR REPLACE TABLE degradation AS
WITH over_tasks AS (
    SELECT
        experiment, condition, model, setting,
        count(*) AS n_tasks,
        string_agg(task, ', ' ORDER BY task) AS tasks,
        string_agg(task, ', ' ORDER BY task) FILTER (WHERE full_P < 5) AS left_out,
        CAST(sum(n_common) AS BIGINT) AS n_common,
        CASE WHEN min(n_target) = max(n_target) THEN min(n_target) END AS n_target,
        avg(ratio) AS ratio,
        avg(drop_points) AS drop_points,
        string_agg(task || ': ' || reason, '; ' ORDER BY task) AS reason,
        'cells:' || left(sha256(string_agg(task || signature, chr(10) ORDER BY task)), 12) AS signature
    FROM degradation_by_task
    GROUP BY experiment, condition, model, setting
)
SELECT
    o.experiment, o.condition, o.model, o.setting, o.n_tasks, o.tasks, o.left_out, o.n_common, o.n_target,
    CASE WHEN o.reason IS NULL THEN o.ratio END AS ratio,
    i.ratio_low, i.ratio_high, i.ratio_method,
    CASE WHEN o.reason IS NULL THEN o.drop_points END AS drop_points,
    i.drop_low, i.drop_high, i.drop_method, i.p_value, i.p_holm,
    o.reason,
    o.signature
FROM over_tasks AS o
LEFT JOIN degradation_intervals AS i USING (experiment, condition, model, setting)
ORDER BY o.experiment, o.condition, o.model, o.setting;
