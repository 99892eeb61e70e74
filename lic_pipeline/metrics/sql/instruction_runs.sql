-- instruction_runs (helper table): one row per instruction of a cell.
-- n_target: the N of the experiment if the caller gave one, else the smallest number of runs planned for any
-- instruction of the cell (adaptive rounds add runs to some instructions only).
CREATE OR REPLACE TEMP TABLE instruction_runs AS
WITH counted AS (
    SELECT
        experiment, condition, task, model, setting, instruction_id,
        count(*) AS n_planned,
        count(score) AS n_scored,
        count(*) FILTER (WHERE score = 100) AS n_solved
    FROM runs
    GROUP BY ALL
)
SELECT
    c.*,
    coalesce(t.n_target, min(c.n_planned) OVER (
        PARTITION BY c.experiment, c.condition, c.task, c.model, c.setting
    )) AS n_target
FROM counted AS c
LEFT JOIN experiment_targets AS t ON t.experiment = c.experiment;
