-- runs (helper table): one row per planned conversation, with its score where there is one.
-- What no setting but FULL can hold (no_shards) is no run of its cell: its instruction is in no such cell at all.
-- A score whose conversation is in no plan is not read: a smaller N replaces the plan, not the conversations.
-- Scores are cast to DOUBLE because quantile_cont on DECIMAL rounds to the column's scale.
CREATE OR REPLACE TEMP TABLE runs AS
SELECT
    p.experiment, p.condition, p.task, p.model, p.setting, p.instruction_id, p.run,
    CAST(s.score AS DOUBLE) AS score,
    CASE WHEN s.conversation_id IS NULL THEN coalesce(p.unanswerable, 'not_run')
         WHEN s.score IS NULL THEN coalesce(s.missing_reason, nullif(s.state, 'done'), 'unknown') END AS missing_reason,
    CAST(s.score_max AS DOUBLE) AS score_max,
    CAST(s.score_last AS DOUBLE) AS score_last,
    CAST(s.score_first AS DOUBLE) AS score_first,
    CAST(s.score_full_info AS DOUBLE) AS score_full_info,
    CAST(s.score_cumulative AS DOUBLE) AS score_cumulative,
    CAST(s.score_reference AS DOUBLE) AS score_reference,
    s.solved_at_turn, s.solved_before_last_shard, s.n_attempts, s.n_turns, s.flags, s.approval,
    s.signature AS scored_signature,
    p.signature AS planned_signature
FROM planned AS p
LEFT JOIN scores AS s ON s.experiment = p.experiment AND s.conversation_id = p.conversation_id
WHERE p.unanswerable IS DISTINCT FROM 'no_shards';
