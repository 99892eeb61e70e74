-- pass_at_k: one row per cell (experiment, condition, task, model, setting) of a binary task and k = 1..N.
-- Over the instructions that reach N in every cell they are compared with; shares 0..1.
-- pass_at_k: at least one of k runs solved; pass_hat_k: all of k runs solved.
CREATE OR REPLACE TABLE pass_at_k AS
SELECT
    i.experiment, i.condition, i.task, i.model, i.setting, w.k,
    count(*) AS n_instructions,
    avg(w.any_solved) AS pass_at_k,
    avg(w.all_solved) AS pass_hat_k
FROM reliability_by_instruction AS i
JOIN reliability_by_task AS t USING (experiment, condition, task, model, setting)
JOIN subset_solved AS w ON w.n_scored = i.n_scored AND w.n_solved = i.n_solved AND w.k <= i.n_target
WHERE i.compared AND i.binary_task AND t.reason_aptitude IS NULL
GROUP BY ALL
ORDER BY i.experiment, i.condition, i.task, i.model, i.setting, w.k;
