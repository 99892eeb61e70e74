-- missing: one row per experiment, condition, task, model, setting and reason.
-- n: planned conversations without a score for this reason; n_planned: all of the cell. Without a row in scores the
-- reason is why no run would hold it (context, no_reference, no_shards), else not_run. Conversations that an item
-- without shards cannot have (no_shards) are counted here, in n_planned too, and in no other table.
CREATE OR REPLACE TABLE missing AS
WITH wanted AS (
    SELECT experiment, condition, task, model, setting, score, missing_reason AS reason FROM runs
    UNION ALL
    SELECT experiment, condition, task, model, setting, NULL, unanswerable FROM planned WHERE unanswerable = 'no_shards'
),
sizes AS (
    SELECT experiment, condition, task, model, setting, count(*) AS n_planned FROM wanted GROUP BY ALL
)
SELECT w.experiment, w.condition, w.task, w.model, w.setting, w.reason, count(*) AS n, s.n_planned
FROM wanted AS w
JOIN sizes AS s USING (experiment, condition, task, model, setting)
WHERE w.score IS NULL
GROUP BY ALL
ORDER BY w.experiment, w.condition, w.task, w.model, w.setting, w.reason;
