"""What ``lic demo-llm`` prints: what came out per setting, what each role did, and how little the numbers mean."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.cli.shared.run_partitions import RunSummary
    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.records import StoredConversation
    from lic_pipeline.records import Conversation, Turn
    from lic_pipeline.simulation.plan.conversation_plan import Plan

HONESTLY = """\
Every part of this run is real: a language model answered each call over HTTP, through the client, the limits and the
ledger that a paid model goes through. The numbers mean nothing. The model that comes with this demo has 135 million
parameters: it solves almost no item, and as user, classifier, extractor or judge its word is worth about as much as a
coin's, although the server holds these replies to the form the role asks for. Nothing here says anything about
conversations, or about any other model."""


def show(home: Home, choice: RunChoice, done: RunSummary, *, as_json: bool) -> None:
    """Tables on stdout (or one JSON document), what is missing and where things lie on stderr."""
    from lic_pipeline.cli.shared.output import counted, print_json, print_table, say

    document = _document(home, choice, done)
    if as_json:
        print_json(document)
    else:
        columns = ("setting", "wanted", "held", *(f"P {task}" for task in choice.tasks), *_COUNTED)
        print_table(str(document["model"]), columns, _setting_lines(document))
        print_table("What the roles did", ("role", "calls", "tokens", "of which"), _role_lines(document["roles"]))
        print(HONESTLY)
    say(f"\n{done.calls:,} calls made, {done.planned:,} conversations wanted, home {home.root}")
    if done.missing:
        say(f"missing: {counted(done.missing)}; run it again to go on")
    say(f"every call, word for word: LIC_HOME={home.root} lic ledger export")


_COUNTED = ("attempts", "user turns", "flagged", "flags", "missing")


def _document(home: Home, choice: RunChoice, done: RunSummary) -> dict[str, Any]:
    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.lake.conversations import ConversationStore
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.simulation.plan.context_limits import unanswerable_items
    from lic_pipeline.tables.runs import JUDGEMENTS
    from lic_pipeline.tables.scores import SCORES
    from lic_pipeline.verification.bookkeeping.manifests import manifest_partition, plan_for

    (model,) = choice.models
    plans: list[Plan] = []
    held: dict[str, Conversation] = {}
    scores: dict[str, Mapping[str, Any]] = {}
    never: dict[str, str] = {}
    judged: dict[str, Mapping[str, Any]] = {}
    for task in choice.tasks:
        plan = plan_for(home.lake, choice.experiment, task, model)
        plans.append(plan)
        ids = [spec.conversation_id for spec in plan.specs]
        held |= {one.conversation_id: one for one in ConversationStore(home.lake, task, model.alias).read(ids)}
        partition = manifest_partition(choice.experiment.name, task, model.alias)
        rows = read_partition(home.lake, SCORES, partition) or []
        scores |= {row["conversation_id"]: row for row in rows}
        judged |= {row["judgement_id"]: row for row in read_partition(home.lake, JUDGEMENTS, partition) or []}
        reasons = unanswerable_items(plan)
        never |= {s.conversation_id: reasons[s.instruction_id] for s in plan.specs if s.instruction_id in reasons}
    with open_ledger(home) as ledger:
        stored = ledger.load([*held, *judged])
    return {
        "model": model.id.partition("/")[2],
        "tasks": list(choice.tasks),
        "calls_made": done.calls,
        "settings": [_setting_row(name, ids, held, scores, never) for name, ids in _by_setting(plans).items()],
        "roles": _roles([one for one in held.values() if one.state == "done"], judged, stored),
    }


def _by_setting(plans: Iterable[Plan]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for plan in plans:
        for setting in plan.experiment.settings:
            found[str(setting)] += [s.conversation_id for s in plan.specs if s.setting is setting]
    return found


def _setting_row(
    setting: str,
    ids: Sequence[str],
    held: Mapping[str, Conversation],
    scores: Mapping[str, Mapping[str, Any]],
    never: Mapping[str, str],
) -> dict[str, Any]:
    done = [held[name] for name in ids if name in held and held[name].state == "done"]
    rows = [scores[name] for name in ids if name in scores]
    known: dict[str, list[float]] = {str(row["task"]): [] for row in rows}
    for row in rows:
        if row["score"] is not None:
            known[row["task"]].append(row["score"])
    absent = Counter(row["missing_reason"] or "unknown" for row in rows if row["score"] is None)
    absent.update(never.get(name, "not_run") for name in ids if name not in scores)
    return {
        "setting": setting,
        "wanted": len(ids),
        "held": len(done),
        "P": {task: sum(found) / len(found) if found else None for task, found in known.items()},
        "attempts": sum(turn.attempt is not None for one in done for turn in one.turns),
        "user_turns": sum(len(one.turns) for one in done),
        "flagged": sum(bool(one.flags) for one in done),
        "flags": dict(Counter(flag for one in done for flag in one.flags)),
        "missing": dict(absent),
    }


def _roles(
    held: Sequence[Conversation], judged: Mapping[str, Mapping[str, Any]], stored: Mapping[str, StoredConversation]
) -> dict[str, dict[str, Any]]:
    """By role: calls, tokens, and what became of its words. ``judged``: rows of the judge's questions by id."""
    from lic_pipeline.models.ledger.records import CallKey

    found: dict[str, dict[str, Any]] = {}
    for one in stored.values():
        for key, call in one.calls.items():
            row = found.setdefault(key.role, {"calls": 0, "tokens": 0, "of_which": Counter()})
            usage = call.reply["usage"]
            row["calls"] += 1
            row["tokens"] += (usage["prompt"] or 0) + (usage["completion"] or 0)
            row["of_which"]["cut at the token limit"] += call.reply["finish_reason"] == "length"
    for conversation in held:
        known = stored[conversation.conversation_id]
        for turn in conversation.turns:
            for role, outcome in _outcomes(turn):
                # What a role was not asked, it did not decide: rules and scripts did.
                if CallKey(role, turn.turn) in known.calls:
                    found[role]["of_which"][outcome] += 1
    for name, judgement in judged.items():
        if name in stored and stored[name].calls:
            found["judge"]["of_which"].update(_judged(judgement))
    return {role: {**row, "of_which": dict(+row["of_which"])} for role, row in found.items()}


_EXTRACTED = {"llm_failed": "nothing usable twice", "llm_none": "found no answer"}


def _outcomes(turn: Turn) -> Iterable[tuple[str, str]]:
    from lic_pipeline.records import Rung

    again = "sent as said, after asking again" if "reasked" in turn.user_flags else "sent as said"
    yield "user", "replaced by the shard word for word" if "fallback" in turn.user_flags else again
    yield (
        "classifier",
        "no usable label, the rules decided" if "label_fallback" in turn.system_flags else f"said {turn.strategy}",
    )
    if turn.attempt is not None and turn.attempt.extraction.rung is Rung.LLM:
        yield "extractor", "lifted an answer"
    for flag in turn.attempt.extraction.flags if turn.attempt is not None else ():
        if flag in _EXTRACTED:
            yield "extractor", _EXTRACTED[flag]


def _judged(row: Mapping[str, Any]) -> dict[str, int]:
    """Findings by what the judge said of them in one summary."""
    if row["full"] is None:
        return {"no usable verdict": 1}
    return {f"findings {said}": row[name] for name, said in _COVERAGES.items()}


_COVERAGES = {"full": "covered", "partial": "partly covered", "none": "not covered"}


def _setting_lines(document: Mapping[str, Any]) -> list[list[object]]:
    from lic_pipeline.cli.shared.output import counted

    lines: list[list[object]] = []
    for row in document["settings"]:
        scores = [row["P"].get(task) for task in document["tasks"]]
        shown = ["–" if score is None else f"{score:.1f}" for score in scores]
        numbers = [row[name] for name in ("attempts", "user_turns", "flagged")]
        words = [counted(row[name]) or "–" for name in ("flags", "missing")]
        lines.append([row["setting"], row["wanted"], row["held"], *shown, *numbers, *words])
    return lines


def _role_lines(roles: Mapping[str, Mapping[str, Any]]) -> list[list[object]]:
    from lic_pipeline.cli.shared.output import counted

    order = [role for role in ("assistant", "user", "classifier", "extractor", "judge") if role in roles]
    order += sorted(set(roles) - set(order))
    return [[r, roles[r]["calls"], roles[r]["tokens"], counted(roles[r]["of_which"]) or "–"] for r in order]
