-- attempts: one row per cell = experiment, condition, task, model and setting, over its scored conversations.
-- no_attempt, solved, solved_early: shares of conversations (0..1); solved_early = before the last shard was out.
CREATE OR REPLACE TABLE attempts AS
SELECT
    experiment, condition, task, model, setting,
    count(*) AS n_conversations,
    avg(CAST(n_attempts AS DOUBLE)) AS mean_attempts,
    avg(CAST(n_turns AS DOUBLE)) AS mean_turns,
    avg(CASE WHEN n_attempts = 0 THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END) AS no_attempt,
    avg(CASE WHEN solved_at_turn IS NOT NULL THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END) AS solved,
    avg(CAST(solved_at_turn AS DOUBLE)) AS mean_solved_at_turn,
    avg(CASE WHEN coalesce(solved_before_last_shard, false) THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END) AS solved_early
FROM runs
WHERE score IS NOT NULL
GROUP BY ALL
ORDER BY experiment, condition, task, model, setting;
