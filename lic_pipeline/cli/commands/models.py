"""``lic models``: what is in the registry, adding to it, and whether an entry can be called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lic_pipeline.models.registry import ModelEntry

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Names = Annotated[list[str] | None, typer.Argument(help="Aliases; default: all.")]

models_app = typer.Typer(
    help="The model registry.", rich_markup_mode=None, invoke_without_command=True, no_args_is_help=False
)


@models_app.callback()
def models(context: typer.Context) -> None:
    """List the models (as ``lic models list``), add one, check them."""
    if context.invoked_subcommand is None:
        list_models(as_json=False)


@models_app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List every model: personas, data/models.yaml, and LIC_HOME/models.yaml."""
    from lic_pipeline.cli.shared.output import print_json, print_table
    from lic_pipeline.models.registry import registry

    rows = [_listed(entry) for entry in registry().values()]
    if as_json:
        print_json({"models": rows})
        return
    columns = ["model", "id", "published as", "context", "USD in/out per 1M", "skips", "starts by itself"]
    print_table("", columns, [[_cell(value) for value in row.values()] for row in rows])


@models_app.command("add")
def add(
    model_id: Annotated[str, typer.Argument(metavar="ID", help="provider/model, or python:module.function.")],
    alias: Annotated[str | None, typer.Option("--alias", help="What to type; default: the id.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint.")] = None,
    key_variable: Annotated[
        str | None, typer.Option("--key-variable", help="Environment variable that holds the key.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE sent with each call; repeatable.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            "--seed", metavar="INTEGER|per_conversation", help="Seed sent with each call, or one per conversation."
        ),
    ] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", help="Calls in flight.")] = None,
    rpm: Annotated[int | None, typer.Option("--rpm", help="Requests a minute.")] = None,
    tpm: Annotated[int | None, typer.Option("--tpm", help="Tokens a minute.")] = None,
    context_window: Annotated[int | None, typer.Option("--context-window", help="Tokens.")] = None,
    price: Annotated[
        tuple[float, float] | None, typer.Option("--price", help="USD per million prompt and completion tokens.")
    ] = None,
    system: Annotated[str | None, typer.Option("--system", help="system, developer or merge.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Roles must alternate.")] = False,
    output_limit: Annotated[
        str | None, typer.Option("--output-limit", help="max_tokens (default) or max_completion_tokens.")
    ] = None,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="It reasons before it answers.")] = False,
    fixed_temperature: Annotated[bool, typer.Option("--fixed-temperature", help="It takes no temperature.")] = False,
) -> None:
    """Add a model to LIC_HOME/models.yaml. Keys are never stored: name the variable that holds one."""
    from lic_pipeline.cli.shared.output import say
    from lic_pipeline.models.registry_writer import add_entry

    fields: dict[str, Any] = {"alias": alias or model_id, "id": model_id}
    limits = {"concurrency": concurrency, "rpm": rpm, "tpm": tpm}
    chat = {"system": system, "alternate": "strict" if strict else None}
    fields |= {
        "base_url": base_url,
        "key_variable": key_variable,
        **_seeded(_parameters(parameter or []), seed),
        "limits": {name: value for name, value in limits.items() if value is not None},
        "context_window": context_window,
        "price": None if price is None else {"prompt": price[0], "completion": price[1]},
        "chat": {name: value for name, value in chat.items() if value is not None},
        "output_limit": output_limit,
        "reasoning": reasoning or None,
        "temperature": "fixed" if fixed_temperature else None,
    }
    entry, path = add_entry({name: value for name, value in fields.items() if value not in (None, {})})
    say(f"added {entry.alias} to {path}; `lic models check --ping {entry.alias}` tries it")


@models_app.command("check")
def check(
    names: Names = None,
    ping: Annotated[bool, typer.Option("--ping", help="Send each one small request; it is paid for.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check keys, packages and prices; with --ping make one call each. Exit 1 when something stands in the way."""
    from lic_pipeline.cli.shared.output import money, print_json, print_table
    from lic_pipeline.cli.shared.standard_streams import stdout_kept
    from lic_pipeline.models.entry_checks import Check
    from lic_pipeline.models.entry_checks import check as check_entry
    from lic_pipeline.models.entry_checks import ping as ping_entry
    from lic_pipeline.models.registry import get_model, registry

    entries = [get_model(name) for name in names] if names else [e for e in registry().values() if not e.is_persona]
    with stdout_kept():  # a system of the user's own is imported, and may print
        found = [ping_entry(entry) if ping else check_entry(entry) for entry in entries]
    if as_json:
        print_json({"checks": [{name: getattr(one, name) for name in Check.__slots__} for one in found]})
    else:
        columns = ["model", "client", "key", "price", "ready"]
        rows = [[c.alias, c.client, c.key, "known" if c.priced else "unknown", c.problem or "yes"] for c in found]
        if ping:
            columns += ["returned as", "seconds", "cost"]
            for row, one in zip(rows, found, strict=True):
                cost = money(one.cost_usd) if one.answered else ""
                row += [one.model_returned or "", f"{one.latency_s:.2f}" if one.latency_s is not None else "", cost]
        print_table("", columns, rows)
    if any(one.problem for one in found):
        raise typer.Exit(1)


def _listed(entry: ModelEntry) -> dict[str, Any]:
    from lic_pipeline.models.prices import price_of

    price = price_of(entry)
    return {
        "alias": entry.alias,
        "id": entry.id,
        "published_as": entry.published_as,
        "context_window": entry.context_window,
        "usd_per_million": None if price is None else [round(price.prompt * 1e6, 6), round(price.completion * 1e6, 6)],
        "skip_tasks": list(entry.skip_tasks),
        "auto": None if entry.auto is None else entry.auto.model_dump(mode="json"),
    }


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    if isinstance(value, dict):
        return f"{', '.join(value['roles'])} up to ${value['budget_usd']:g} per {value['per']}"
    return "" if value is None else str(value)


def _seeded(parameters: dict[str, Any], seed: str | None) -> dict[str, Any]:
    """The fields ``parameters`` and ``seed`` of an entry: one seed for all calls is a parameter like any other."""
    from lic_pipeline.errors import ConfigError
    from lic_pipeline.simulation.plan.call_parameters import PER_CONVERSATION

    if seed is None or seed == PER_CONVERSATION:
        return {"parameters": parameters, "seed": seed}
    if "seed" in parameters:
        raise ConfigError("--seed and a seed among the parameters exclude each other")
    try:
        return {"parameters": {**parameters, "seed": int(seed)}}
    except ValueError as error:
        raise ConfigError(f"--seed takes an integer or {PER_CONVERSATION}, not {seed!r}") from error


def _parameters(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value is JSON where it is (0.5, true, {"a": 1}), text where it is not."""
    import json

    from lic_pipeline.errors import ConfigError

    parameters: dict[str, Any] = {}
    for pair in given:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise ConfigError(f"--parameter takes NAME=VALUE, not {pair!r}")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters
