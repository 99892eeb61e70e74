"""Real Spider rows: every gold query scores 100 under both policies, and the discrimination check names few items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.records import Instruction, Policy, Reply
from lic_pipeline.tasks.database.discrimination import REASONS
from lic_pipeline.tasks.database.task import TASK, discrimination


def rows_of(shared_data: Path) -> list[dict[str, Any]]:
    folder = shared_data / "raw" / "spider"
    rows = json.loads((folder / "dev.json").read_text(encoding="utf-8"))
    return [row for row in rows if database_of(folder, row).is_file()]


def database_of(folder: Path, row: dict[str, Any]) -> Path:
    return folder / "database" / row["db_id"] / f"{row['db_id']}.sqlite"


def instruction(shared_data: Path, row: dict[str, Any]) -> Instruction:
    path = database_of(shared_data / "raw" / "spider", row)
    return Instruction(
        instruction_id=f"spider/{row['dev_index']}",
        task="database",
        benchmark="spider",
        text=row["question"],
        context={"schema_sql": "CREATE TABLE any_table (a);"},
        reference={"reference_sql": row["query"], "db_id": row["db_id"], "databases": [str(path)]},
    )


def gold_failures(shared_data: Path, rows: Iterable[dict[str, Any]]) -> list[str]:
    failed: list[str] = []
    for row in rows:
        item = instruction(shared_data, row)
        TASK.check(item)
        reply = Reply(text=TASK.gold(item) or "")
        policies: tuple[Policy, ...] = ("robust", "reference")
        for policy in policies:
            verdict = TASK.score(TASK.extract(reply, item, policy).answer or "", item, policy)
            failed += [] if verdict.score == 100 else [f"{item.instruction_id} {policy} {verdict.verdict}"]
    return failed


def test_a_sample_of_gold_queries_scores_100(shared_data: Path) -> None:
    rows = rows_of(shared_data)[::30]
    assert len(rows) > 25
    assert gold_failures(shared_data, rows) == []


def test_a_sample_discriminates_as_known(shared_data: Path) -> None:
    reasons = Counter(discrimination(instruction(shared_data, row)) for row in rows_of(shared_data)[::30])
    assert set(reasons) <= {None, *REASONS}
    assert reasons[None] > 0.7 * reasons.total()


@pytest.mark.slow
def test_every_gold_query_scores_100_and_menus_hold(shared_data: Path) -> None:
    rows = rows_of(shared_data)
    assert len(rows) >= 850
    assert gold_failures(shared_data, rows) == []
    for row in rows[::5]:
        item = instruction(shared_data, row)
        for entry in TASK.persona_replies(item):
            if entry.score is not None:
                answer = TASK.extract(Reply(text=entry.text), item).answer
                assert TASK.score(answer or "", item).score == entry.score, item.instruction_id


@pytest.mark.slow
def test_discrimination_over_all_rows(shared_data: Path) -> None:
    reasons = Counter(discrimination(instruction(shared_data, row)) for row in rows_of(shared_data))
    assert reasons["gold_fails"] == reasons["no_database"] == 0
    assert reasons[None] >= 650
    assert 0 < reasons["limit_tie"] < 80
    assert 0 < reasons["empty"] < 130
