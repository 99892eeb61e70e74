-- degradation_by_task: one row per experiment, condition, task, model and setting other than FULL.
-- ratio: setting P / FULL P in percent, NULL where FULL P < 5. drop_points: setting P - FULL P, with the interval of the
-- paired instruction means and the two-sided sign-flip p over n_common instructions.
-- Where FULL holds more instructions (items without shards), full_P and all that follows are over n_common of them.
-- full_pass_at_k: FULL pass@k at k = the setting's mean number of attempts, rounded: what the oracle stop alone may add.
-- differs: signature fields that differ although they are not under study; then nothing is compared.
CREATE OR REPLACE TABLE degradation_by_task AS
WITH attempts_of AS (
    SELECT experiment, condition, task, model, setting, avg(n_attempts) AS mean_attempts
    FROM runs
    WHERE n_attempts IS NOT NULL
    GROUP BY ALL
),
oracle AS (
    SELECT
        p.experiment, p.condition, p.task, p.model, p.setting,
        100 * avg(w.any_solved) AS full_pass_at_k
    FROM setting_pairs AS p
    JOIN attempts_of AS a USING (experiment, condition, task, model, setting)
    JOIN reliability_by_instruction AS f
        ON f.setting = 'FULL' AND f.experiment = p.experiment AND f.condition = p.full_condition
        AND f.task = p.task AND f.model = p.model AND f.reaches AND f.binary_task
    LEFT JOIN reliability_by_instruction AS s
        ON s.experiment = p.experiment AND s.condition = p.condition AND s.task = p.task AND s.model = p.model
        AND s.setting = p.setting AND s.instruction_id = f.instruction_id
    JOIN subset_solved AS w
        ON w.n_scored = f.n_scored AND w.n_solved = f.n_solved
        AND w.k = greatest(1, least(f.n_target, CAST(round(a.mean_attempts) AS BIGINT)))
    WHERE NOT p.within OR s.instruction_id IS NOT NULL
    GROUP BY ALL
)
SELECT
    p.experiment, p.condition, p.task, p.model, p.setting, p.full_condition,
    p.n_target, p.full_n_target, t.n_common, p.full_n_instructions,
    p.P, p.full_P,
    CASE WHEN t.reason IS NULL AND p.full_P >= 5 THEN 100 * p.P / p.full_P END AS ratio,
    CASE WHEN t.reason IS NULL THEN p.P - p.full_P END AS drop_points,
    t.drop_low, t.drop_high, t.drop_method, t.p_value,
    CASE WHEN t.reason IS NULL AND p.n_target = p.full_n_target THEN p.A90 - p.full_A90 END AS A90_difference,
    CASE WHEN t.reason IS NULL AND p.n_target = p.full_n_target THEN p.U90_10 - p.full_U90_10 END AS U90_10_difference,
    a.mean_attempts,
    o.full_pass_at_k,
    t.differs,
    t.reason,
    p.signature
FROM setting_pairs AS p
JOIN pair_tests AS t USING (experiment, condition, task, model, setting)
LEFT JOIN attempts_of AS a USING (experiment, condition, task, model, setting)
LEFT JOIN oracle AS o USING (experiment, condition, task, model, setting)
ORDER BY p.experiment, p.condition, p.task, p.model, p.setting;
