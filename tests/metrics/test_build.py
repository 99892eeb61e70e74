"""Metric tables: SQL against numpy, cell rules, missing runs, types, determinism."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pytest

from lic_pipeline.metrics.build import build_metrics, sql_text
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.simulator_health import EVENTS, SIMULATOR_EVENTS
from lic_pipeline.metrics.statistics.reliability import group_reliability
from lic_pipeline.metrics.warehouse import csv_text, store

Row = dict[str, Any]
Make = Callable[..., Row]
Put = Callable[..., None]


def table(connection: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    cursor = connection.execute(f"SELECT * FROM {name}")
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def one(connection: duckdb.DuckDBPyConnection, name: str, **where: object) -> Row:
    found = [row for row in table(connection, name) if all(row[k] == v for k, v in where.items())]
    assert len(found) == 1
    return found[0]


def _rows(make_row: Make, seed: int = 0) -> Iterator[Row]:
    """Two models, a binary and a graded task, three settings; some instructions with more runs than N."""
    rng = np.random.default_rng(seed)
    for model in ("a", "b"):
        for task in ("math", "summary"):
            for setting in ("FULL", "CONCAT", "SHARDED"):
                for i in range(12):
                    chance = rng.beta(2, 1)
                    for run in range(10 if i % 4 else 15):
                        score = 100.0 * (rng.random() < chance) if task == "math" else float(rng.uniform(0, 100))
                        yield make_row(f"{task}/{i}", run, score, model=model, task=task, setting=setting)


def test_sql_agrees_with_numpy(memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put) -> None:
    rows = list(_rows(make_row))
    put_rows(memory, rows)
    build_metrics(memory)
    keys = sorted({(r["task"], r["model"], r["setting"], r["instruction_id"]) for r in rows})
    place = {key: i for i, key in enumerate(keys)}
    groups = np.array([place[r["task"], r["model"], r["setting"], r["instruction_id"]] for r in rows])
    expected = group_reliability(groups, [r["score"] for r in rows], np.full(len(keys), 10))
    by_instruction = table(memory, "reliability_by_instruction")
    assert [(r["task"], r["model"], r["setting"], r["instruction_id"]) for r in by_instruction] == keys
    for name, values in (
        ("P", expected.mean),
        ("A90", expected.a90),
        ("U90_10", expected.u),
        ("variance", expected.variance),
    ):
        assert [row[name] for row in by_instruction] == pytest.approx(values.tolist(), abs=1e-9), name
    for cell in table(memory, "reliability_by_task"):
        own = [i for i, key in enumerate(keys) if key[:3] == (cell["task"], cell["model"], cell["setting"])]
        assert cell["P"] == pytest.approx(expected.mean[own].mean())
        assert cell["A90"] == pytest.approx(expected.a90[own].mean())
        assert cell["U90_10"] == pytest.approx(expected.u[own].mean())
        assert cell["R"] == pytest.approx(100 - cell["U90_10"])
        assert cell["sd_within"] == pytest.approx(np.sqrt(expected.variance[own].mean()))
        for metric in ("P", "A90", "U90_10"):
            assert cell[f"{metric}_low"] <= cell[metric] <= cell[f"{metric}_high"]
    for row in table(memory, "reliability_by_model"):
        cells = [
            c
            for c in table(memory, "reliability_by_task")
            if (c["model"], c["setting"]) == (row["model"], row["setting"])
        ]
        assert row["P"] == pytest.approx(np.mean([c["P"] for c in cells]))


def test_tables_have_the_columns_and_types_of_their_specs(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    put_rows(memory, [*_rows(make_row), make_row("math/x", 0, None, flags='["forced", "forced", "leak"]')])
    event = {"conversation_id": "main/{}/m/math/FULL/math/x/0", **{column.name: 1 for column in EVENTS}}
    store(memory, SIMULATOR_EVENTS.name, SIMULATOR_EVENTS.arrow_table([event]))
    build_metrics(memory)
    for spec in METRIC_TABLES:
        made = memory.sql(f"SELECT * FROM {spec.name}").to_arrow_table()
        assert made.num_rows > 0, spec.name
        assert [(f.name, f.type) for f in made.schema] == [(f.name, f.type) for f in spec.arrow_schema]
        spec.arrow_table(made.to_pylist())  # nothing is null that must not be
        keys = memory.execute(f"SELECT count(DISTINCT ({', '.join(spec.key)})) FROM {spec.name}").fetchall()
        assert keys == [(made.num_rows,)]
        assert sql_text(spec.name).startswith(f"-- {spec.name}")
    assert {(r["flag"], r["n"]) for r in table(memory, "flags")} == {("forced", 1), ("leak", 1)}


def test_same_rows_in_any_order_give_the_same_csv_bytes(make_row: Make, put_rows: Put) -> None:
    texts = []
    for order in (1, -1):
        with duckdb.connect() as connection:
            put_rows(connection, list(_rows(make_row))[::order])
            build_metrics(connection)
            texts.append([csv_text(connection, spec.name) for spec in METRIC_TABLES])
    assert texts[0] == texts[1]


def test_a_cell_does_not_depend_on_other_cells(make_row: Make, put_rows: Put) -> None:
    rows = list(_rows(make_row))
    found = []
    for kept in (rows, [r for r in rows if r["model"] == "a"]):
        with duckdb.connect() as connection:
            put_rows(connection, kept)
            build_metrics(connection)
            found.append([r for r in table(connection, "reliability_by_task") if r["model"] == "a"])
    assert found[0] == found[1]


def test_decimal_scores_do_not_cut_percentiles(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    values = [0.1, 0.4, 0.2]
    put_rows(memory, [make_row("a", i, v) for i, v in enumerate(values)])
    memory.execute("ALTER TABLE scores ALTER score TYPE DECIMAL(4, 1)")
    build_metrics(memory)
    assert one(memory, "reliability_by_instruction")["A90"] == pytest.approx(np.percentile(values, 90))


@pytest.mark.parametrize("bad", [float("nan"), 100.5, -1.0])
def test_a_score_off_the_scale_is_refused_by_name(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put, bad: float
) -> None:
    put_rows(memory, [make_row("a", 0, bad, conversation_id="c-7")])
    with pytest.raises(ValueError, match="c-7"):
        build_metrics(memory)


def test_a_row_that_stands_twice_is_refused(memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put) -> None:
    put_rows(memory, [make_row("a", 0, 1.0), make_row("a", 0, 1.0)])
    with pytest.raises(ValueError, match="stands twice"):
        build_metrics(memory)
    with duckdb.connect() as empty, pytest.raises(ValueError, match="no table scores"):
        build_metrics(empty)


def test_missing_runs_count_against_the_plan(memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put) -> None:
    plan = [make_row(f"i{i:02}", run, 100.0) for i in range(20) for run in range(10)]
    scored = plan[:-4]  # the last instruction has only six runs
    scored[0] = make_row("i00", 0, None, missing_reason="context")
    plan[-1] = {**plan[-1], "unanswerable": "context"}
    put_rows(memory, [*scored, make_row("i00", 99, 0.0)], plan)  # run 99 is in no plan and must not count
    build_metrics(memory)
    cell = one(memory, "reliability_by_task")
    assert (cell["n_planned"], cell["n_scored"], cell["n_missing"], cell["reason"]) == (200, 195, 5, None)
    assert cell["P"] == 100.0
    assert cell["P_if_missing_0"] == pytest.approx(97.5)
    assert cell["P_if_missing_100"] == 100.0
    assert cell["bounds_differ"] is True
    assert (cell["n_compared"], cell["A90"]) == (18, 100.0)
    assert {(r["reason"], r["n"]) for r in table(memory, "missing")} == {("context", 2), ("not_run", 3)}


def test_cells_without_enough_scores_are_null_with_the_reason(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    plan = [make_row(f"i{i:02}", run, 50.0) for i in range(20) for run in range(10)]
    put_rows(memory, plan[:-11], plan)
    build_metrics(memory)
    cell = one(memory, "reliability_by_task")
    assert cell["P"] is cell["P_low"] is cell["A90"] is cell["U90_10"] is cell["R"] is None
    assert cell["reason"] == "fewer than 95% of planned conversations scored (189 of 200)"
    model = one(memory, "reliability_by_model")
    assert model["P"] is None
    assert model["reason"].startswith("math: fewer than 95%")


def test_aptitude_needs_ninety_percent_of_instructions_at_n(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    plan = [make_row(f"i{i:02}", run, 50.0) for i in range(20) for run in range(10)]
    put_rows(memory, [row for row in plan if row["run"] or row["instruction_id"] > "i02"], plan)
    build_metrics(memory)
    cell = one(memory, "reliability_by_task")
    assert cell["P"] == 50.0
    assert cell["A90"] is cell["U90_10"] is cell["R"] is None
    assert cell["reason_aptitude"] == "fewer than 90% of instructions reach N=10 (17 of 20)"


def test_a_short_instruction_leaves_aptitude_in_every_setting(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    plan = [
        make_row(f"i{i:02}", run, 100.0, setting=setting)
        for setting in ("FULL", "SHARDED", "SNOWBALL")
        for i in range(20)
        for run in range(10)
    ]
    rows = [r for r in plan if not (r["setting"] == "SHARDED" and r["instruction_id"] == "i03" and r["run"] == 0)]
    rows = [r for r in rows if r["setting"] != "SNOWBALL" or r["instruction_id"] == "i05"]  # hardly begun
    put_rows(memory, rows, plan)
    build_metrics(memory)
    assert [one(memory, "reliability_by_task", setting=s)["n_compared"] for s in ("FULL", "SHARDED")] == [19, 19]
    assert one(memory, "reliability_by_task", setting="SNOWBALL")["P"] is None


def test_other_signatures_in_one_cell_and_between_settings(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    full = [make_row(f"i{i}", run, 80.0) for i in range(5) for run in range(4)]
    other = [
        make_row(f"i{i}", run, 40.0, setting="SHARDED", signature="task:math|setting:SHARDED|user:llm|policy:reference")
        for i in range(5)
        for run in range(4)
    ]
    put_rows(memory, full + other)
    build_metrics(memory)
    pair = one(memory, "degradation_by_task")
    assert (pair["differs"], pair["drop_points"], pair["ratio"]) == ("policy", None, None)
    assert one(memory, "degradation")["reason"] == "math: signatures differ in policy"
    full[3]["signature"] = "task:math|setting:FULL|policy:reference"
    put_rows(memory, full)
    build_metrics(memory)
    cell = one(memory, "reliability_by_task")
    assert (cell["P"], cell["reason"]) == (None, "signatures differ")


def test_more_planned_runs_for_some_use_the_smaller_n_and_targets_override(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    rows = [make_row(f"i{i}", run, float(10 * run)) for i in range(4) for run in range(9 if i else 5)]
    put_rows(memory, rows)
    build_metrics(memory)
    assert one(memory, "reliability_by_task")["n_target"] == 5
    build_metrics(memory, {"main": 4, "other": 2})
    assert one(memory, "reliability_by_task")["n_target"] == 4
    assert "n:4|pct:linear|approval:authored=4" in one(memory, "reliability_by_task")["signature"]


def test_always_sometimes_never_and_pass_at_k(memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put) -> None:
    solved = {"all": 4, "none": 0, "half": 2, "one": 1}
    put_rows(memory, [make_row(i, run, 100.0 * (run < c)) for i, c in solved.items() for run in range(4)])
    build_metrics(memory)
    cell = one(memory, "reliability_by_task")
    assert (cell["always"], cell["sometimes"], cell["never"]) == (0.25, 0.5, 0.25)
    assert one(memory, "pass_at_k", k=2)["pass_at_k"] == pytest.approx((1 + 0 + 5 / 6 + 1 / 2) / 4)
    assert one(memory, "pass_at_k", k=2)["pass_hat_k"] == pytest.approx((1 + 0 + 1 / 6 + 0) / 4)


def test_settings_meet_the_most_specific_full_cell(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    cold, warm, both = '{"t":0}', '{"t":1}', '{"t":1,"ut":0.5}'
    rows = [make_row(f"i{i}", run, 80.0, condition=cold) for i in range(3) for run in range(2)]
    rows += [make_row(f"i{i}", run, 60.0, condition=warm) for i in range(3) for run in range(2)]
    rows += [make_row(f"i{i}", run, 30.0, setting="SHARDED", condition=both) for i in range(3) for run in range(2)]
    rows += [make_row(f"i{i}", run, 30.0, setting="SHARDED", condition='{"t":2}') for i in range(3) for run in range(2)]
    put_rows(memory, rows)
    build_metrics(memory)
    pair = one(memory, "degradation_by_task", condition=both)
    assert (pair["full_condition"], pair["ratio"], pair["drop_points"]) == (warm, 50.0, -30.0)
    assert one(memory, "degradation", condition='{"t":2}')["reason"] == "math: no FULL cell"


def test_oracle_control_and_early_solvable(memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put) -> None:
    rows = [make_row(f"i{i}", run, 100.0 * (run == 0)) for i in range(3) for run in range(4)]
    rows += [
        make_row(
            f"i{i}", run, 100.0, setting="SHARDED", n_attempts=2, solved_at_turn=2, solved_before_last_shard=i == 0
        )
        for i in range(3)
        for run in range(4)
    ]
    put_rows(memory, rows)
    build_metrics(memory)
    pair = one(memory, "degradation_by_task")
    assert pair["full_pass_at_k"] == pytest.approx(50.0)  # one of four runs solved, two tries
    early = {r["instruction_id"]: r["early_solvable"] for r in table(memory, "reliability_by_instruction")}
    assert early == {"i0": True, "i1": False, "i2": False}


def test_without_a_plan_the_scores_are_the_plan(
    memory: duckdb.DuckDBPyConnection, make_row: Make, put_rows: Put
) -> None:
    put_rows(memory, [make_row("a", 0, 10.0), make_row("a", 1, None)])
    memory.execute("DROP TABLE planned")
    build_metrics(memory)
    assert one(memory, "missing")["n"] == 1
