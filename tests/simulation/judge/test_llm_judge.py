"""Summaries put before a model: what is asked, what is accepted, what is paid for once, what is missing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from math_plans import entry_at
from summaries_to_judge import GOOD, SUMMARY, conversation, different, good, instruction, manifest_of, says

from lic_pipeline.errors import BudgetReachedError, ProviderStoppedError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import get_model, user_registry
from lic_pipeline.records import Conversation
from lic_pipeline.simulation.judge import question_loop as hearing
from lic_pipeline.simulation.judge.judge_conversations import Judgements, judge_conversations
from lic_pipeline.simulation.judge.pending_questions import ask_again
from lic_pipeline.simulation.judge.questions import still_to_ask
from lic_pipeline.simulation.judge.stored_verdicts import judged_task
from lic_pipeline.simulation.plan.call_parameters import judge_entry
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.roles.llm_judge import judge_identity
from lic_pipeline.tables.runs import JUDGEMENTS
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.summary.stored_verdicts import NO_VERDICT


class Bench:
    """A judge at a fault server, and the summaries it is asked about."""

    def __init__(self, folder: Path, serve: Any) -> None:
        self.folder, self._serve = folder, serve

    def judged(
        self, answer: Callable[[Mapping[str, Any]], str], *texts: str, alias: str = "judge",
        script: tuple[str, ...] = (), seed: str = "none", delay_s: float = 0.0, **options: Any,
    ) -> tuple[Judgements, FaultServer, list[float | None]]:  # fmt: skip
        server: FaultServer = self._serve(script, answer=answer, delay_s=delay_s)
        user_registry().parent.mkdir(exist_ok=True)
        user_registry().write_text(
            f"models:\n  - {{alias: {alias}, id: local/{alias}, base_url: '{server.url}', limits: {{concurrency: 2}},"
            f" seed: {seed},"
            " patience: {first_pause_s: 0.01, longest_pause_s: 0.02, attempts: 3}}\n"
        )
        held = [conversation(number, text) for number, text in enumerate(texts)]
        experiment = Experiment(name="e", judge_model=alias)
        entry = judge_entry(experiment, "summary")
        assert entry is not None
        with Ledger.open(self.folder / "ledger") as ledger:
            found = judge_conversations(
                experiment, entry, ledger, manifest_of(held), {"own/1": instruction()}, iter(held), **options
            )
            task = judged_task(get_task("summary"), experiment, ledger)
            verdicts = [task.score(one.turns[0].reply.text, instruction()) for one in held]
        self.errors = [verdict.error for verdict in verdicts]
        return found, server, [verdict.score for verdict in verdicts]


@pytest.fixture
def bench(tmp_path: Path, serve: Any, lic_home: Path) -> Bench:
    return Bench(tmp_path, serve)


def test_verdicts_become_scores_and_are_paid_for_once(bench: Bench) -> None:
    found, server, scores = bench.judged(good, SUMMARY, SUMMARY, SUMMARY + "\n- More [1]")
    # First insight: full x F1 1; second: half x F1 1.
    assert scores == [75.0, 75.0, 75.0]
    assert found.states == Counter(judged=6)
    assert (found.calls, server.answered) == (2, 2), "two different summaries, whatever the policy or conversation"
    assert {row["full"] for row in found.rows} == {1}
    again, untouched, scores = bench.judged(lambda body: "never", SUMMARY, SUMMARY)
    assert (again.calls, untouched.requests, scores) == (0, 0, [75.0, 75.0])


def test_a_judge_that_takes_seeds_is_sent_a_number_for_each_question(bench: Bench) -> None:
    texts = (SUMMARY, SUMMARY + "\n- More [1]")
    _, server, scores = bench.judged(good, *texts, seed="per_conversation")
    seeds = [body["seed"] for body in server.bodies]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 2
    assert scores == [75.0, 75.0]
    _, untold, _ = bench.judged(good, SUMMARY, alias="other")
    assert "seed" not in untold.bodies[0]


def test_the_judge_sees_no_citations(bench: Bench) -> None:
    _, server, _ = bench.judged(good, SUMMARY)
    prompt = server.bodies[0]["messages"][0]["content"]
    assert "Red bikes sold 12 percent more in May" in prompt
    assert "[1]" not in prompt
    assert "citations" not in prompt


def test_another_judge_is_paid_for_anew_and_gives_its_own_scores(bench: Bench) -> None:
    bench.judged(good, SUMMARY)
    none = [{"finding": number, "coverage": "none", "bullet": None} for number in (1, 2)]
    found, _, scores = bench.judged(lambda body: says(*none), SUMMARY, alias="other")
    assert (found.calls, scores) == (1, [0.0])


UNUSABLE = {
    "prose": "Both are covered well.",
    "one missing": says(GOOD[0]),
    "one twice": says(GOOD[0], GOOD[0], GOOD[1]),
    "unknown finding": says(*GOOD, {"finding": 9, "coverage": "none", "bullet": None}),
    "unknown coverage": says(GOOD[0], {"finding": 2, "coverage": "mostly", "bullet": 1}),
    "bullet out of range": says(GOOD[0], {"finding": 2, "coverage": "full", "bullet": 7}),
    "no bullet": says({"finding": 1, "coverage": "full", "bullet": None}, GOOD[1]),
    "number too long": says({"finding": "9" * 5_000, "coverage": "none", "bullet": None}, GOOD[1]),
    "bare number too long": says(*GOOD).replace('"finding": 1', '"finding": ' + "9" * 5_000),
    "bullet too long": says(GOOD[0], {"finding": 2, "coverage": "full", "bullet": "9" * 5_000}),
    "no list": '{"verdicts": "all full"}',
    "entries no objects": '{"verdicts": [1, 2]}',
    "empty": "",
}


@pytest.mark.parametrize("said", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_is_asked_for_again_and_then_missing(bench: Bench, said: str) -> None:
    found, server, scores = bench.judged(lambda body: said, SUMMARY)
    assert (found.calls, server.answered) == (2, 2)
    assert found.states == Counter(unusable=2)
    assert scores == [None]
    assert bench.errors == [NO_VERDICT]
    again, untouched, _ = bench.judged(good, SUMMARY)
    assert (again.calls, untouched.requests) == (0, 0)


def test_the_second_answer_counts_when_it_is_usable(bench: Bench) -> None:
    answers = iter(["nothing to see", f"Here:\n```json\n{says(*GOOD)}\n```"])
    found, server, scores = bench.judged(lambda body: next(answers), SUMMARY)
    assert (found.calls, scores) == (2, [75.0])
    assert "could not be used" in server.bodies[1]["messages"][0]["content"]


def test_a_summary_without_bullets_needs_no_judge(bench: Bench) -> None:
    found, server, scores = bench.judged(good, "# Heading:\n")
    assert (found.calls, server.requests, found.rows, scores) == (0, 0, [], [0.0])


def test_a_failing_provider_leaves_it_missing_and_the_next_run_asks(bench: Bench) -> None:
    found, _, scores = bench.judged(good, SUMMARY, script=("500",) * 6)
    assert scores == [None]
    assert set(found.states) != {"judged"}
    found, _, scores = bench.judged(good, SUMMARY)
    assert (found.states, scores) == (Counter(judged=2), [75.0])


def test_a_bad_key_stops_the_run(bench: Bench) -> None:
    with pytest.raises(ProviderStoppedError):
        bench.judged(good, SUMMARY, script=("401",) * 4)


def test_the_budget_stops_judging_and_a_larger_one_goes_on(bench: Bench) -> None:
    texts = [f"{SUMMARY}\n- Extra number {number} [1]" for number in range(12)]
    with pytest.raises(BudgetReachedError):
        bench.judged(good, *texts, budget=Budget("experiment:e", None, 600))
    with Ledger.open(bench.folder / "ledger") as ledger:
        paid = ledger.totals().calls["local/judge", "judge"].calls
    assert 0 < paid < 12
    found, _, scores = bench.judged(good, *texts)
    assert (found.calls, scores) == (12 - paid, [75.0] * 12)


def test_what_is_still_to_ask_is_counted_by_content(bench: Bench) -> None:
    bench.judged(good, SUMMARY)
    texts = [SUMMARY, f"{SUMMARY}\n- New [1]", f"{SUMMARY}\n- New [1]"]
    held = [conversation(number, text) for number, text in enumerate(texts)]
    with Ledger.open(bench.folder / "ledger") as ledger:
        asked = [still_to_ask(get_model(name), ledger, {"own/1": instruction()}, held) for name in ("judge", "gpt-4o")]
    assert asked == [{held[1].conversation_id: 1}, {held[0].conversation_id: 1, held[1].conversation_id: 1}]


def test_identity_follows_model_and_prompt_not_address_or_limits() -> None:
    here, there = entry_at("http://127.0.0.1:1/v1"), entry_at("http://127.0.0.1:2/v1", limits={"concurrency": 3})
    assert judge_identity(here) == judge_identity(there)
    assert judge_identity(here) != judge_identity(entry_at("http://127.0.0.1:1/v1", id="local/other"))


def test_no_more_is_asked_at_once_than_the_run_allows(bench: Bench) -> None:
    texts = [one.turns[0].reply.text for one in different(12)]
    _, server, _ = bench.judged(good, *texts, max_connections=1, delay_s=0.01)
    assert (server.answered, server.most_in_flight) == (12, 1)
    _, server, _ = bench.judged(good, *texts, alias="other", max_connections=40, delay_s=0.01)
    assert (server.answered, server.most_in_flight) == (12, 2), "the entry's own limit still holds"


def test_many_summaries_are_looked_up_and_claimed_together(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    for name in ("states", "verdict", "verdicts", "claim", "load"):
        _counting(monkeypatch, name, asked)
    texts = [one.turns[0].reply.text for one in different(600)]
    found, server, _ = bench.judged(good, *texts)
    assert (found.calls, server.answered, found.states) == (600, 600, Counter(judged=1200))
    assert {name: asked[name] for name in ("states", "verdicts", "claim")} == {"states": 3, "verdicts": 3, "claim": 3}
    asked.clear()
    again, untouched, _ = bench.judged(good, *texts)
    assert (again.calls, untouched.requests, again.rows) == (0, 0, found.rows)
    assert {name: asked[name] for name in ("states", "verdicts", "claim")} == {"states": 3, "verdicts": 3, "claim": 0}


def _counting(monkeypatch: pytest.MonkeyPatch, name: str, counts: Counter[str]) -> None:
    original = getattr(Ledger, name)

    def counted(self: Ledger, *arguments: Any, **options: Any) -> Any:
        counts[name] += 1
        return original(self, *arguments, **options)

    monkeypatch.setattr(Ledger, name, counted)


def test_summaries_are_read_as_they_are_needed(tmp_path: Path, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "WINDOW", 8)
    server: FaultServer = serve(answer=good, delay_s=0.005)
    count = 200
    furthest = 0

    def watched() -> Iterator[Conversation]:
        nonlocal furthest
        for number, one in enumerate(different(count)):
            furthest = max(furthest, number - server.answered)
            yield one

    with Ledger.open(tmp_path) as ledger:
        entry = entry_at(server.url, alias="judge", limits={"concurrency": 4})
        experiment = Experiment(name="e", judge_model="judge")
        found = judge_conversations(
            experiment, entry, ledger, manifest_of(different(count)), {"own/1": instruction()}, watched()
        )
    assert (found.calls, len(found.rows)) == (count, 2 * count)
    assert [row["run"] for row in found.rows] == [number for number in range(count) for _ in range(2)]
    assert furthest <= 2 * 8 + 2 * 4


def keys_of(found: Judgements) -> list[str]:
    return [row["judgement_id"] for row in found.rows]


def test_an_unusable_answer_is_replaced_by_a_new_one_on_demand(bench: Bench) -> None:
    useless, first, _ = bench.judged(lambda body: "no idea", SUMMARY, seed="per_conversation")
    with Ledger.open(bench.folder / "ledger") as ledger:
        assert ask_again(ledger, [*keys_of(useless), "unknown"]) == 1
    found, second, scores = bench.judged(good, SUMMARY, seed="per_conversation")
    assert (found.calls, found.states, scores) == (1, Counter(judged=2), [75.0])
    seeds = [{body["seed"] for body in server.bodies} for server in (first, second)]
    assert len(seeds[0] | seeds[1]) == 2, "the same seed would ask for the same answer"
    with Ledger.open(bench.folder / "ledger") as ledger:
        assert ledger.totals().overall.calls == 3, "what was paid for stays counted"
        assert ask_again(ledger, keys_of(found)) == 0, "a verdict is never asked for twice"
    again, untouched, _ = bench.judged(lambda body: "never", SUMMARY, seed="per_conversation")
    assert (again.calls, untouched.requests, again.rows) == (0, 0, found.rows)


def test_asked_again_in_vain_it_is_unusable_again_and_paid_for_once_more(bench: Bench) -> None:
    useless, _, _ = bench.judged(lambda body: "no idea", SUMMARY)
    for _ in range(2):
        with Ledger.open(bench.folder / "ledger") as ledger:
            assert ask_again(ledger, keys_of(useless)) == 1
        found, server, scores = bench.judged(lambda body: "no idea", SUMMARY)
        assert (found.calls, server.answered, found.states, scores) == (2, 2, Counter(unusable=2), [None])
    _, untouched, _ = bench.judged(good, SUMMARY)
    assert untouched.requests == 0


def test_a_verdict_that_was_lost_is_read_from_its_calls(bench: Bench) -> None:
    bench.judged(good, SUMMARY)
    with closing(sqlite3.connect(bench.folder / "ledger" / "ledger.sqlite")) as connection, connection:
        assert connection.execute("DELETE FROM verdicts").rowcount == 1
    found, server, scores = bench.judged(good, SUMMARY)
    assert (found.calls, server.requests, found.states, scores) == (0, 0, Counter(judged=2), [75.0])


def test_a_question_that_would_be_asked_otherwise_today_is_missing_until_it_is_asked_anew(bench: Bench) -> None:
    bench.judged(good, SUMMARY)
    with closing(sqlite3.connect(bench.folder / "ledger" / "ledger.sqlite")) as connection, connection:
        connection.execute("DELETE FROM verdicts")
        connection.execute("UPDATE calls SET request_hash = 'other', request_fields = '{}'")
    for _ in range(2):
        found, server, scores = bench.judged(good, SUMMARY)
        assert (server.requests, set(found.states), scores) == (0, {"error:drift"}, [None])
    with Ledger.open(bench.folder / "ledger") as ledger:
        assert ask_again(ledger, keys_of(found)) == 1
    found, server, scores = bench.judged(good, SUMMARY)
    assert (found.calls, server.answered, scores) == (1, 1, [75.0])


def test_every_turn_is_judged_where_the_experiment_says_so(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(answer=good)
    entry = entry_at(server.url, alias="judge", id="local/judge")
    held = [conversation(0, "I have nothing yet:", SUMMARY, f"{SUMMARY}\n- More [1]"), conversation(1, SUMMARY)]

    def judged(**fields: Any) -> list[tuple[int, int, str, str]]:
        with Ledger.open(tmp_path / "ledger") as ledger:
            experiment = Experiment(name="e", judge_model="judge", **fields)
            found = judge_conversations(
                experiment, entry, ledger, manifest_of(held), {"own/1": instruction()}, iter(held)
            )
        JUDGEMENTS.arrow_table(found.rows)
        assert len({tuple(row[name] for name in JUDGEMENTS.key) for row in found.rows}) == len(found.rows)
        return [(row["run"], row["turn"], row["policy"], row["state"]) for row in found.rows]

    policies = ("robust", "reference")
    assert judged() == [(run, turn, policy, "judged") for run, turn in ((0, 3), (1, 1)) for policy in policies]
    assert server.answered == 2
    every = judged(judge_every_turn=True)
    assert every == [(run, turn, policy, "judged") for run, turn in ((0, 2), (0, 3), (1, 1)) for policy in policies]
    assert server.answered == 2, "what the second turn says, the other conversation has said"


def test_without_a_model_every_turn_is_scored_by_the_lexical_judge(tmp_path: Path) -> None:
    task = get_task("summary")
    with Ledger.open(tmp_path) as ledger:
        every = judged_task(task, Experiment(name="e", judge_every_turn=True), ledger)
        assert (every.scores_every_turn, task.scores_every_turn) == (True, False)
        assert every.score(SUMMARY, instruction()) == task.score(SUMMARY, instruction())
        assert judged_task(task, Experiment(name="e"), ledger) is task
        assert judged_task(get_task("math"), Experiment(name="e", judge_every_turn=True), ledger) is get_task("math")
