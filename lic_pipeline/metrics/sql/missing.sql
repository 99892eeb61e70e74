-- missing: one row per experiment, condition, task, model, setting and reason.
-- n: planned conversations without a score for this reason; n_planned: all of the cell. Without a row in scores the
-- reason is why no run would hold it (context, no_reference), else not_run.
CREATE OR REPLACE TABLE missing AS
WITH sizes AS (
    SELECT experiment, condition, task, model, setting, count(*) AS n_planned FROM runs GROUP BY ALL
)
SELECT r.experiment, r.condition, r.task, r.model, r.setting, r.missing_reason AS reason, count(*) AS n, s.n_planned
FROM runs AS r
JOIN sizes AS s USING (experiment, condition, task, model, setting)
WHERE r.score IS NULL
GROUP BY ALL
ORDER BY r.experiment, r.condition, r.task, r.model, r.setting, reason;
