"""``lic plan --explain ID ID``: the named fields in which the identities of two conversations differ.

Ids are looked for in the plans at hand first, then in all manifests; an unmistakable beginning of an id is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.config import Home
    from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Plan

_HASHES = {
    "visible": "hash of the messages the assistant is shown",
    "menu": "hash of the persona's replies",
    "template": "hash of the template of this setting",
    "assistant.persona": "hash of the persona's declared probabilities",
}


@dataclass(frozen=True)
class Found:
    """A planned conversation and the plan it stands in."""

    plan: Plan
    spec: ConversationSpec


def show_differences(home: Home, choice: RunChoice | None, ids: tuple[str, str], *, as_json: bool) -> None:
    """Print the differing fields. Raises ConfigError for an id that is in no plan, or stands for several."""
    from lic_pipeline.cli.shared.output import print_json, print_table

    found = [_find(home, choice, wanted) for wanted in ids]
    first, second = (_flat(identity_fields(one.plan, one.spec)) for one in found)
    differing = [
        {"field": name, "first": first.get(name), "second": second.get(name), "note": _HASHES.get(name, "")}
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    ]
    names = [one.spec.conversation_id for one in found]
    if as_json:
        print_json({"ids": names, "differs": differing})
        return
    if not differing:
        print(f"{names[0]} and {names[1]} are the same conversation.")
        return
    rows = [[row["field"], *("–" if row[side] is None else row[side] for side in ("first", "second")), row["note"]]
            for row in differing]  # fmt: skip
    print_table(f"{names[0]} and {names[1]}", ("field", "first", "second", ""), rows)


def identity_fields(plan: Plan, spec: ConversationSpec) -> dict[str, Any]:
    """The fields behind a planned conversation's id; of a derived one its parent's with its own beside them."""
    from lic_pipeline.simulation.plan.conversation_ids import ConversationIdBuilder

    builder = ConversationIdBuilder(plan.experiment, plan.task, plan.model, spec.purpose)
    item = plan.items[spec.instruction_id]
    if spec.parent_id is None:
        return builder.fields(item.instruction, item.sharded, spec.setting, spec.run, spec.shard_order)
    parent = next(one for one in plan.specs if one.conversation_id == spec.parent_id)
    of_parent = {f"parent.{name}": value for name, value in identity_fields(plan, parent).items()}
    return {**of_parent, **builder.derived_fields(spec.parent_id, spec.setting)}


def _find(home: Home, choice: RunChoice | None, wanted: str) -> Found:
    from lic_pipeline.errors import ConfigError

    if len(wanted) < 4:
        raise ConfigError(f"{wanted!r} is too short for a conversation id; give four characters or more")
    matches: dict[str, Found] = {}
    for plan in _plans(home, choice):
        matches.update(_matches(plan, wanted))
        if wanted in matches or (len(matches) == 1 and choice is None):
            break
    if len(matches) > 1 and wanted not in matches:
        raise ConfigError(f"{wanted} is the beginning of {len(matches)} conversation ids; give more of it")
    if not matches:
        raise ConfigError(f"conversation {wanted} is in no plan; name the options of the run that wanted it")
    return matches.get(wanted) or next(iter(matches.values()))


def _matches(plan: Plan, wanted: str) -> Iterable[tuple[str, Found]]:
    return ((spec.conversation_id, Found(plan, spec)) for spec in plan.specs if spec.conversation_id.startswith(wanted))


def _plans(home: Home, choice: RunChoice | None) -> Iterator[Plan]:
    """The plans of the choice, then those behind the manifests of this home that can still be made."""
    from lic_pipeline.errors import LicError
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.plan.stored_experiments import find_experiment
    from lic_pipeline.verification.bookkeeping.manifests import plan_for
    from lic_pipeline.verification.bookkeeping.status import partitions

    if choice is not None:
        for entry in choice.models:
            for task in choice.tasks:
                yield plan_for(home.lake, choice.experiment, task, entry)
    for one in partitions(home.lake):
        try:
            yield plan_for(home.lake, find_experiment(home, one.experiment), one.task, get_model(one.model))
        except LicError:
            continue  # its experiment or model is gone: the id may be found elsewhere


def _flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat
