-- scores, planned (views for lic metrics): the input tables of the metrics over the rows of a file.
-- score_rows: one line per planned run (key, place, score, present); score_keys: one line per instruction of a cell.
CREATE OR REPLACE TEMP VIEW planned AS
SELECT
    CAST(r.place AS VARCHAR) AS conversation_id, 'metrics' AS experiment, k.task, k.model, k.setting, '{}' AS condition,
    k.instruction_id, r.place AS run, k.signature, CAST(NULL AS VARCHAR) AS unanswerable
FROM score_rows AS r
JOIN score_keys AS k USING (key);

CREATE OR REPLACE TEMP VIEW scores AS
SELECT
    CAST(r.place AS VARCHAR) AS conversation_id, 'metrics' AS experiment, k.task, k.model, k.setting, '{}' AS condition,
    k.instruction_id, r.place AS run,
    0 AS n_shards, 0 AS n_turns, 'done' AS state, CAST(NULL AS VARCHAR) AS stop_reason,
    CASE WHEN r.score IS NULL THEN 'null_score' END AS missing_reason,
    r.score, r.score AS score_max,
    CAST(NULL AS DOUBLE) AS score_last, CAST(NULL AS DOUBLE) AS score_first, CAST(NULL AS DOUBLE) AS score_full_info,
    CAST(NULL AS DOUBLE) AS score_cumulative, CAST(NULL AS DOUBLE) AS score_reference,
    CAST(NULL AS BIGINT) AS solved_at_turn, CAST(NULL AS BOOLEAN) AS solved_before_last_shard,
    CAST(NULL AS BIGINT) AS n_attempts,
    CAST(NULL AS VARCHAR) AS flags, CAST(NULL AS VARCHAR) AS approval, k.signature, 0 AS scorer_version
FROM score_rows AS r
JOIN score_keys AS k USING (key)
WHERE r.present;
