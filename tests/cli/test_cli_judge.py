"""`lic run` and `lic retry --errors` with a model as judge: what cannot be used is asked for again on demand only."""

from __future__ import annotations

from typing import Any

import duckdb
from fault_server import FaultServer
from summaries_to_judge import all_full
from support.lic_command import Lic

JUDGED = ("-m", "sim/steady", "-t", "summary", "-k", "2", "-n", "1", "-s", "FULL", "--judge-model", "judge")


def name_judge(lic: Lic, server: FaultServer) -> None:
    """Put a judge at this server into the registry of the home."""
    lic.home.mkdir(parents=True, exist_ok=True)
    entry = f"models:\n  - {{alias: judge, id: local/judge, base_url: '{server.url}'}}\n"
    (lic.home / "models.yaml").write_text(entry, encoding="utf-8")


def scored(lic: Lic) -> int:
    with duckdb.connect(str(lic.home / "lic.duckdb"), read_only=True) as connection:
        (row,) = connection.execute("SELECT sum(n_scored) FROM reliability_by_task").fetchall()
    return int(row[0])


def standing(lic: Lic) -> tuple[int, int, dict[str, int], dict[str, int]]:
    """What `lic status` says of the one manifest: done, scored, missing and unscored."""
    (row,) = lic("status", "--json").document["experiments"]
    return row["done"], row["scored"], row["missing"], row["unscored"]


def test_an_unusable_verdict_is_asked_for_again_by_retry_alone(lic: Lic) -> None:
    with FaultServer(answer=lambda body: "Both are fine.") as useless:
        name_judge(lic, useless)
        done = lic("run", *JUDGED, code=1, here=True)
        assert "missing: 2 of 2 conversations: judge: no usable verdicts; lic retry --errors takes them up" in done.err
        asked = useless.answered
        assert "0 calls made" in lic("run", *JUDGED, code=1, here=True).err
        assert useless.answered == asked
        assert lic("status", "--json").document["outside_manifests"] == {}
        assert standing(lic) == (2, 0, {}, {"judge: no usable verdicts": 2})
        assert "2 judge: no usable verdicts" in lic("status").out
    with FaultServer(answer=all_full) as server:
        name_judge(lic, server)
        document: dict[str, Any] = lic("retry", "--errors", "--json", here=True).document
        assert server.answered == asked / 2
    (row,) = document["partitions"]
    assert (row["retried"], row["judgements"], row["left"]) == (0, server.answered, {})
    assert row["was"] == {"judge: unusable": server.answered}
    assert scored(lic) == 2
    assert standing(lic) == (2, 2, {}, {})
    assert lic("status", "--json").document["outside_manifests"] == {}


def test_a_judge_without_a_key_is_told_before_anything_is_held(lic: Lic) -> None:
    lic.home.mkdir(parents=True)
    entry = "{alias: judge, id: local/judge, base_url: 'http://127.0.0.1:9/v1', key_variable: KEY_OF_JUDGE}"
    (lic.home / "models.yaml").write_text(f"models:\n  - {entry}\n", encoding="utf-8")
    assert "judge needs an API key: set KEY_OF_JUDGE in" in lic.error("run", *JUDGED)
    assert lic("status", "--json").document["experiments"] == []


def test_every_turn_is_judged_on_demand_and_the_best_summary_stands_beside_the_last(lic: Lic) -> None:
    options = [*JUDGED, "--judge-every-turn"]
    options[options.index("FULL")] = "SHARDED"
    options[options.index("-k") + 1] = "1"
    with FaultServer(answer=all_full) as server:
        name_judge(lic, server)
        lic("run", *options, here=True)
    with duckdb.connect(str(lic.home / "lic.duckdb"), read_only=True) as connection:
        (row,) = connection.execute("SELECT P, score_max, score_last FROM reliability_by_task").fetchall()
    assert row[1] is not None
    assert row[1] >= row[2] == row[0]
    turns = duckdb.sql(f"SELECT DISTINCT turn FROM '{lic.home}/lake/judgements/**/*.parquet'").fetchall()
    assert len(turns) > 1
    assert server.answered > 1
    assert "--judge-every-turn" in (lic.home / "report" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    again = lic("run", *options, here=True)
    assert "0 calls made" in again.err
    assert "summary x" not in again.err, "nothing has changed, so nothing is launched"


def test_it_is_said_where_judging_every_turn_changes_nothing(lic: Lic) -> None:
    said = lic("plan", "-m", "sim/lost", "-t", "math", "-k", "1", "-n", "1", "--judge-every-turn").err
    assert "--judge-every-turn changes nothing here" in said
