-- cell_signatures (helper table): one row per cell.
-- signatures: number of different signatures among its scored conversations (planned ones where none is scored);
-- approvals: how many instructions have which approval, as text.
CREATE OR REPLACE TEMP TABLE cell_signatures AS
WITH signed AS (
    SELECT
        experiment, condition, task, model, setting,
        coalesce(count(DISTINCT scored_signature), 0) AS n_scored_signatures,
        count(DISTINCT planned_signature) AS n_planned_signatures,
        coalesce(min(scored_signature), min(planned_signature)) AS signature
    FROM runs
    GROUP BY ALL
),
approved AS (
    SELECT experiment, condition, task, model, setting, approval, count(DISTINCT instruction_id) AS n
    FROM runs
    WHERE approval IS NOT NULL AND approval != ''
    GROUP BY ALL
),
mixed AS (
    SELECT experiment, condition, task, model, setting, string_agg(approval || '=' || n, ',' ORDER BY approval) AS approvals
    FROM approved
    GROUP BY ALL
)
SELECT
    s.experiment, s.condition, s.task, s.model, s.setting,
    CASE WHEN s.n_scored_signatures > 0 THEN s.n_scored_signatures ELSE s.n_planned_signatures END AS signatures,
    s.signature,
    m.approvals
FROM signed AS s
LEFT JOIN mixed AS m USING (experiment, condition, task, model, setting);
