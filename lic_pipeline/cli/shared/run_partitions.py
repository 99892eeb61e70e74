"""What `lic run`, `lic demo` and `lic retry` do after their options are understood: launch what is not complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lic_pipeline.cli.shared.options import RunChoice
from lic_pipeline.cli.shared.progress_display import ProgressDisplay

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.dagster_jobs import JobLauncher
    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.ledger import Ledger
    from lic_pipeline.simulation.plan.conversation_plan import Plan


@dataclass
class RunSummary:
    """What a run came to: partitions launched and left alone, calls made, conversations planned and missing."""

    launched: int = 0
    unchanged: int = 0
    calls: int = 0
    planned: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Caps:
    """What a command allows a run: calls in flight, spending (or any), asking anew on drift, processes."""

    connections: int | None = None
    usd: float | None = None
    tokens: int | None = None
    yes: bool = False
    accept_drift: bool = False
    processes: int | None = None


def run_choice(home: Home, choice: RunChoice, caps: Caps) -> RunSummary:
    """Prepare, evaluate and publish what the choice wants and is not complete. Raises the errors of the engine."""
    return run_choices(home, [choice], caps)


def run_choices(home: Home, choices: Sequence[RunChoice], caps: Caps) -> RunSummary:
    """As ``run_choice`` for several choices, one after the other; the numbers are published once, at the end."""
    from lic_pipeline.cli.shared.dagster_jobs import job_launcher
    from lic_pipeline.cli.shared.standard_streams import stdout_kept
    from lic_pipeline.config import ledger_address, raw_data_folder
    from lic_pipeline.models.calling.open_files import LEAST_OF_A_RUN, require_files

    require_permission(choices, caps)
    raw_data_folder()  # what the environment says wrongly is said before Dagster is loaded
    ledger_address()
    done = RunSummary()
    if not choices:
        return done
    require_files(LEAST_OF_A_RUN)
    with stdout_kept(), ProgressDisplay() as display, job_launcher(home) as launch:
        for task in dict.fromkeys(task for choice in choices for task in choice.tasks):
            _prepare(home, task, launch, display)
        for choice in choices:
            for model in choice.models:
                for task in choice.tasks:
                    _evaluate(home, choice, task, model.alias, launch, display, done, accept=caps.accept_drift)
        _publish(home, launch, display)
        done.launched, done.calls = launch.launched, display.calls
    return done


def prepare_tasks(home: Home, choice: RunChoice) -> None:
    """Bring the approved items of the chosen tasks up to date."""
    from lic_pipeline.cli.shared.dagster_jobs import job_launcher
    from lic_pipeline.tasks.registry import get_task
    from lic_pipeline.verification.bookkeeping.fingerprints import is_prepared

    stale = [task for task in choice.tasks if not is_prepared(home, get_task(task))]
    if stale:
        with ProgressDisplay() as display, job_launcher(home) as launch:
            for task in stale:
                _prepare(home, task, launch, display)


def require_permission(choices: Sequence[RunChoice], caps: Caps) -> None:
    """Set the caps for this process.

    Raises ConfigError where the environment's are none, a role is not named, or spending is not consented to.
    """
    from lic_pipeline.simulation.plan.call_parameters import role_models
    from lic_pipeline.simulation.plan.caps import connections, processes, require_consent, set_caps

    set_caps(caps.connections, caps.usd, caps.tokens, caps.processes)
    connections()  # what the environment says wrongly is said before anything is launched or opened again
    processes()
    for choice in choices:
        for model in choice.models:
            role_models(choice.experiment, model)
        require_consent(choice.experiment, list(choice.models), caps.yes)


def _prepare(home: Home, task: str, launch: JobLauncher, display: ProgressDisplay) -> None:
    from lic_pipeline.tasks.registry import get_task
    from lic_pipeline.verification.bookkeeping.fingerprints import is_prepared

    if not is_prepared(home, get_task(task)):
        display.stage(f"preparing {task}")
        launch.prepare(task)


def _evaluate(
    home: Home,
    choice: RunChoice,
    task: str,
    alias: str,
    launch: JobLauncher,
    display: ProgressDisplay,
    done: RunSummary,
    *,
    accept: bool,
) -> None:
    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.cli.shared.run_results import missing_score_reasons
    from lic_pipeline.lake.conversations import ConversationStore
    from lic_pipeline.models.ledger.records import DONE
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.plan.conversation_plan import NO_SHARDS
    from lic_pipeline.simulation.resume.accept_drift import accept_drift
    from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
    from lic_pipeline.verification.bookkeeping.fingerprints import is_evaluated
    from lic_pipeline.verification.bookkeeping.manifests import plan_for
    from lic_pipeline.verification.bookkeeping.status import Partition, open_by_reason

    plan = plan_for(home.lake, choice.experiment, task, get_model(alias))
    if plan.skipped is not None:
        done.skipped.append(plan.skipped)
        return
    done.planned += len(plan.specs) + len(plan.withheld)
    done.missing.update({NO_SHARDS: len(plan.withheld)} if plan.withheld else {})
    with open_ledger(home) as ledger:
        complete = is_evaluated(home, plan, ledger)
        _require_key_of_judge(home, plan, ledger)
        if accept and not complete:
            accept_drift(plan, ledger)
    if complete:
        done.unchanged += 1
    else:
        display.stage(f"{task} x {alias}")
        launch.evaluate(choice.experiment, task, alias)
    with open_ledger(home) as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(home.lake, task, alias))
    done.missing.update(pending.failed)
    done.missing.update(reason for _, reason in open_by_reason(pending))
    finished = {name for name in pending.settled if pending.states[name] == DONE}
    done.missing.update(missing_score_reasons(home.lake, Partition(choice.experiment.name, task, alias), finished))


def _require_key_of_judge(home: Home, plan: Plan, ledger: Ledger) -> None:
    """Raise ConfigError now, and not after what the judge is to judge was paid for."""
    from lic_pipeline.models.keys import require_keys
    from lic_pipeline.simulation.plan.call_parameters import judge_entry
    from lic_pipeline.verification.bookkeeping.fingerprints import is_judged

    judge = judge_entry(plan.experiment, plan.task.name)
    if judge is not None and not is_judged(home, plan, ledger):
        require_keys([judge])


def _publish(home: Home, launch: JobLauncher, display: ProgressDisplay) -> None:
    from lic_pipeline.verification.bookkeeping.fingerprints import is_published

    if not is_published(home):
        display.stage("publishing metrics and report")
        launch.publish()
