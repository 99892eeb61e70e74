"""The `lic` application: its commands by name. Only the module of the command called for is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import typer

from lic_pipeline.errors import ConfigError

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("lic_pipeline.cli.commands.demo:demo", "The whole graph on our own samples with two personas."),
    "demo-llm": (
        "lic_pipeline.cli.commands.demo_llm:demo_llm",
        "Every setting with a small real model on this machine.",
    ),
    "plan": ("lic_pipeline.cli.commands.plan:plan", "What a run would do: conversations, calls, what is done."),
    "run": ("lic_pipeline.cli.commands.run:run", "Run an experiment; resumable at any moment."),
    "status": ("lic_pipeline.cli.commands.status:status", "Wanted, done, missing and why."),
    "retry": ("lic_pipeline.cli.commands.retry:retry", "Run again what ended in an error."),
    "score": ("lic_pipeline.cli.commands.score:score", "Score replies, JSON Lines in and out."),
    "metrics": ("lic_pipeline.cli.commands.metrics:metrics", "P, A90 and U90-10 of a file of scores."),
    "import-shards": ("lic_pipeline.cli.commands.shards:import_shards", "Import sharded instructions."),
    "import-logs": (
        "lic_pipeline.cli.commands.import_logs:import_logs",
        "Import and rescore logs of the reference scripts.",
    ),
    "export-shards": ("lic_pipeline.cli.commands.shards:export_shards", "Export sharded instructions."),
    "personas": ("lic_pipeline.cli.commands.personas:personas", "Calibration personas and their declared truth."),
    "doctor": ("lic_pipeline.cli.commands.doctor:doctor", "Sandbox, disk, versions, keys, data sources."),
    "dev": ("lic_pipeline.cli.commands.dev:dev", "The Dagster UI on this project."),
}
GROUPS: dict[str, tuple[str, str]] = {
    "models": ("lic_pipeline.cli.commands.models:models_app", "The model registry."),
    "ledger": (
        "lic_pipeline.cli.commands.ledger:ledger_app",
        "What was paid for: totals, export, verify, rebuild, vacuum.",
    ),
}


def build(arguments: Sequence[str]) -> typer.Typer:
    """The application for these arguments: the named command in full, the others as their help line."""
    app = typer.Typer(
        name="lic",
        help="Does a language model get lost when a user tells it things bit by bit?",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    called = next((argument for argument in arguments if not argument.startswith("-")), "")
    for name, (target, help_line) in COMMANDS.items():
        function = _load(target) if name == called else _placeholder(help_line)
        app.command(name, help=None if name == called else help_line)(function)
    for name, (target, help_line) in GROUPS.items():
        group: typer.Typer = _load(target) if name == called else typer.Typer(help=help_line)
        app.add_typer(group, name=name, help=help_line)
    return app


def call(arguments: Sequence[str]) -> int:
    """Carry out the command of these arguments and return its exit code. Raises the errors of the command.

    A wrong option or argument is a ConfigError of one line.
    """
    command = typer.main.get_command(build(arguments))
    try:
        # Not through its main(), which turns Ctrl-C and a closed pipe into exit codes without a word.
        with command.make_context("lic", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except _USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return _USAGE_EXIT
        path = error.ctx.command_path if error.ctx is not None else "lic"
        raise ConfigError(f"{error.format_message().rstrip('.')}; see {path} --help") from error
    return 0


_USAGE_EXIT = 2
# typer has no public name for the base of BadParameter, and its place has moved between versions.
_USAGE_ERROR: Any = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "UsageError")


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _placeholder(help_line: str) -> Callable[[], None]:
    def listed() -> None:
        raise RuntimeError(f"placeholder of a command that was not called: {help_line}")

    return listed
