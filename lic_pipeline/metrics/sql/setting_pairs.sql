-- setting_pairs (helper table): one row per cell of another setting than FULL, with the FULL cell it is compared with:
-- same experiment, task and model, and of the FULL conditions contained in the cell's condition the most specific one.
-- Where FULL holds more instructions than the setting (some have no shards), its values are those of the setting's
-- instructions alone, and within says that the sets of items may differ.
CREATE OR REPLACE TEMP TABLE setting_pairs AS
WITH matched AS (
    SELECT
        s.experiment, s.condition, s.task, s.model, s.setting,
        f.condition AS full_condition,
        s.P AS P, f.P AS full_P, s.A90 AS A90, f.A90 AS full_A90, s.U90_10 AS U90_10, f.U90_10 AS full_U90_10,
        s.n_target, f.n_target AS full_n_target,
        s.n_instructions, f.n_instructions AS full_n_instructions,
        s.signature, f.signature AS full_signature,
        CASE WHEN f.setting IS NULL THEN 'no FULL cell'
             WHEN s.reason IS NOT NULL THEN s.reason
             WHEN f.reason IS NOT NULL THEN 'FULL: ' || f.reason END AS reason
    FROM reliability_by_task AS s
    LEFT JOIN reliability_by_task AS f
        ON f.setting = 'FULL' AND f.experiment = s.experiment AND f.task = s.task AND f.model = s.model
        AND json_contains(CAST(s.condition AS JSON), CAST(f.condition AS JSON))
    WHERE s.setting != 'FULL'
    QUALIFY row_number() OVER (
        PARTITION BY s.experiment, s.condition, s.task, s.model, s.setting
        ORDER BY len(json_keys(CAST(f.condition AS JSON))) DESC NULLS LAST, f.condition
    ) = 1
),
shared AS (
    SELECT
        m.experiment, m.condition, m.task, m.model, m.setting,
        count(*) AS n,
        avg(f.P) AS P,
        avg(f.A90) FILTER (WHERE f.compared) AS A90,
        avg(f.U90_10) FILTER (WHERE f.compared) AS U90_10
    FROM matched AS m
    JOIN reliability_by_instruction AS s USING (experiment, condition, task, model, setting)
    JOIN reliability_by_instruction AS f
        ON f.setting = 'FULL' AND f.experiment = m.experiment AND f.condition = m.full_condition
        AND f.task = m.task AND f.model = m.model AND f.instruction_id = s.instruction_id
    WHERE m.n_instructions < m.full_n_instructions
    GROUP BY ALL
)
SELECT
    m.* REPLACE (
        CASE WHEN c.n = m.n_instructions AND m.full_P IS NOT NULL THEN c.P ELSE m.full_P END AS full_P,
        CASE WHEN c.n = m.n_instructions AND m.full_A90 IS NOT NULL THEN c.A90 ELSE m.full_A90 END AS full_A90,
        CASE WHEN c.n = m.n_instructions AND m.full_U90_10 IS NOT NULL THEN c.U90_10 ELSE m.full_U90_10 END AS full_U90_10
    ),
    coalesce(c.n = m.n_instructions, false) AS within
FROM matched AS m
LEFT JOIN shared AS c USING (experiment, condition, task, model, setting);
