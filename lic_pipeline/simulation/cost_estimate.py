"""What is still to be paid for in a plan: calls, tokens and money by role, from the lengths of the real prompts.

An estimate on the high side: every shard is revealed and nothing is solved early. Calls of validation re-asks and of
the LLM extractor are not in it (how often they are needed is not known before). Nothing here calls anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil

from lic_pipeline.models.ledger.records import Totals
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.tokens import estimate_texts
from lic_pipeline.records import DERIVED, SINGLE_TURN, Setting, Usage
from lic_pipeline.simulation.judge.expected_questions import ExpectedQuestions
from lic_pipeline.simulation.plan.call_parameters import assistant_parameters, role_entries
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan
from lic_pipeline.tasks.summary.summary_bullets import WORD_LIMIT

ASSUMED_REPLY = 400
ASSUMED_REASONING_REPLY = 2_000
"""Tokens of a reply where this ledger has not yet seen enough of the model's own."""

FEWEST_MEASURED = 20
"""Calls of a model in the ledger from which its own mean length is used."""

_ROLE_PROMPT = 350
_LABEL_TOKENS = 20
_UTTERANCE_TOKENS = 40
_SUMMARY_TOKENS = 2 * WORD_LIMIT

BASIS = (
    "prompts as they would be sent, three characters a token; every shard revealed, nothing solved early; replies of "
    f"{ASSUMED_REPLY} tokens ({ASSUMED_REASONING_REPLY} with reasoning) until the ledger knows "
    f"{FEWEST_MEASURED} of the model's own; without re-asks and LLM extraction"
)


@dataclass(slots=True)
class Cost:
    """Calls and tokens of one role, all conversations together."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    def add(self, calls: int, prompt: int, completion: int) -> None:
        """Add so many calls with their tokens."""
        self.calls += calls
        self.prompt += prompt
        self.completion += completion


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one setting: costs by role; ``usd`` None = some price is unknown; ``free`` = a persona plays alone."""

    roles: Mapping[str, Cost]
    usd: float | None
    free: bool


def estimate(
    plan: Plan, open_ids: Collection[str], totals: Totals, judging: ExpectedQuestions | None = None
) -> dict[Setting, Estimate]:
    """Estimate by setting for the plan's conversations among ``open_ids``. Raises ConfigError for missing roles.

    ``judging``: how much a judge that is a model will be asked, None = nothing.
    """
    played = role_entries(plan.experiment, plan.model, plan.task.name)
    reply = reply_tokens(plan, totals)
    counts: dict[tuple[Setting, str], int] = {}
    for spec in plan.specs:
        if spec.conversation_id in open_ids:
            counts[spec.setting, spec.instruction_id] = counts.get((spec.setting, spec.instruction_id), 0) + 1
    found: dict[Setting, dict[str, Cost]] = {setting: {} for setting in plan.signatures}
    for (setting, name), number in counts.items():
        shares = _of_conversation(plan, plan.items[name], setting, reply, played)
        for role, share in shares.items():
            one = found[setting].setdefault(role, Cost())
            one.add(number * share.calls, number * share.prompt, number * share.completion)
    if judging is not None:
        for setting, cost in _judging(plan, open_ids, judging, reply).items():
            found[setting]["judge"] = cost
    return {setting: _priced(plan, roles, played) for setting, roles in found.items()}


def reply_tokens(plan: Plan, totals: Totals) -> int:
    """Tokens of a reply: the mean of this model's own, else an assumption; never above the limit that is sent."""
    own = totals.calls.get((plan.model.id, "assistant"))
    assumed = ASSUMED_REASONING_REPLY if plan.model.reasoning else ASSUMED_REPLY
    tokens = round(own.completion / own.calls) if own is not None and own.calls >= FEWEST_MEASURED else assumed
    limit = assistant_parameters(plan.experiment, plan.model).get(plan.model.output_limit)
    return min(tokens, limit) if isinstance(limit, int) else tokens


def _of_conversation(
    plan: Plan, item: Approved, setting: Setting, reply: int, played: Collection[str]
) -> dict[str, Cost]:
    """Costs by role of one conversation that goes to its end."""
    said = _user_tokens(plan, item, setting)
    system = estimate_texts([plan.task.system_prompt(item.instruction)])
    found = {"assistant": Cost()}
    history = 0
    if setting in DERIVED:
        shards = _user_tokens(plan, item, Setting.SHARDED)
        history = sum(shards) + len(shards) * reply
    for tokens in said:
        found["assistant"].add(1, system + history + tokens, reply)
        history += tokens + reply
    if "user" in played and plan.task.kind == "binary":
        shards_total = sum(_user_tokens(plan, item, Setting.SHARDED))
        asked = 0 if setting in SINGLE_TURN or setting in DERIVED else len(said) - 1
        found["user"] = Cost(asked, asked * (_ROLE_PROMPT + shards_total + history // 2), asked * _UTTERANCE_TOKENS)
        found["system"] = Cost(len(said), len(said) * (_ROLE_PROMPT + shards_total + reply), len(said) * _LABEL_TOKENS)
    return found


def _judging(
    plan: Plan, open_ids: Collection[str], expected_questions: ExpectedQuestions, reply: int
) -> dict[Setting, Cost]:
    """Questions to the judge by setting: those about held summaries, and those that open conversations will raise."""
    sums: dict[Setting, list[float]] = {}
    for spec in plan.specs:
        item = plan.items[spec.instruction_id]
        questions: float = expected_questions.unasked.get(spec.conversation_id, 0)
        if spec.conversation_id in open_ids:
            every_turn = plan.experiment.judge_every_turn
            summaries = len(_user_tokens(plan, item, spec.setting)) if every_turn else 1
            questions = expected_questions.per_summary * summaries
        if questions:
            prompt, completion = _question(item, reply)
            kept = sums.setdefault(spec.setting, [0.0, 0.0, 0.0])
            for place, amount in enumerate((1, prompt, completion)):
                kept[place] += questions * amount
    return {setting: Cost(*(ceil(amount) for amount in kept)) for setting, kept in sums.items()}


def _question(item: Approved, reply: int) -> tuple[int, int]:
    """Prompt and completion tokens of one question to the judge of a summary."""
    insights = [str(insight.get("insight", "")) for insight in item.instruction.reference.get("insights", ())]
    bullets = min(reply, _SUMMARY_TOKENS)
    return _ROLE_PROMPT + estimate_texts(insights) + bullets, _LABEL_TOKENS * len(insights)


def _user_tokens(plan: Plan, item: Approved, setting: Setting) -> list[int]:
    """Tokens of each user message, in order."""
    task, instruction, shards = plan.task, item.instruction, item.shards
    if setting is Setting.FULL:
        return [estimate_texts([task.full_message(instruction)])]
    if setting in SINGLE_TURN:
        return [estimate_texts([task.concat_message(instruction, shards)])]
    each = [estimate_texts([task.shard_message(instruction, shard)]) for shard in shards]
    if setting is Setting.SNOWBALL:
        return [sum(each[: turn + 1]) for turn in range(len(each))]
    if setting in DERIVED:
        return [sum(each) if setting is Setting.RECAP else _LABEL_TOKENS]
    return each


def _priced(plan: Plan, roles: Mapping[str, Cost], played: Mapping[str, ModelEntry]) -> Estimate:
    entries = {"assistant": plan.model, **played}
    usd: float | None = 0.0
    for role, cost in roles.items():
        price = price_of(entries[role])
        share = None if price is None else price.cost(Usage(prompt=cost.prompt, completion=cost.completion))
        if cost.calls and share is None:
            usd = None
        elif usd is not None and share is not None:
            usd += share
    return Estimate(roles, usd, plan.model.is_persona and not played)
