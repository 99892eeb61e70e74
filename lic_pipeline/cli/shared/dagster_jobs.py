"""Running the graph's own jobs in this process, on the instance under LIC_HOME, so that the UI shows what ran.

Partitions that are complete and unchanged are not launched. Errors of ours come back out of Dagster as themselves.
"""

from __future__ import annotations

import logging
import os
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lic_pipeline.config import Home, instance_settings
from lic_pipeline.errors import INTERRUPTED, InputError, InterruptedRunError, LicError

if TYPE_CHECKING:
    import dagster as dg

    from lic_pipeline.simulation.plan.experiment import Experiment

OWNER_TAG = "lic/process"


class JobLauncher:
    """Materializes jobs of the graph in process. ``launched`` counts the runs it started."""

    def __init__(self, home: Home, instance: dg.DagsterInstance) -> None:
        from lic_pipeline.definitions import defs

        self.home = home
        self.launched = 0
        self._defs = defs
        self._instance = instance

    def prepare(self, task: str) -> None:
        """Raw files to approved items of one task."""
        from assets.partitions import BY_TASK
        from lic_pipeline.benchmarks.registry import benchmarks_of
        from lic_pipeline.tasks.registry import get_task
        from lic_pipeline.verification.bookkeeping.fingerprints import mark_prepared, prepare_fingerprint

        fingerprint = prepare_fingerprint(self.home, get_task(task))
        stages = ["instructions", "sharded_instructions", "approved_instructions"]
        assert task in BY_TASK.get_partition_keys()
        self._run("prepare", partition_key=task, assets=[*benchmarks_of(task), *stages])
        mark_prepared(self.home, get_task(task), fingerprint)

    def evaluate(self, experiment: Experiment, task: str, model: str) -> None:
        """Conversations and scores of one task and model."""
        from assets.partitions import model_key, partition_key
        from assets.simulation import asset_name

        if not self._instance.has_dynamic_partition("model", model_key(model)):
            self._instance.add_dynamic_partitions("model", [model_key(model)])
        chosen = {"config": {"experiment": experiment.name}}
        config = {"ops": {"conversations": chosen, "judgements": chosen}}
        held = [asset_name(setting) for setting in experiment.settings_for(task)]
        assets = [*held, "judgements", "extracted_answers", "scores"]
        self._run("evaluate", partition_key=partition_key(task, model), config=config, assets=assets)

    def publish(self) -> None:
        """Metric tables and report. Validation is left to the UI's runs: its libraries take seconds to load."""
        from lic_pipeline.metrics.metric_tables import METRIC_TABLES
        from lic_pipeline.verification.bookkeeping.fingerprints import mark_published

        self._run("publish", assets=[*(spec.name for spec in METRIC_TABLES), "benchmark_report"])
        mark_published(self.home)

    def _run(
        self, job: str, *, partition_key: str | None = None, config: dict[str, Any] | None = None,
        assets: list[str] | None = None,
    ) -> None:  # fmt: skip
        import dagster as dg
        from dagster._core.errors import DagsterAssetCheckFailedError

        run_id = str(uuid.uuid4())
        quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        self.launched += 1
        try:
            self._defs.resolve_job_def(job).execute_in_process(
                run_config={**quiet, **(config or {})},
                partition_key=partition_key,
                instance=self._instance,
                run_id=run_id,
                asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
                tags={OWNER_TAG: f"{os.uname().nodename}:{os.getpid()}"},
            )
        except DagsterAssetCheckFailedError as error:
            raise InputError(_blocked(self._instance, run_id)) from error
        except BaseException as error:
            ours = _our_error(error)
            if ours is None:
                raise
            raise ours from error


def _blocked(instance: dg.DagsterInstance, run_id: str) -> str:
    """What the checks that stopped a run found, and the ways on."""
    import dagster as dg

    told = []
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        found = entry.get_dagster_event().asset_check_evaluation_data
        if not found.passed and found.blocking and found.severity is dg.AssetCheckSeverity.ERROR:
            told.append(f"check {found.check_name} of {found.asset_key.to_user_string()}: {found.description}")
    what = " ".join(told) or "a blocking check failed."
    return f"{what} Mend what it names, or set LIC_TOLERATED_SHARE (default 0.05) to go on without those rows"


def _our_error(error: BaseException | None) -> LicError | None:
    """The error of ours that Dagster wrapped, an interrupt included."""
    from dagster._core.errors import DagsterExecutionInterruptedError

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, LicError):
            return error
        if isinstance(error, DagsterExecutionInterruptedError | KeyboardInterrupt):
            return InterruptedRunError(INTERRUPTED)
        error = getattr(error, "user_exception", None) or error.__cause__ or error.__context__
    return None


@contextmanager
def job_launcher(home: Home) -> Iterator[JobLauncher]:
    """A launcher on the instance under LIC_HOME."""
    prepare_instance(home)
    warnings.filterwarnings("ignore")
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    from resources.instance import open_instance

    with open_instance(home.dagster) as instance:
        _close_abandoned(instance)
        yield JobLauncher(home, instance)


def prepare_instance(home: Home) -> None:
    """Make the folder under LIC_HOME the DAGSTER_HOME of this process, with our settings unless it has its own."""
    from lic_pipeline.lake.files import write_bytes

    home.prepare()
    settings = home.dagster / "dagster.yaml"
    if not settings.exists():
        write_bytes(settings, instance_settings().read_bytes())
    os.environ["DAGSTER_HOME"] = str(home.dagster)


def _close_abandoned(instance: dg.DagsterInstance) -> None:
    """Runs of our own processes that died without a word are marked failed, so that the UI tells the truth."""
    import dagster as dg

    live = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    for run in instance.get_runs(dg.RunsFilter(statuses=live)):
        host, _, pid = run.tags.get(OWNER_TAG, "").rpartition(":")
        if host == os.uname().nodename and pid.isdigit() and not _alive(int(pid)):
            instance.report_run_failed(run, "the process that ran this ended without a word; its work is kept")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()
