"""`lic plan`, `lic status`, `lic retry`: what is wanted, done and missing, and what it would cost."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from support.lic_command import SMALL, Lic, end_in_error

ONE_MORE = ("-m", "sim/lost", "-t", "math", "-k", "2", "-n", "3", *SMALL[-6:])
REAL = ("-m", "gpt-4o-mini", "-t", "math", "-k", "2", "-n", "2")


def _ids(lic: Lic) -> list[str]:
    exported = [line for line in lic("ledger", "export").out.splitlines() if '"turn": 1,' in line]
    names = sorted({line.split('"')[3] for line in exported})
    assert names
    return names


def test_a_finished_run_plans_no_call_and_costs_nothing(finished: Lic) -> None:
    document = finished("plan", *SMALL, "--json").document
    assert [(row["setting"], row["conversations"], row["done"]) for row in document["rows"]] == [
        ("FULL", 4, 4),
        ("SHARDED", 4, 4),
        ("RECAP", 4, 4),
    ]
    total = document["total"]
    assert (total["conversations"], total["done"], total["missing"]) == (12, 12, {})
    assert (total["calls"], total["free"], total["cost_usd"], total["prompt_tokens"]) == ({}, True, 0.0, 0)


def test_more_runs_plan_the_new_conversations_only(finished: Lic) -> None:
    document = finished("plan", *ONE_MORE, "--json").document
    by_setting = {row["setting"]: row for row in document["rows"]}
    assert by_setting["FULL"]["missing"] == {"not_started": 2}
    assert by_setting["FULL"]["calls"] == {"assistant": 2}
    # Every shard of two items once: the estimate counts no early stop.
    assert by_setting["SHARDED"]["calls"]["assistant"] >= 2 * 3
    assert "2 not_started" in finished("plan", *ONE_MORE).out


def test_planning_holds_no_conversation(finished: Lic) -> None:
    before = finished("ledger", "totals", "--json").document
    finished("plan", *ONE_MORE)
    assert finished("ledger", "totals", "--json").document == before


def test_a_task_that_was_never_prepared_is_prepared_first(lic: Lic) -> None:
    done = lic("plan", "-m", "sim/steady", "-t", "math", "-k", "1", "-n", "1", "-s", "FULL", "--json", apart=True)
    assert done.err == "preparing math\n"
    assert done.document["total"]["missing"] == {"not_started": 1}


def test_real_models_are_priced_by_role_and_the_basis_is_said(finished: Lic) -> None:
    scripted = finished("plan", *REAL, "--simulator", "scripted", "--json").document
    roles = ("--user-model", "gpt-4o-mini", "--system-model", "gpt-4o-mini")
    played = finished("plan", *REAL, *roles, "--json").document
    assert set(scripted["total"]["calls"]) == {"assistant"}
    assert set(played["total"]["calls"]) == {"assistant", "user", "system"}
    assert 0 < scripted["total"]["cost_usd"] < played["total"]["cost_usd"]
    assert "characters a token" in played["basis"]
    assert "characters a token" in finished("plan", *REAL, *roles).out


def test_a_new_judge_is_priced_although_every_conversation_is_held(lic: Lic) -> None:
    chosen = ("-m", "sim/steady", "-t", "summary", "-k", "2", "-n", "2", "-s", "FULL")
    lic("run", *chosen)
    judged = (*chosen, "--judge-model", "gpt-4o-mini", "--json")
    total = lic("plan", *judged).document["total"]
    assert (total["done"], total["missing"], set(total["calls"])) == (4, {}, {"judge"})
    exact = total["calls"]["judge"]
    assert 0 < exact <= 4
    assert total["cost_usd"] > 0
    more = (*chosen[:6], "-n", "3", *judged[8:])
    (row,) = lic("plan", *more).document["rows"]
    assert (row["missing"], row["calls"]["judge"]) == ({"not_started": 2}, exact + 2 * 2)
    assert (row["judging"]["questions_per_summary"], row["judging"]["counted_in"]) == (2.0, 0)
    assert "2 questions to the judge per summary, the most there can be" in lic("plan", *more[:-1]).out
    assert lic("plan", *chosen, "--json").document["total"]["calls"] == {}


def test_an_unknown_price_is_null_and_never_nothing(finished: Lic) -> None:
    entry = "models:\n  - {alias: mine, id: openai/mine, base_url: 'http://127.0.0.1:9/v1'}\n"
    (finished.home / "models.yaml").write_text(entry, encoding="utf-8")
    arguments = ("plan", "-m", "mine", "-t", "math", "-k", "1", "-n", "1", "--simulator", "scripted")
    assert finished(*arguments, "--json").document["total"]["cost_usd"] is None
    assert "unknown" in finished(*arguments).out


def test_explain_names_the_fields_that_differ(finished: Lic) -> None:
    with closing(finished.ledger()) as connection:
        names = [row[0] for row in connection.execute("SELECT conversation_id FROM conversations")]
    full = finished("plan", *SMALL, "--explain", names[0], names[0])
    assert "same conversation" in full.out
    document = finished("plan", "--explain", names[0], names[1], "--json").document
    differing = {row["field"] for row in document["differs"]}
    assert differing
    assert differing <= {"run", "instruction_id", "setting", "visible", "menu", "user.mode", "stop", "system.mode",
                         "parent", "recap_of", "notice", "template", "engine", "purpose", "task", "seed"} | {
        field for field in differing if field.startswith(("parent.", "assistant."))
    }  # fmt: skip
    assert "is in no plan" in finished.error("plan", "--explain", names[0], "ffff00000000")
    assert "too short" in finished.error("plan", "--explain", names[0], "f")


def test_status_counts_what_is_done_and_what_was_spent(finished: Lic) -> None:
    document = finished("status", "--json").document
    (row,) = document["experiments"]
    assert (row["task"], row["model"], row["wanted"], row["done"], row["scored"]) == ("math", "sim/lost", 12, 12, 12)
    assert row["calls"] == document["total"]["calls"] > 12
    assert document["outside_manifests"] == {}
    assert "12" in finished("status").out


def test_status_of_an_empty_home_creates_nothing(lic: Lic) -> None:
    assert lic("status", "--json").document["experiments"] == []
    assert not lic.home.exists()


@pytest.mark.parametrize(
    ("scheme", "address", "file"),
    [("", "", ""), ("", "/own.sqlite", "/ledger.sqlite"), ("sqlite:///", "/own.sqlite", "/ledger.sqlite")],
)
def test_looking_into_another_ledger_finds_it_and_creates_none(
    finished: Lic, tmp_path: Path, scheme: str, address: str, file: str
) -> None:
    other = {"LIC_LEDGER_URL": f"{scheme}{tmp_path / 'elsewhere'}{address}"}
    assert finished("status", "--json", env=other).document["experiments"] == []
    for command in ("totals", "export", "verify", "vacuum"):
        assert "there is no ledger" in finished.error("ledger", command, env=other)
    assert "none yet; the first run makes it" in finished("doctor", env=other).out
    assert finished("plan", *SMALL, "--json", env=other).document["total"]["missing"] == {"not_started": 12}
    assert "No conversation" in finished("retry", "--errors", env=other).out
    assert not (tmp_path / "elsewhere").exists()
    moved = finished.home.with_name("moved")
    (finished.home / "ledger").rename(moved)
    (row,) = finished("status", "--json", env={"LIC_LEDGER_URL": f"{scheme}{moved}{file}"}).document["experiments"]
    assert (row["wanted"], row["done"]) == (12, 12)


def test_status_says_why_conversations_are_missing(finished: Lic) -> None:
    names = _ids(finished)
    end_in_error(finished, names[:2], "error:timeout")
    with closing(finished.ledger()) as connection, connection:
        connection.execute("UPDATE conversations SET state = 'open' WHERE conversation_id = ?", (names[2],))
        connection.execute("DELETE FROM conversations WHERE conversation_id = ?", (names[3],))
    (row,) = finished("status", "--json").document["experiments"]
    assert row["missing"] == {"error:timeout": 2, "unfinished": 1, "not_started": 1}
    assert row["done"] == 8


def test_retry_reopens_errors_and_pays_for_what_is_missing_only(finished: Lic) -> None:
    names = _ids(finished)[:3]
    before = finished("ledger", "totals", "--json").document["overall"]["calls"]
    end_in_error(finished, names, "error:timeout")
    assert finished("ledger", "totals", "--json").document["overall"]["calls"] == before - 3

    done = finished("retry", "--errors", "--json")
    (row,) = done.document["partitions"]
    assert (done.document["retried"], row["was"], row["left"]) == (3, {"error:timeout": 3}, {})
    assert finished("ledger", "totals", "--json").document["overall"]["calls"] == before
    (standing,) = finished("status", "--json").document["experiments"]
    assert (standing["done"], standing["missing"]) == (12, {})


def test_retry_without_errors_has_nothing_to_do(finished: Lic) -> None:
    assert "No conversation" in finished("retry", "--errors").out


@pytest.mark.slow
def test_lost_lake_rows_come_back_with_the_next_run_without_a_call(finished: Lic) -> None:
    for file in finished.home.glob("lake/conversations/task=math/model=*/setting=FULL*/*.parquet"):
        file.unlink()
    (row,) = finished("status", "--json").document["experiments"]
    assert row["missing"] == {"not_in_lake": 4}
    done = finished("run", *SMALL)
    assert "0 calls made, 12 conversations wanted" in done.err
    (row,) = finished("status", "--json").document["experiments"]
    assert row["missing"] == {}


@pytest.mark.parametrize("settings", [("RECAP",), ("FULL", "retry")], ids=" ".join)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_what_continues_sharded_is_not_dropped_in_silence(lic: Lic, command: str, settings: tuple[str, ...]) -> None:
    line = lic.error(command, "-m", "sim/lost", "-t", "math", *(part for name in settings for part in ("-s", name)))
    assert f"{settings[-1].upper()} continues the SHARDED conversations" in line
    assert "--setting SHARDED" in line
