"""`lic run` with every role played by a model behind the fault server: what it stores gives the same tables again."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fault_server import FaultServer
from role_answers import faithful_user, played_answer, role_of, untold
from support.lic_command import Lic

PLAYED = ("-m", "fake", "-t", "math", "-k", "3", "-n", "1", "-s", "FULL", "-s", "SHARDED", "-s", "RECAP",
          "--user-model", "user", "--system-model", "system")  # fmt: skip


def imperfect(body: Mapping[str, Any]) -> str:
    """All roles: a user that stays silent about its last piece and invents beside the others, an odd classifier, a
    judge without verdicts.
    """
    role = role_of(body)
    if role == "judge":
        return "Both are fine."
    if role == "user":
        said = json.loads(faithful_user(body))
        return (
            "I would rather not say." if len(untold(body)) == 1 else json.dumps({**said, "response": "77,777 of them"})
        )
    if role == "classifier" and "What exactly do you need?" in body["messages"][-1]["content"]:
        return '{"strategy": "shouting"}'
    return played_answer(body)


def _name_models(home: Path, server: FaultServer) -> None:
    entries = "".join(
        f"  - {{alias: {name}, id: local/{name}, base_url: '{server.url}'}}\n" for name in ("fake", "user", "system")
    )
    (home / "models.yaml").write_text(f"models:\n{entries}", encoding="utf-8")


@pytest.fixture(scope="module")
def played_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which ``PLAYED`` was carried out. Never changed: copy it."""
    home = tmp_path_factory.mktemp("played") / "home"
    home.mkdir()
    with FaultServer(answer=imperfect) as server:
        _name_models(home, server)
        done = Lic(home)("run", *PLAYED)
        assert f"{server.answered} calls made, 9 conversations wanted" in done.err
        assert Counter(role_of(body) for body in server.bodies).keys() == {"assistant", "user", "classifier"}
    return home


@pytest.fixture
def played(played_home: Path, lic: Lic) -> Iterator[tuple[Lic, FaultServer]]:
    """A copy of that home, and the server its models live on now: an address is no part of a model's identity."""
    shutil.copytree(played_home, lic.home)
    with FaultServer(answer=imperfect) as server:
        _name_models(lic.home, server)
        yield lic, server


def tables(lic: Lic) -> dict[str, bytes]:
    """Everything published that a reader sees."""
    return {path.name: path.read_bytes() for path in (lic.home / "report").iterdir()}


def test_a_lost_lake_comes_back_without_a_call_and_gives_the_same_tables(played: tuple[Lic, FaultServer]) -> None:
    lic, server = played
    before = tables(lic)
    with duckdb.connect(str(lic.home / "lic.duckdb"), read_only=True) as connection:
        (sharded,) = (
            connection.sql("SELECT * FROM simulator_health WHERE setting = 'SHARDED'").to_arrow_table().to_pylist()
        )
    assert sharded["n_conversations"] == 3
    assert min(sharded[name] for name in ("user_reasked", "user_fallback", "label_reasked", "label_fallback")) > 0
    assert (lic.home / "report" / "simulator_health.csv").read_text(encoding="utf-8").count("\n") == 4

    assert "### Roles played by models" in before["report.md"].decode()
    assert "| fake | math | SHARDED |" in before["report.md"].decode().split("### Roles played by models")[1]

    assert lic("ledger", "verify", "--all", "--json").document["checked"] == 9
    shutil.rmtree(lic.home / "lake" / "conversations")
    assert lic("ledger", "rebuild", "--json").document == {"schema": 1, "to_lake": 9, "to_ledger": 0, "failed": {}}
    (lic.home / "lic.duckdb").unlink()
    shutil.rmtree(lic.home / "report")
    assert "0 calls made, 9 conversations wanted" in lic("run", *PLAYED).err
    assert server.requests == 0
    assert tables(lic) == before
    assert lic("ledger", "verify", "--all", "--json").document["findings"] == []


def test_a_lost_ledger_is_not_paid_for_again(played: tuple[Lic, FaultServer]) -> None:
    lic, server = played
    (lic.home / "ledger").rename(lic.home / "lost")
    line = lic.error("run", *PLAYED[:6], "-n", "2", *PLAYED[8:])
    assert "calling again would pay again" in line
    document = lic("ledger", "rebuild", "--json", code=1).document
    assert document["to_ledger"] == 0
    assert sum(document["failed"].values()) == 9
    assert "user and system model's calls are in no lake" in next(iter(document["failed"]))
    assert server.requests == 0


@pytest.mark.parametrize(
    "role", ["user", *(pytest.param(r, marks=pytest.mark.slow) for r in ("classifier", "assistant"))]
)
def test_a_run_that_would_ask_otherwise_today_stops_with_5_and_names_the_field(
    played: tuple[Lic, FaultServer], role: str
) -> None:
    lic, server = played
    with closing(lic.ledger()) as connection, connection:
        name, place, fields = connection.execute(
            "SELECT conversation_id, rowid, request_fields FROM calls WHERE role = ? AND turn > 1 ORDER BY turn",
            (role,),
        ).fetchone()
        changed = json.dumps(json.loads(fields) | {"message": "0" * 32}, separators=(",", ":"))
        other = "UPDATE calls SET request_hash = 'x', request_fields = ? WHERE rowid = ?"
        connection.execute(other, (changed, place))
        connection.execute(
            "UPDATE conversations SET state = 'open', stop_reason = NULL WHERE conversation_id = ?", (name,)
        )
        connection.execute("DELETE FROM decisions WHERE conversation_id = ?", (name,))
    line = lic.error("run", *PLAYED, code=5)
    assert "'message'" in line
    assert role in line
    assert server.requests == 0
    assert lic.error("run", *PLAYED, code=5) == line, "drift is no error that passes"

    (row,) = lic("status", "--json").document["experiments"]
    assert row["missing"]["error:drift"] == 1
    done = lic("run", *PLAYED, "--accept-drift")
    assert server.requests > 0
    assert f"{server.requests} calls made, 9 conversations wanted" in done.err
    assert lic("ledger", "verify", "--all", "--json").document["findings"] == []


def test_what_cannot_fit_and_what_no_judge_could_judge_is_missing_with_its_reason(
    played: tuple[Lic, FaultServer],
) -> None:
    lic, server = played
    entry = f"  - {{alias: tiny, id: local/tiny, base_url: '{server.url}', context_window: 200}}\n"
    with (lic.home / "models.yaml").open("a", encoding="utf-8") as file:
        file.write(entry)
    one = ("-k", "1", "-n", "1", "-s", "FULL", "--simulator", "scripted")
    done = lic("run", "-m", "tiny", "-t", "math", *one, "--json", code=1)
    assert "missing: 1 of 1 conversations: context\n" in done.err
    assert server.requests == 0
    (cell,) = done.document["missing"]
    assert (cell["reason"], cell["n"], cell["n_planned"]) == ("context", 1, 1)
    report = (lic.home / "report" / "report.md").read_text(encoding="utf-8")
    assert "| tiny | math | FULL | context | 1 of 1 |" in report
    rows = {row["model"]: row["missing"] for row in lic("status", "--json").document["experiments"]}
    assert rows == {"fake": {}, "tiny": {"context": 1}}
    assert lic("plan", "-m", "tiny", "-t", "math", *one, "--json").document["total"]["missing"] == {"context": 1}

    judged = ("run", "-m", "fake", "-t", "summary", *one, "--judge-model", "system")
    done = lic(*judged, code=1)
    assert "1 of 1 conversations: judge: no usable verdicts; lic retry --errors takes them up again\n" in done.err
    asked = server.requests
    assert "judge: no usable verdicts" in lic(*judged, code=1).err
    assert server.requests == asked, "an unusable reply is paid for once"
