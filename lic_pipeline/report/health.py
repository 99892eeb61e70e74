"""Rows of the report on what simulated users, classifiers and extractors did; the limits are set in the SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lic_pipeline.report.render import DASH, Row, fixed, setting_label

COLUMNS = [
    *("model", "task", "setting", "user turns", "asked again", "replaced", "flawed", "conversations with a flaw"),
    *("labels against the rules", "asked again", "ruled", "extractor asked", "unusable", "cut off", "over the limit"),
]
LIMITS = (
    "Limits: 7% of user turns (flawed), of replies (label against the rules) and of extractions (unusable), 5% of "
    "conversations with a flawed turn, 2% of replies cut off."
)
_KEY = ("experiment", "condition", "task", "model", "setting")


def health_rows(health: Sequence[Row], cells: Sequence[Row]) -> Iterator[list[object]]:
    """A row per cell in which a model played a role, and per cell that is over a limit.

    ``cells`` are the rows of ``reliability_by_task``, whose signatures say who played.
    """
    played = {_key(row) for row in cells if "|system:llm(" in f"|{row['signature']}"}
    for row in health:
        if _key(row) in played or row["over"]:
            yield [row["model"], row["task"], setting_label(row), *_user(row), *_system(row), row["over"] or DASH]


def _user(row: Row) -> list[object]:
    turns, flawed = row["user_turns"], row["flawed_conversations"]
    counts = [turns, row["user_reasked"], row["user_fallback"], _of(row["user_flawed"], row["user_flawed_share"])]
    return [*counts, _of(flawed, row["flawed_conversation_share"])]


def _system(row: Row) -> list[object]:
    labels = [_of(row["label_disagreements"], row["label_disagreement_share"])]
    labels += [row["label_reasked"], row["label_fallback"]]
    lifted = [row["extractor_asked"], _of(row["extractor_failed"], row["extractor_failed_share"])]
    return [*labels, *lifted, _of(row["truncated"], row["truncated_share"])]


def _of(number: int, share: float | None) -> str:
    return str(number) if share is None else f"{number} ({fixed(100 * share, 1)}%)"


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _KEY)
