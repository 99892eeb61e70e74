"""The markdown report, its CSV files, and that no number stands alone."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest

from lic_pipeline.config import Home
from lic_pipeline.metrics.json_document import compute
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.score_lines import read_rows
from lic_pipeline.report.console import print_tables
from lic_pipeline.report.render import fixed, markdown, value_with_interval
from lic_pipeline.report.write import report_text, write_report


def lines(model: str, missing: bool = False) -> Iterator[bytes]:
    for task in ("math", "code"):
        for setting, solved in (("SHARDED", 3), ("FULL", 9)):
            for i in range(12):
                for run in range(10):
                    score = None if missing and run == 9 and i < 4 else 100 * ((run * 7 + i) % 10 < solved)
                    names = {"model": model, "task": task, "setting": setting, "instruction_id": i, "run": run}
                    yield json.dumps({**names, "score": score}).encode()


def warehouse(*models: str, missing: bool = False) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    return compute(read_rows(line for model in models for line in lines(model, missing)))


def test_report_and_csv_files_are_reproducible(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        with warehouse("sim/steady", "m") as connection:
            paths = write_report(Home(tmp_path / name), connection)
        made.append({path.name: path.read_bytes() for path in paths})
    assert made[0] == made[1]
    assert set(made[0]) == {"report.md", *(f"{spec.name}.csv" for spec in METRIC_TABLES)}
    assert made[0]["reliability_by_task.csv"].startswith(b"experiment,condition,task,model,setting,n_instructions")


def test_personas_are_announced_and_models_are_not() -> None:
    with warehouse("sim/steady") as connection:
        assert "calibration instruments" in report_text(connection)
        out = io.StringIO()
        print_tables(connection, out)
        assert "not language models" in out.getvalue()
    with warehouse("m") as connection:
        assert "calibration instruments" not in report_text(connection)


def test_settings_stand_in_their_usual_order_with_context() -> None:
    with warehouse("m") as connection:
        text = report_text(connection)
    per_task = text.split("### Per task")[1]
    assert per_task.index("| FULL |") < per_task.index("| SHARDED |")
    assert "| m | math | FULL | 90.0" in per_task
    assert "Student t" in per_task
    assert "task:math\\|setting:FULL\\|n:10\\|pct:linear" in text
    assert "| m | SHARDED | 33.3 \\[no interval\\] | -60.0" in text


def test_missing_is_shown_with_reason_and_bounds() -> None:
    with warehouse("m", missing=True) as connection:
        connection.execute(
            "CREATE TABLE problems AS SELECT 'sharding' AS layer, 'math' AS task, 'no|shards' AS reason FROM range(2)"
        )
        connection.execute(
            "CREATE TABLE instructions AS SELECT 'code' AS task, unnest(['ok', 'quarantined:gold scores 0']) AS status"
        )
        text = report_text(connection)
    assert "| m | math | FULL | null\\_score | 4 of 120 |" in text
    assert "whatever is missing" in text
    assert "fewer than 90% of instructions reach N=10" in text
    assert "| sharding | math | no\\|shards | 2 |" in text
    assert "| instructions | code | gold scores 0 | 1 |" in text


def test_names_stay_text() -> None:
    with warehouse("<b>|x|*y*\n# z") as connection:
        text = report_text(connection)
    assert "&lt;b&gt;\\|x\\|\\*y\\*\\\\n\\# z" in text
    assert markdown("[a](b) `c` & \x1b") == "\\[a\\](b) \\`c\\` &amp; \\\\x1b"


def test_an_empty_warehouse_says_so(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        assert "Nothing is scored yet." in report_text(connection)
        assert [path.name for path in write_report(Home(tmp_path), connection)] == ["report.md"]


@pytest.mark.parametrize("lacking", ["n_instructions", "n_target", "P_low", "signature"])
def test_a_value_without_its_context_is_not_rendered(lacking: str) -> None:
    row = {"model": "m", "setting": "FULL", "P": 50.0, "P_low": 40.0, "P_high": 60.0}
    row |= {"n_instructions": 10, "n_target": 5, "signature": "task:math"}
    assert value_with_interval(row, "P") == "50.0 [40.0, 60.0]"
    with pytest.raises(ValueError, match="not shown"):
        value_with_interval({**row, lacking: None}, "P")


def test_no_negative_zero() -> None:
    assert (fixed(-0.01, 1), fixed(-0.06, 1), fixed(3, 0)) == ("0.0", "-0.1", "3")
