-- flags: one row per experiment, condition, task, model, setting and flag.
-- n: conversations that carry the flag at least once; share: of the conversations that have a row in scores.
CREATE OR REPLACE TABLE flags AS
WITH held AS (
    SELECT experiment, condition, task, model, setting, list_distinct(CAST(CAST(flags AS JSON) AS VARCHAR[])) AS held
    FROM runs
    WHERE flags IS NOT NULL
),
sizes AS (SELECT experiment, condition, task, model, setting, count(*) AS n_conversations FROM held GROUP BY ALL),
single AS (SELECT experiment, condition, task, model, setting, unnest(held) AS flag FROM held)
SELECT
    f.experiment, f.condition, f.task, f.model, f.setting, f.flag,
    count(*) AS n,
    s.n_conversations,
    count(*) / CAST(s.n_conversations AS DOUBLE) AS share
FROM single AS f
JOIN sizes AS s USING (experiment, condition, task, model, setting)
GROUP BY f.experiment, f.condition, f.task, f.model, f.setting, f.flag, s.n_conversations
ORDER BY f.experiment, f.condition, f.task, f.model, f.setting, f.flag;
