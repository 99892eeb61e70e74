"""``lic score summary --judge MODEL``: what is asked, paid for once, capped, interrupted and left without a score."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import typer
from fault_server import FaultServer
from summaries_to_judge import GOOD, INSIGHTS, SUMMARY, different, good, instruction, manifest_of, says
from typer.testing import CliRunner, Result

from lic_pipeline.cli.commands.score import score
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import get_model, user_registry
from lic_pipeline.simulation.judge.judge_conversations import judge_conversations
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.tasks.summary.stored_verdicts import NO_VERDICT

APP = typer.Typer(add_completion=False, rich_markup_mode=None)
APP.command()(score)
COMMAND = (
    "import typer; from lic_pipeline.cli.commands.score import score; "
    "app = typer.Typer(add_completion=False, rich_markup_mode=None); app.command()(score); app()"
)
GIVEN = [{"insight_id": "a", "coverage": "full", "bullet_id": 1}, {"insight_id": "b", "coverage": "none"}]


def line(text: str = SUMMARY, **fields: Any) -> dict[str, Any]:
    return {"insights": INSIGHTS, "response": text, **fields}


def lines(count: int) -> list[dict[str, Any]]:
    return [line(one.turns[0].reply.text, id=number) for number, one in enumerate(different(count))]


class Scoring:
    """A judge at a fault server, a file of lines, and the command on both."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.source, self.target = folder / "lines.jsonl", folder / "scores.jsonl"
        self._stack = stack

    def write(self, *items: Any) -> None:
        self.source.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in items))

    def serve(
        self, answer: Callable[[Mapping[str, Any]], str] = good, script: tuple[str, ...] = (), entry: str = "",
        delay_s: float = 0.0,
    ) -> FaultServer:  # fmt: skip
        server = self._stack.enter_context(FaultServer(script, answer=answer, delay_s=delay_s))
        user_registry().parent.mkdir(exist_ok=True)
        user_registry().write_text(
            f"models:\n  - {{alias: judge, id: local/judge, base_url: '{server.url}', limits: {{concurrency: 4}}, "
            f"patience: {{first_pause_s: 0.01, longest_pause_s: 0.02, attempts: 3}}{entry}}}\n"
        )
        return server

    def __call__(self, *options: str, code: int = 0, judge: str = "judge") -> Result:
        result = CliRunner().invoke(APP, ["summary", str(self.source), "--judge", judge, *options])
        assert result.exit_code == code, result.output
        return result

    def scored(self, *options: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self(*options, code=code).stdout.splitlines()]


@pytest.fixture
def scoring(tmp_path: Path, lic_home: Path) -> Iterator[Scoring]:
    with ExitStack() as stack:
        yield Scoring(tmp_path, stack)


PRICED = ", price: {prompt: 1000, completion: 1000}"


def test_only_what_brings_no_verdict_is_asked_and_the_order_stays(scoring: Scoring) -> None:
    asked = {"a": {"coverage": "partial", "bullet": 1}, "b": {"coverage": "full", "bullet": 2}}

    def answer(body: Mapping[str, Any]) -> str:
        prompt = body["messages"][0]["content"]
        ids = [name for name, text in (("a", "Sales of red bikes"), ("b", "The depot in Ulm")) if text in prompt]
        return says(*({"finding": number, **asked[name]} for number, name in enumerate(ids, start=1)))

    scoring.write(
        line(id="judged"), line(id="given", verdicts=GIVEN), "{broken", line(id="some", verdicts=GIVEN[:1]), "",
        line(id="twice"), line("", id="empty"), line("# Heading:\n", id="no bullet"), {**line(), "response": None},
    )  # fmt: skip
    server = scoring.serve(answer)
    first = scoring("--jobs", "2", code=1).stdout
    found = [json.loads(text) for text in first.splitlines()]
    assert [(one["id"], one["score"]) for one in found] == [
        ("judged", 75.0), ("given", 50.0), (None, None), ("some", 100.0), ("twice", 75.0), ("empty", 0.0),
        ("no bullet", 0.0), (9, None),
    ]  # fmt: skip
    signed = [one["signature"].rpartition("|judge:")[2] for one in (found[0], found[1], found[3], found[6])]
    assert signed == ["judge", "given", "given+judge", "judge"]
    assert (found[2]["error"][:6], found[7]["error"]) == ("line 3", "no_response")
    assert server.answered == 2, "one question of two findings, one of the finding that had no verdict"
    assert scoring(code=1).stdout == first
    assert server.requests == 2


def test_a_summary_that_a_run_has_judged_is_not_paid_for_again(scoring: Scoring, lic_home: Path) -> None:
    server = scoring.serve()
    (lic_home / "ledger").mkdir(parents=True)
    with Ledger.open(lic_home / "ledger") as ledger:
        experiment = Experiment(name="e", judge_model="judge")
        judge_conversations(
            experiment, get_model("judge"), ledger, manifest_of(different(5)), {"own/1": instruction()}, different(5)
        )
    assert server.answered == 5
    scoring.write(*lines(6))
    assert [one["score"] for one in scoring.scored()] == [75.0] * 6
    assert server.answered == 6


def test_an_unusable_answer_leaves_the_line_without_a_score_and_is_not_asked_again(scoring: Scoring) -> None:
    def answer(body: Mapping[str, Any]) -> str:
        return "Hm." if "number 1" in body["messages"][0]["content"] else says(*GOOD)

    scoring.write(*lines(3))
    server = scoring.serve(answer)
    for _ in range(2):
        found = scoring.scored(code=1)
        assert [(one["score"], one["error"]) for one in found] == [(75.0, None), (None, NO_VERDICT), (75.0, None)]
        assert server.answered == 4


def test_it_is_asked_again_where_that_is_said(scoring: Scoring) -> None:
    texts = [one["response"] for one in lines(600)]
    odd = [texts[3], texts[500]]
    scoring.write(*(line(text) for text in [*texts, *odd]))
    scoring.serve(lambda body: "Hm." if any(f'number {n}"' in str(body) for n in (3, 500)) else says(*GOOD))
    assert sum(one["score"] is None for one in scoring.scored(code=1)) == 4
    useless = scoring.serve(lambda body: "Hm again.")
    assert "4 calls made to judge" in scoring("--ask-again", code=1).stderr
    assert useless.answered == 4, "each question twice, however often it is raised"
    server = scoring.serve()
    found = scoring("--ask-again")
    assert [json.loads(text)["score"] for text in found.stdout.splitlines()] == [75.0] * 602
    assert "2 calls made to judge" in found.stderr
    assert "0 calls made to judge" in scoring("--ask-again").stderr
    assert server.answered == 2


def test_a_failing_provider_is_named_and_the_next_run_asks(scoring: Scoring) -> None:
    scoring.write(line())
    scoring.serve(script=("500",) * 3)
    (found,) = scoring.scored(code=1)
    assert (found["score"], found["verdict"]) == (None, "not_judged")
    assert found["error"].startswith("judge: error:transient: judge: ")
    scoring.serve()
    assert [one["score"] for one in scoring.scored()] == [75.0]


@pytest.mark.parametrize(
    ("entry", "judge_name", "options", "message"),
    [
        ("", "nobody", (), "unknown model 'nobody'"),
        ("", "sim/lost", (), "calibration persona"),
        (PRICED, "judge", (), "judge would be paid for: set a cap with --budget-usd or --budget-tokens, or say --yes"),
        ("", "judge", ("--budget-usd", "1"), "the price of judge is unknown"),
        ("", "judge", ("--budget-usd", "-1"), "--budget-usd"),
        ("", "judge", ("--budget-tokens", "many"), "--budget-tokens"),
        ("", "judge", ("--max-connections", "0"), "--max-connections"),
    ],
)
def test_nothing_is_asked_and_nothing_written_without_a_judge_and_an_opt_in(
    scoring: Scoring, lic_home: Path, entry: str, judge_name: str, options: tuple[str, ...], message: str
) -> None:
    scoring.write(line())
    server = scoring.serve(entry=entry)
    result = scoring("-o", str(scoring.target), *options, code=2, judge=judge_name)
    assert message in result.stderr
    assert (server.requests, scoring.target.exists(), (lic_home / "ledger").exists()) == (0, False, False)


@pytest.mark.parametrize("options", [("--yes",), ("--budget-usd", "1000"), ("--budget-tokens", "100000")])
def test_an_opt_in_lets_it_spend(scoring: Scoring, options: tuple[str, ...]) -> None:
    scoring.write(line())
    scoring.serve(entry=PRICED)
    assert scoring.scored(*options)[0]["score"] == 75.0


def test_a_budget_ends_it_with_3_writes_nothing_and_a_larger_one_goes_on(scoring: Scoring) -> None:
    scoring.write(*lines(30))
    scoring.target.write_text("old")
    server = scoring.serve(delay_s=0.005)
    for _ in range(2):
        result = scoring("-o", str(scoring.target), "--budget-tokens", "2000", code=3)
        assert f"the budget of score:{scoring.source} is used up" in result.stderr
        assert scoring.target.read_text() == "old"
        paid = server.answered
    assert 0 < paid < 30
    assert {path.name for path in scoring.source.parent.iterdir()} == {"home", "lines.jsonl", "scores.jsonl"}
    scoring("-o", str(scoring.target), "--budget-tokens", "200000")
    assert [json.loads(text)["score"] for text in scoring.target.read_text().splitlines()] == [75.0] * 30
    assert (server.answered, server.repeats) == (30, 0)


def test_a_bad_key_ends_it_with_4(scoring: Scoring) -> None:
    scoring.write(*lines(5))
    scoring.serve(script=("401",) * 8)
    result = scoring("-o", str(scoring.target), code=4)
    assert "Incorrect API key" in result.stderr
    assert not scoring.target.exists()


def test_a_key_is_needed_for_what_is_to_be_asked_only(scoring: Scoring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY_OF_THE_JUDGE", raising=False)
    scoring.write(line())
    scoring.serve()
    before = scoring().stdout
    server = scoring.serve(entry=", key_variable: KEY_OF_THE_JUDGE")
    assert scoring().stdout == before
    scoring.write(*lines(2))
    assert "KEY_OF_THE_JUDGE" in scoring("-o", str(scoring.target), code=2).stderr
    assert (server.requests, scoring.target.exists()) == (0, False)


def test_no_more_is_asked_at_once_than_allowed(scoring: Scoring) -> None:
    scoring.write(*lines(12))
    server = scoring.serve(delay_s=0.01)
    scoring("--max-connections", "1")
    assert (server.answered, server.most_in_flight) == (12, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_with_130_and_goes_on_where_it_was(scoring: Scoring, number: signal.Signals) -> None:
    scoring.write(*lines(200))
    scoring.target.write_text("old")
    server = scoring.serve(delay_s=0.02)
    command = [sys.executable, "-c", COMMAND, "summary", str(scoring.source), "--judge", "judge", "-o",
               str(scoring.target)]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
    deadline = time.monotonic() + 60
    while server.answered < 40 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(number)
    _, told = process.communicate(timeout=10)
    assert (process.returncode, scoring.target.read_text()) == (130, "old")
    assert told.startswith("lic score: interrupted")
    assert told.count("\n") == 1
    assert server.answered < 200
    scoring("-o", str(scoring.target))
    assert len(scoring.target.read_text().splitlines()) == 200
    assert server.repeats <= 4


def test_lines_of_a_slow_pipe_are_asked_as_they_come_and_an_interrupt_ends_it(scoring: Scoring) -> None:
    server = scoring.serve()
    command = [sys.executable, "-c", COMMAND, "summary", "-", "--judge", "judge"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
    assert process.stdin is not None
    deadline = time.monotonic() + 60
    for one in lines(100):
        if server.answered or time.monotonic() > deadline:
            break
        process.stdin.write(json.dumps(one) + "\n")
        process.stdin.flush()
        time.sleep(0.2)
    assert server.answered
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert process.stderr.read().startswith("lic score: interrupted")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
