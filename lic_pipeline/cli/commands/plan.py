"""``lic plan``: what ``lic run`` with the same options would do. It calls no model and holds no conversation.

A task that was never prepared (or whose files changed) is prepared first, as a run would: that reads local files only,
and without the approved items there is nothing to plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lic_pipeline.cli.shared.options import (
    AsJson,
    ExperimentName,
    JudgeEveryTurn,
    JudgeModel,
    Limit,
    Models,
    Runs,
    Seed,
    Settings,
    Simulator,
    SystemModel,
    SystemPrompt,
    Tasks,
    Temperature,
    UserModel,
)

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.ledger import Ledger
    from lic_pipeline.simulation.judge.expected_questions import ExpectedQuestions
    from lic_pipeline.simulation.plan.conversation_plan import Plan
    from lic_pipeline.simulation.resume.pending_conversations import PendingConversations

Explain = Annotated[
    tuple[str, str] | None, typer.Option("--explain", metavar="ID ID", help="Why two conversation ids differ.")
]


def plan(
    model: Models = None,
    task: Tasks = None,
    setting: Settings = None,
    experiment: ExperimentName = "main",
    runs: Runs = None,
    limit: Limit = None,
    seed: Seed = None,
    simulator: Simulator = None,
    user_model: UserModel = None,
    system_model: SystemModel = None,
    judge_model: JudgeModel = None,
    judge_every_turn: JudgeEveryTurn = False,
    temperature: Temperature = None,
    system_prompt: SystemPrompt = None,
    explain: Explain = None,
    as_json: AsJson = False,
) -> None:
    """Conversations, calls, tokens and money of a run, what is done and what is missing. Calls nothing."""
    from lic_pipeline.cli.shared.explain_ids import show_differences
    from lic_pipeline.cli.shared.open_ledger import ledger_to_read
    from lic_pipeline.cli.shared.options import resolve
    from lic_pipeline.cli.shared.run_partitions import prepare_tasks
    from lic_pipeline.cli.shared.run_results import print_unusable
    from lic_pipeline.config import Home

    home = Home.locate().prepare()
    choice = None
    if model or explain is None:
        choice = resolve(
            home,
            models=model,
            tasks=task,
            settings=setting,
            experiment=experiment,
            runs=runs,
            limit=limit,
            seed=seed,
            simulator=None if simulator is None else simulator.value,
            user_model=user_model,
            system_model=system_model,
            judge_model=judge_model,
            judge_every_turn=judge_every_turn or None,
            temperature=temperature,
            system_prompt=system_prompt,
        )
        _require_roles(choice)
        prepare_tasks(home, choice)
    if explain is not None:
        show_differences(home, choice, explain, as_json=as_json)
        return
    assert choice is not None
    with ledger_to_read(home) as ledger:
        document = _document(home, choice, ledger)
    _show(document, as_json)
    for name in choice.tasks:
        print_unusable(home, name)


def _require_roles(choice: RunChoice) -> None:
    from lic_pipeline.simulation.plan.call_parameters import role_entries

    for entry in choice.models:
        for name in choice.tasks:
            role_entries(choice.experiment, entry, name)


def _document(home: Home, choice: RunChoice, ledger: Ledger) -> dict[str, Any]:
    from lic_pipeline.cli.shared.items_without_reference import unplayable
    from lic_pipeline.simulation.cost_estimate import BASIS
    from lic_pipeline.verification.bookkeeping.manifests import plan_for

    totals = ledger.totals()
    rows: list[dict[str, Any]] = []
    skipped = []
    without: dict[str, list[str]] = {}
    for entry in choice.models:
        for task in choice.tasks:
            made = plan_for(home.lake, choice.experiment, task, entry)
            if made.skipped is not None:
                skipped.append(made.skipped)
            else:
                rows += _rows(home, made, ledger, totals)
                if names := unplayable(made):
                    without[task] = names
    return {
        "experiment": choice.experiment.name,
        "settings": [str(setting) for setting in choice.experiment.settings],
        "runs": choice.experiment.runs,
        "basis": BASIS,
        "skipped": skipped,
        "no_reference": without,
        "rows": rows,
        "total": _total(rows),
    }


def _rows(home: Home, made: Plan, ledger: Ledger, totals: Any) -> list[dict[str, Any]]:
    from collections import Counter

    from lic_pipeline.lake.conversations import ConversationStore
    from lic_pipeline.simulation.cost_estimate import estimate
    from lic_pipeline.simulation.plan.conversation_plan import NO_SHARDS
    from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
    from lic_pipeline.verification.bookkeeping.status import NEVER_CALLED, open_by_reason

    pending = PendingConversations(made, ledger, ConversationStore(home.lake, made.task.name, made.model.alias))
    reasons = dict(open_by_reason(pending))
    to_call = {name for name, reason in reasons.items() if reason not in NEVER_CALLED}
    judging = _judging(home, made, pending)
    costs = estimate(made, to_call, totals, judging)
    rows = []
    for setting, cost in costs.items():
        specs = [spec for spec in made.specs if spec.setting is setting]
        missing = Counter(reasons[s.conversation_id] for s in specs if s.conversation_id in reasons)
        withheld = [spec for spec in made.withheld if spec.setting is setting]
        if withheld:
            missing[NO_SHARDS] += len(withheld)
        failed = Counter(
            pending.states[s.conversation_id]
            for s in specs
            if s.conversation_id in pending.settled and pending.states[s.conversation_id] != "done"
        )
        tokens = [sum(getattr(share, kind) for share in cost.roles.values()) for kind in ("prompt", "completion")]
        rows.append(
            {
                "task": made.task.name,
                "model": made.model.alias,
                "setting": str(setting),
                "items": len(made.items),
                "conversations": len(specs) + len(withheld),
                "done": len(specs) + len(withheld) - missing.total() - failed.total(),
                "missing": dict(sorted((missing + failed).items())),
                "calls": {role: share.calls for role, share in sorted(cost.roles.items())},
                "prompt_tokens": 0 if cost.free else tokens[0],
                "completion_tokens": 0 if cost.free else tokens[1],
                "cost_usd": cost.usd,
                "free": cost.free,
                "judging": _certainty(judging)
                if judging and any(s.conversation_id in to_call for s in specs)
                else None,
            }
        )
    return rows


def _judging(home: Home, made: Plan, pending: PendingConversations) -> ExpectedQuestions | None:
    """What a judge will be asked, also of what was held before: a new judge is paid for although no conversation is."""
    from lic_pipeline.simulation.judge.expected_questions import expected_questions
    from lic_pipeline.simulation.plan.call_parameters import judge_entry
    from lic_pipeline.verification.bookkeeping.fingerprints import is_judged

    entry = judge_entry(made.experiment, made.task.name)
    return None if entry is None else expected_questions(pending, entry, judged=is_judged(home, made, pending.ledger))


def _certainty(judging: ExpectedQuestions) -> dict[str, Any]:
    """How the number for summaries still to be written was found; questions about held ones are exact."""
    return {
        "questions_per_summary": judging.per_summary,
        "margin_95": judging.margin,
        "counted_in": judging.counted,
        "basis": judging.certainty,
    }


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    from collections import Counter

    calls, missing = Counter[str](), Counter[str]()
    for row in rows:
        calls.update(row["calls"])
        missing.update(row["missing"])
    costs = [row["cost_usd"] for row in rows]
    sums = {name: sum(row[name] for row in rows) for name in _SUMMED}
    cost = None if any(one is None for one in costs) else sum(costs)
    shared = {"missing": dict(sorted(missing.items())), "calls": dict(sorted(calls.items())), "cost_usd": cost}
    return {**sums, **shared, "free": all(row["free"] for row in rows)}


_SUMMED = ("conversations", "done", "prompt_tokens", "completion_tokens")
_COLUMNS = ("task", "model", "setting", "items", "conversations", "done", "missing", "calls", "tokens", "cost")


def _show(document: dict[str, Any], as_json: bool) -> None:
    from lic_pipeline.cli.shared.items_without_reference import tell
    from lic_pipeline.cli.shared.output import print_json, print_table, say

    if as_json:
        print_json(document)
    else:
        total = {"task": "all", "model": "", "setting": "", "items": "", **document["total"]}
        lines = [_line(row) for row in (*document["rows"], total)]
        print_table(f"Plan of experiment {document['experiment']}, {document['runs']} runs each", _COLUMNS, lines)
        if not document["total"]["free"]:
            print(f"Tokens and cost are estimates: {document['basis']}.")
        for basis in dict.fromkeys(row["judging"]["basis"] for row in document["rows"] if row["judging"]):
            print(f"{basis}.")
    for reason in document["skipped"]:
        say(f"skipped: {reason}")
    for task, names in document["no_reference"].items():
        tell(task, names)


def _line(row: dict[str, Any]) -> list[object]:
    from lic_pipeline.cli.shared.output import counted, money

    tokens = row["prompt_tokens"] + row["completion_tokens"]
    names = [row[name] for name in ("task", "model", "setting", "items", "conversations", "done")]
    calls = counted({role: number for role, number in row["calls"].items() if number})
    return [*names, counted(row["missing"]), calls or 0, tokens, money(row["cost_usd"], free=row["free"])]
