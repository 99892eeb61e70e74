"""What the report says about roles played by models: cells that had any, and whatever is over a limit."""

from __future__ import annotations

from typing import Any

import pytest

from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.report.health import COLUMNS, health_rows

SPEC = next(spec for spec in METRIC_TABLES if spec.name == "simulator_health")
CELL = {"experiment": "main", "condition": "{}", "task": "math", "model": "m", "setting": "SHARDED"}
PLAYED = "task:math|user:llm(a,enforce)|system:llm(b)|n:10"
RULED = "task:math|user:scripted|system:rules|n:10"


def health(**counts: Any) -> dict[str, Any]:
    """A row of the table; what is not named is 0, a share without a base NULL."""
    zeros = {c.name: 0 if c.type == "int" else None for c in SPEC.columns if c.name not in CELL}
    return {**CELL, **zeros, **counts}


@pytest.mark.parametrize(
    ("signature", "over", "shown"),
    [(PLAYED, None, True), (PLAYED, "user", True), (RULED, None, False), (RULED, "truncated", True)],
)
def test_cells_that_are_shown(signature: str, over: str | None, shown: bool) -> None:
    rows = list(health_rows([health(over=over)], [{**CELL, "signature": signature}]))
    assert len(rows) == shown


def test_counts_stand_under_their_names_with_their_shares() -> None:
    row = health(
        user_turns=40, user_reasked=5, user_fallback=2, user_flawed=3, user_flawed_share=0.075, flawed_conversations=3,
        flawed_conversation_share=0.3, label_disagreements=6, label_disagreement_share=0.12, label_reasked=4,
        label_fallback=1, extractor_asked=8, extractor_failed=2, extractor_failed_share=0.25, truncated=1,
        truncated_share=0.02, over="user, classifier, extractor, conversations",
    )  # fmt: skip
    (told,) = health_rows([row], [{**CELL, "signature": PLAYED}])
    assert len(told) == len(COLUMNS)
    assert told == [
        "m", "math", "SHARDED", 40, 5, 2, "3 (7.5%)", "3 (30.0%)", "6 (12.0%)", 4, 1, 8, "2 (25.0%)", "1 (2.0%)",
        "user, classifier, extractor, conversations",
    ]  # fmt: skip


def test_another_cell_of_the_same_model_is_not_taken_for_it() -> None:
    other = {**CELL, "condition": '{"t": 0}', "signature": PLAYED}
    assert list(health_rows([health()], [other])) == []
