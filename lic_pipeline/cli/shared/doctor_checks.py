"""The single checks of ``lic doctor``. Each yields lines with a status and, where something is amiss, what to do.

Nothing is created or changed, no key's value is read into a line, no model and no network is asked.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lic_pipeline.config import Home

Status = Literal["ok", "warn", "fail"]

LEAST_FREE_BYTES = 200 * 1024 * 1024
"""Below this a run is likely to fill the disk: 10,000 conversations with real replies take about that."""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One thing looked at. ``advice`` says what to do; empty = nothing."""

    area: str
    status: Status
    text: str
    advice: str = ""


def python_lines() -> Iterator[CheckLine]:
    """Interpreter and host."""
    version = platform.python_version()
    status: Status = "ok" if sys.version_info >= (3, 11) else "fail"
    advice = "" if status == "ok" else "install Python 3.11 or newer"
    yield CheckLine(
        "python", status, f"{version} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs", advice
    )


def package_lines() -> Iterator[CheckLine]:
    """Installed versions of what lic needs, against what it asks for."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        asked = [Requirement(text) for text in metadata.requires("lic-pipeline") or []]
    except metadata.PackageNotFoundError:
        yield CheckLine(
            "packages", "fail", "lic-pipeline is not installed", "run `pip install -e . -c constraints.txt`"
        )
        return
    good = []
    for one in asked:
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            yield CheckLine("packages", "fail", f"{one.name} is missing", f"pip install '{one.name}{one.specifier}'")
            continue
        if one.specifier.contains(version, prereleases=True):
            good.append(f"{one.name} {version}")
        else:
            yield CheckLine(
                "packages", "warn", f"{one.name} {version} is not {one.specifier}", "reinstall with constraints"
            )
    yield CheckLine("packages", "ok", ", ".join(sorted(good)))


def home_lines(home: Home) -> Iterator[CheckLine]:
    """Where everything produced lives: can it be written, is there space."""
    folder = next(one for one in (home.root, *home.root.parents) if one.exists())
    new = "" if folder == home.root else " (not there yet)"
    if not folder.is_dir():
        text = f"{home.root}: {folder} is a file, not a folder"
        yield CheckLine("home", "fail", text, "set LIC_HOME to a folder that can be written")
        return
    problem = _write_problem(folder)
    if problem:
        yield CheckLine(
            "home", "fail", f"{home.root}{new} cannot be written: {problem}", "set LIC_HOME to another folder"
        )
    else:
        yield CheckLine("home", "ok", f"{home.root}{new}, writable")
    free = shutil.disk_usage(folder).free
    enough: Status = "ok" if free >= LEAST_FREE_BYTES else "warn"
    advice = "" if enough == "ok" else "free some space or set LIC_HOME to another disk"
    yield CheckLine("home", enough, f"{free / 1024**3:,.1f} GiB free", advice)


def _write_problem(folder: Path) -> str:
    probe = folder / f".write-probe-{os.getpid()}"
    try:
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def data_lines() -> Iterator[CheckLine]:
    """Which copy of each benchmark is used, and how many of its files are there."""
    from lic_pipeline.benchmarks.registry import READERS, locate
    from lic_pipeline.config import raw_data_folder
    from lic_pipeline.errors import LicError

    try:
        raw = raw_data_folder()
    except LicError as error:
        yield CheckLine("data", "fail", str(error), "correct LIC_DATA or unset it")
        return
    for name, reader in READERS.items():
        try:
            source = locate(name)
        except LicError as error:
            yield CheckLine("data", "fail", str(error), "run `lic fetch`, or set LIC_DATA")
            continue
        files = len({path for pattern in reader.globs for path in source.folder.glob(pattern) if path.is_file()})
        text = f"{name} ({reader.task}): {_KINDS[source.kind]}, {files} files in {source.folder}"
        if files == 0:
            yield CheckLine("data", "warn", text, f"none of {', '.join(reader.globs)} is there")
        elif raw is not None and source.kind != "lic_data":
            yield CheckLine("data", "warn", text, f"LIC_DATA has no folder {reader.folder}")
        else:
            yield CheckLine("data", "ok", text)


_KINDS = {"lic_data": "LIC_DATA", "fetched": "fetched", "embedded": "our own samples"}


def sandbox_lines() -> Iterator[CheckLine]:
    """Whether model-written programs and queries can be run here."""
    from lic_pipeline.sandbox.python.api import SandboxError, sandbox_description, sandbox_mode

    try:
        mode, description = sandbox_mode(), sandbox_description()
    except SandboxError as error:
        yield CheckLine("sandbox", "fail", f"does not start: {error}", "code cannot be scored on this machine")
        return
    if mode == "strong":
        yield CheckLine("sandbox", "ok", f"strong: {description}")
    else:
        advice = "replies of real models to code tasks are scored with --allow-weak-sandbox only; personas need nothing"
        yield CheckLine("sandbox", "warn", f"weak: {description}", advice)


def ledger_lines(home: Home) -> Iterator[CheckLine]:
    """SQLite, and whether the ledger can be read."""
    from lic_pipeline.cli.shared.open_ledger import has_ledger, open_ledger
    from lic_pipeline.errors import LicError

    yield CheckLine("sqlite", "ok" if sqlite3.sqlite_version_info >= (3, 35) else "fail", sqlite3.sqlite_version)
    if not has_ledger(home):
        yield CheckLine("ledger", "ok", "none yet; the first run makes it")
        return
    try:
        with open_ledger(home) as ledger:
            place, sums = ledger.place, ledger.totals()
    except LicError as error:
        yield CheckLine("ledger", "fail", str(error), "see the advice in the line; `lic ledger rebuild` uses the lake")
        return
    overall = sums.overall
    states = ", ".join(f"{number:,} {state}" for state, number in sums.conversations.items()) or "no conversation"
    text = f"{place}: {overall.calls:,} calls, {overall.prompt + overall.completion:,} tokens, ${overall.cost_usd:.2f}"
    yield CheckLine("ledger", "ok", f"{text}; {states}")
    if overall.unpriced:
        advice = "add prices to the registry entries; budgets count tokens meanwhile"
        yield CheckLine("ledger", "warn", f"{overall.unpriced:,} calls of unknown price", advice)


def model_lines() -> Iterator[CheckLine]:
    """Keys by the name of their variable, and models that may be called by runs that start by themselves."""
    from lic_pipeline.errors import LicError
    from lic_pipeline.models.keys import key_variable
    from lic_pipeline.models.registry import registry

    try:
        known = registry()
    except LicError as error:
        yield CheckLine("models", "fail", str(error), "correct the file named")
        return
    users: dict[str, list[str]] = {}
    opted = [entry for entry in known.values() if entry.auto is not None]
    for entry in known.values():
        variable = key_variable(entry)
        if variable is not None:
            users.setdefault(variable, []).append(entry.alias)
    for variable, aliases in sorted(users.items()):
        needed = any(entry.alias in aliases for entry in opted)
        if os.environ.get(variable, "").strip():
            yield CheckLine("keys", "ok", f"{variable} is set ({', '.join(aliases)})")
        else:
            advice = f"set it in the environment or in .env before you run {' or '.join(aliases)}"
            yield CheckLine("keys", "warn" if needed else "ok", f"{variable} is not set", advice)
    names = ", ".join(f"{entry.alias} (up to ${entry.auto.budget_usd:g} per {entry.auto.per})"
                      for entry in opted if entry.auto is not None)  # fmt: skip
    yield CheckLine("models", "ok", f"{len(known)} known; may be called by automatic runs: {names or 'none'}")
    yield CheckLine("models", "ok", _CLIENT_LIMIT)


_CLIENT_LIMIT = (
    "about 1,000 calls/s is the limit of one process: the openai client takes 0.57 ms of processor time a call, "
    "the engine about 0.23 ms; for quicker endpoints say `lic run --processes N`"
)
"""Measured by bench/engine_overhead.py on a machine of 2 cores."""


def dagster_lines(home: Home) -> Iterator[CheckLine]:
    """The Dagster instance under LIC_HOME."""
    from lic_pipeline.config import instance_settings

    settings = home.dagster / "dagster.yaml"
    elsewhere = os.environ.get("DAGSTER_HOME")
    if elsewhere and Path(elsewhere).resolve() != home.dagster:
        advice = "`lic` uses its own under LIC_HOME; `dagster` commands started by hand use that one"
        yield CheckLine("dagster", "warn", f"DAGSTER_HOME={elsewhere}", advice)
    if not settings.is_file():
        yield CheckLine("dagster", "ok", f"no instance yet; the first run makes {home.dagster}")
    elif settings.read_bytes() == instance_settings().read_bytes():
        yield CheckLine("dagster", "ok", f"instance in {home.dagster}")
    else:
        yield CheckLine("dagster", "ok", f"instance in {home.dagster}, with settings of its own")
