-- simulator_health: one row per cell = experiment, condition, task, model and setting, over its planned conversations
-- that ended by themselves (scripted users and rules included; what no model was asked for counts 0).
-- Counts are sums over conversations. Shares: user_flawed_share and user_fallback_share of the turns a simulated user
-- decided on, label_disagreement_share and truncated_share of replies, extractor_failed_share of what the extractor was
-- asked, flawed_conversation_share of conversations; NULL where there is nothing to take a share of.
-- over: components over their limit (measurement: 7% of turns for a component, 5% of conversations, 2% of replies cut
-- off), NULL = none.
CREATE OR REPLACE TABLE simulator_health AS
WITH sums AS (
    SELECT
        p.experiment, p.condition, p.task, p.model, p.setting,
        count(*) AS n_conversations,
        CAST(sum(e.user_turns) AS BIGINT) AS user_turns,
        CAST(sum(e.user_reasked) AS BIGINT) AS user_reasked,
        CAST(sum(e.user_fallback) AS BIGINT) AS user_fallback,
        CAST(sum(e.user_forced) AS BIGINT) AS user_forced,
        CAST(sum(e.user_lost) AS BIGINT) AS user_lost,
        CAST(sum(e.user_leak) AS BIGINT) AS user_leak,
        CAST(sum(e.user_added) AS BIGINT) AS user_added,
        CAST(sum(e.user_answer) AS BIGINT) AS user_answer,
        CAST(sum(e.user_echo) AS BIGINT) AS user_echo,
        CAST(sum(e.user_bad_id) AS BIGINT) AS user_bad_id,
        CAST(sum(e.user_flawed) AS BIGINT) AS user_flawed,
        CAST(sum(e.flawed_conversations) AS BIGINT) AS flawed_conversations,
        CAST(sum(e.replies) AS BIGINT) AS replies,
        CAST(sum(e.truncated) AS BIGINT) AS truncated,
        CAST(sum(e.content_filter) AS BIGINT) AS content_filter,
        CAST(sum(e.empty_replies) AS BIGINT) AS empty_replies,
        CAST(sum(e.refusals) AS BIGINT) AS refusals,
        CAST(sum(e.label_disagreements) AS BIGINT) AS label_disagreements,
        CAST(sum(e.label_reasked) AS BIGINT) AS label_reasked,
        CAST(sum(e.label_fallback) AS BIGINT) AS label_fallback,
        CAST(sum(e.attempts) AS BIGINT) AS attempts,
        CAST(sum(e.extractor_asked) AS BIGINT) AS extractor_asked,
        CAST(sum(e.extractor_reasked) AS BIGINT) AS extractor_reasked,
        CAST(sum(e.extractor_found) AS BIGINT) AS extractor_found,
        CAST(sum(e.extractor_none) AS BIGINT) AS extractor_none,
        CAST(sum(e.extractor_failed) AS BIGINT) AS extractor_failed,
        CAST(sum(e.rung_given) AS BIGINT) AS rung_given,
        CAST(sum(e.rung_boxed) AS BIGINT) AS rung_boxed,
        CAST(sum(e.rung_marker) AS BIGINT) AS rung_marker,
        CAST(sum(e.rung_block) AS BIGINT) AS rung_block,
        CAST(sum(e.rung_whole) AS BIGINT) AS rung_whole,
        CAST(sum(e.rung_llm) AS BIGINT) AS rung_llm,
        CAST(sum(e.rung_conclusion) AS BIGINT) AS rung_conclusion,
        CAST(sum(e.rung_last_number) AS BIGINT) AS rung_last_number,
        CAST(sum(e.rung_loose) AS BIGINT) AS rung_loose,
        CAST(sum(e.rung_ambiguous) AS BIGINT) AS rung_ambiguous,
        CAST(sum(e.rung_failed) AS BIGINT) AS rung_failed,
        CAST(sum(e.turn_capped) AS BIGINT) AS turn_capped,
        CAST(sum(e.context_ended) AS BIGINT) AS context_ended
    FROM planned AS p
    JOIN simulator_events AS e ON e.conversation_id = p.conversation_id
    GROUP BY ALL
),
shares AS (
    SELECT
        *,
        user_flawed / nullif(CAST(user_turns AS DOUBLE), 0) AS user_flawed_share,
        user_fallback / nullif(CAST(user_turns AS DOUBLE), 0) AS user_fallback_share,
        label_disagreements / nullif(CAST(replies AS DOUBLE), 0) AS label_disagreement_share,
        extractor_failed / nullif(CAST(extractor_asked AS DOUBLE), 0) AS extractor_failed_share,
        truncated / nullif(CAST(replies AS DOUBLE), 0) AS truncated_share,
        flawed_conversations / CAST(n_conversations AS DOUBLE) AS flawed_conversation_share
    FROM sums
)
SELECT
    *,
    nullif(concat_ws(', ',
        CASE WHEN user_flawed_share > 0.07 THEN 'user' END,
        CASE WHEN label_disagreement_share > 0.07 THEN 'classifier' END,
        CASE WHEN extractor_failed_share > 0.07 THEN 'extractor' END,
        CASE WHEN flawed_conversation_share > 0.05 THEN 'conversations' END,
        CASE WHEN truncated_share > 0.02 THEN 'truncated' END
    ), '') AS "over"
FROM shares
ORDER BY experiment, condition, task, model, setting;
