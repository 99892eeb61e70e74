-- setting_pairs (helper table): one row per cell of another setting than FULL, with the FULL cell it is compared with:
-- same experiment, task and model, and of the FULL conditions contained in the cell's condition the most specific one.
CREATE OR REPLACE TEMP TABLE setting_pairs AS
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
) = 1;
