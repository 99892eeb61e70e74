"""A run of several processes: one plan, each call made once, ended together, none left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from math_plans import entry_at, math_plan, transcripts

from lic_pipeline import errors
from lic_pipeline.errors import BudgetReachedError, ConfigError, LicError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry, user_registry
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.engine.outcome import Outcome, Progress
from lic_pipeline.simulation.engine.progress_listeners import listening
from lic_pipeline.simulation.engine.workers import worker_processes as workers
from lic_pipeline.simulation.engine.workers.worker_assignment import WorkerAssignment
from lic_pipeline.simulation.engine.workers.worker_processes import WorkerProcesses

WORKER = Path(__file__).resolve().parents[2] / "support" / "math_plans.py"
MEMBER = "lic_pipeline.simulation.engine.workers.worker_main"
ITEMS = 110
"""Three conversations each: more than one process claims at a time."""
CONNECTIONS = 8
SLOWLY = 0.4
"""Seconds a reply takes until all processes are at work: one may take its time to start."""
QUICKLY = 0.01


def hold(home: Path, server: FaultServer, processes: int, **options: Any) -> Outcome:
    plan = math_plan(entry_at(server.url), ITEMS)
    with Ledger.open(home / "ledger") as ledger:
        return run(plan, ledger, home / "lake", max_connections=CONNECTIONS, processes=processes, **options)


def start(home: Path, server: FaultServer, items: int = ITEMS) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(home), server.url, str(items), str(CONNECTIONS), "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def members_of(parent: int) -> list[int]:
    """Processes of a crew whose first process this is."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes().decode()
            status = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if MEMBER in command and int(status[1]) == parent:
            found.append(int(folder.name))
    return found


def until(reached: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert reached()


def is_over(pid: int) -> bool:
    """The process is gone, or only its parent has yet to hear of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def running(process: subprocess.Popen[str], home: Path) -> int:
    """The pid of the one member, once it has claimed conversations."""
    until(lambda: bool(members_of(process.pid)))
    (member,) = members_of(process.pid)

    def has_claims() -> bool:
        with Ledger.open(home / "ledger") as ledger, ledger._database.reader.connect() as connection:
            owners = connection.exec_driver_sql("SELECT DISTINCT owner FROM conversations").scalars()
            return any(f":{member}:" in owner for owner in owners if owner)

    until(has_claims)
    return member


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Transcripts and calls of one undisturbed process."""
    home = tmp_path_factory.mktemp("calm")
    with FaultServer() as server:
        assert hold(home, server, 1).complete
        return transcripts(home / "lake", math_plan(entry_at(server.url), ITEMS)), server.answered


def check_same(home: Path, server: FaultServer, calm: Any) -> None:
    wanted, calls = calm
    assert transcripts(home / "lake", math_plan(entry_at(server.url), ITEMS)) == wanted
    with Ledger.open(home / "ledger") as ledger:
        assert ledger.totals().overall.calls == calls


def test_two_processes_hold_one_plan_and_are_counted_together(tmp_path: Path, serve: Any, calm: Any) -> None:
    server: FaultServer = serve(chance={"500": 0.05}, delay_s=SLOWLY)
    told: list[Progress] = []

    def hear(progress: Progress) -> None:
        told.append(progress.overall)
        if progress.beside:
            server.delay_s = QUICKLY

    with listening(hear):
        outcome = hold(tmp_path, server, 2)
    assert (outcome.total, outcome.already, outcome.held, outcome.missing) == (3 * ITEMS, 0, 3 * ITEMS, {})
    assert outcome.calls == server.answered
    assert server.repeats == 0
    assert server.delay_s == QUICKLY, "the other process did nothing"
    assert told[-1].calls > 0.5 * server.answered
    check_same(tmp_path, server, calm)
    assert hold(tmp_path, server, 2) == Outcome(3 * ITEMS, 3 * ITEMS, 0, 0)
    assert members_of(os.getpid()) == []


def test_a_member_that_is_killed_is_gone_on_for(tmp_path: Path, serve: Any, calm: Any) -> None:
    server: FaultServer = serve(delay_s=SLOWLY)
    process = start(tmp_path, server)
    os.kill(running(process, tmp_path), signal.SIGKILL)
    server.delay_s = QUICKLY
    output, said = process.communicate(timeout=60)
    assert json.loads(output)["missing"] == {}
    assert "a process of the run has ended (exit code -9); the others go on for it" in said
    assert server.repeats <= CONNECTIONS // 2
    check_same(tmp_path, server, calm)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_they_end_together_and_a_rerun_goes_on(tmp_path: Path, serve: Any, calm: Any, number: int) -> None:
    server: FaultServer = serve(delay_s=SLOWLY)
    process = start(tmp_path, server)
    member = running(process, tmp_path)
    process.send_signal(number)
    server.delay_s = QUICKLY
    process.communicate(timeout=5)
    assert process.returncode != 0
    # Killed, the first process cannot tell the other: that one finishes what is under way, every call of it stored.
    until(lambda: is_over(member), seconds=30 if number == signal.SIGKILL else 1)
    assert server.answered < calm[1], "the plan was too small to be stopped in"
    assert hold(tmp_path, server, 1).complete
    assert server.repeats <= CONNECTIONS
    check_same(tmp_path, server, calm)


def test_the_budget_holds_for_all_of_them(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(delay_s=0.05)
    per_call = 60  # the fault server counts words: a call of these items has some 50 to 90 tokens
    cap = 200 * per_call
    with pytest.raises(BudgetReachedError):
        hold(tmp_path, server, 2, budget=Budget("experiment:faults", tokens=cap))
    with Ledger.open(tmp_path / "ledger") as ledger:
        _, tokens = ledger.budget("experiment:faults")
    assert cap <= tokens <= cap + CONNECTIONS * 5 * per_call
    assert members_of(os.getpid()) == []


def _order(home: Path, plan_items: int = 2) -> WorkerAssignment:
    return WorkerAssignment.of(
        math_plan(entry_at("http://127.0.0.1:9/v1"), plan_items), str(home / "ledger"), home, 1, None
    )


@pytest.mark.parametrize("name", workers.STOPS_ALL)
def test_what_stops_one_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    details = ["c", "k", "parameters"] if name == "DriftError" else ["told"]
    script = f"import sys; sys.stdin.readline(); print({json.dumps({'error': name, 'with': details})!r}); sys.exit(3)"
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", script))
    others = WorkerProcesses([_order(tmp_path)], 1)
    with others.running(Progress("", 0)):
        until(lambda: others.fatal is not None)
    assert type(others.fatal) is getattr(errors, name)
    assert str(others.fatal) == str(getattr(errors, name)(*details))


def test_another_end_of_one_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script = """import sys; print('{"error": "InputError", "with": ["no such file"]}'); sys.exit(2)"""
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", script))
    others = WorkerProcesses([_order(tmp_path)], 1)
    with others.running(Progress("", 0)):
        pass
    assert others.fatal is None
    assert "(InputError: no such file); the others go on for it" in caplog.text


def test_one_that_cannot_be_started_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "COMMAND", (str(tmp_path / "no interpreter"),))
    others = WorkerProcesses([_order(tmp_path)], 1)
    with others.running(Progress("", 0)):
        pass
    assert others.fatal is None
    assert "could not be started (No such file or directory); the others go on for it" in caplog.text


def test_an_interrupt_while_the_others_finish_ends_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys, time; sys.stdin.read(); time.sleep(60)"
    monkeypatch.setattr(workers, "COMMAND", (sys.executable, "-c", script))
    others = WorkerProcesses([_order(tmp_path)], 1)

    def interrupt_once_told() -> None:
        until(lambda: all(member.stdin is not None and member.stdin.closed for member in others._workers))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupting = threading.Thread(target=interrupt_once_told)
    with pytest.raises(KeyboardInterrupt), others.running(Progress("", 0)):
        interrupting.start()
    interrupting.join()
    assert [member.poll() for member in others._workers] == [-signal.SIGTERM]


NOISY = """
import os, sys

async def reply(messages):
    print("to stdout", flush=True)
    os.system("echo a child to stdout")
    return f"read {sys.stdin.readline()!r}"
"""


def test_a_system_that_prints_and_reads_disturbs_neither_pipe(tmp_path: Path) -> None:
    (tmp_path / "noisy_system.py").write_text(NOISY)
    entry = ModelEntry(alias="noisy", id="python:noisy_system.reply")
    assignment = WorkerAssignment.of(math_plan(entry, 2), str(tmp_path / "ledger"), tmp_path / "lake", 2, None)
    member = subprocess.Popen(
        workers.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    with member:
        assert member.stdin is not None
        assert member.stdout is not None
        assert member.stderr is not None
        member.stdin.write(assignment.model_dump_json().encode() + b"\n")
        member.stdin.flush()
        reports = [json.loads(line) for line in member.stdout]
        said = member.stderr.read().decode()
    assert member.returncode == 0
    assert reports[-1]["counts"]["finished"] == 6
    assert said.count("to stdout\n") == 2 * reports[-1]["counts"]["calls"]
    store = ConversationStore(tmp_path / "lake", "math", "noisy")
    first = next(iter(store.read([spec.conversation_id for spec in assignment.plan().specs])))
    assert first.turns[0].reply.text == "read ''"


def test_members_import_from_where_the_first_process_does_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "pydantic.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "theirs" / "only_here.py").write_text("async def reply(messages):\n    return 'The answer is 3.'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "theirs")
    plan = math_plan(ModelEntry(alias="theirs", id="python:only_here.reply"), 2)
    progress = Progress("", 0)
    others = WorkerProcesses([WorkerAssignment.of(plan, str(tmp_path / "ledger"), tmp_path / "lake", 2, None)], 1)
    with others.running(progress):
        until(lambda: others._workers[0].poll() is not None)
    assert others.fatal is None
    assert progress.overall.finished == 6


def test_a_member_whose_run_was_over_before_it_was_told_anything_ends_quietly() -> None:
    ended = subprocess.run(workers.COMMAND, input=b"", capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize("keyless", ["fake", "user", "system"])
def test_a_key_that_is_missing_is_told_before_any_process_is_started(
    tmp_path: Path, lic_home: Path, monkeypatch: pytest.MonkeyPatch, keyless: str
) -> None:
    def entry(alias: str) -> dict[str, Any]:
        return {"alias": alias, "id": f"local/{alias}", "base_url": "http://127.0.0.1:9/v1",
                "key_variable": f"KEY_OF_{alias.upper()}"}  # fmt: skip

    lic_home.mkdir()
    user_registry().write_text(json.dumps({"models": [entry("user"), entry("system")]}))
    for alias in ("fake", "user", "system"):
        monkeypatch.setenv(f"KEY_OF_{alias.upper()}", "" if alias == keyless else f"sk-canary-of-{alias}-123")
    monkeypatch.setattr(WorkerProcesses, "_start", lambda *_: pytest.fail("a process was started"))
    roles = {"simulator": "llm", "user_model": "user", "system_model": "system"}
    plan = math_plan(ModelEntry.model_validate(entry("fake")), ITEMS, **roles)
    with Ledger.open(tmp_path / "ledger") as ledger:
        with pytest.raises(ConfigError, match=f"^{keyless} needs an API key: set KEY_OF_{keyless.upper()} in"):
            run(plan, ledger, tmp_path / "lake", max_connections=CONNECTIONS, processes=2)
        assert ledger.totals().conversations == {}


def test_an_order_makes_the_same_plan_or_none(tmp_path: Path) -> None:
    assignment = _order(tmp_path)
    again = WorkerAssignment.model_validate_json(assignment.model_dump_json())
    assert again == assignment
    wanted = math_plan(entry_at("http://127.0.0.1:9/v1"), 2)
    assert again.plan().specs == wanted.specs
    with pytest.raises(ConfigError, match="other conversations"):
        again.model_copy(update={"items": again.items[:1]}).plan()


def test_connections_are_shared_out(tmp_path: Path) -> None:
    plan = math_plan(entry_at("http://127.0.0.1:9/v1"), 2)
    with Ledger.open(tmp_path / "ledger") as ledger:
        others = WorkerProcesses.of(plan, ledger, tmp_path, 8, None, 3)
        assert [others.own_share, *(assignment.connections for assignment in others._assignments)] == [3, 3, 2]
        assert WorkerProcesses.of(plan, ledger, tmp_path, 8, None, 1)._assignments == []


def test_every_error_that_stops_all_is_one_of_ours() -> None:
    assert all(issubclass(getattr(errors, name), LicError) for name in workers.STOPS_ALL)
