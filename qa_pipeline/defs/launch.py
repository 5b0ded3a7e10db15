"""Running batches in this process, recorded in a Dagster instance like any run."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.base import (
    HOST_TAG,
    LOGGER,
    NOT_RETRIED,
    PROCESS_TAG,
    fail_orphaned_runs,
    progress_logger,
)
from qa_pipeline.defs.corpus import corpus_of, report_batches
from qa_pipeline.defs.location import build_definitions
from qa_pipeline.defs.schedules import AWAITED, build_batch
from qa_pipeline.defs.staleness import Steps, examine_batches, steps_of
from qa_pipeline.errors import PermanentModelError, SettingsError
from qa_pipeline.pipeline.resources import Resources, collect_replies
from qa_pipeline.pipeline.running import (
    BLOCKED,
    WARNING,
    BatchOutcome,
    StageObserver,
    no_observer,
    passed_outcome,
)
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import VERDICTS

_ERRORS: list[type[PermanentModelError]] = [PermanentModelError, *PermanentModelError.__subclasses__()]
_STOPPING = {error.__name__: error for error in _ERRORS}


def materialize_batches(
    settings: Settings,
    batches: Sequence[str],
    instance: dg.DagsterInstance,
    watch: StageObserver = no_observer,
    *,
    resources: Resources | None = None,
    force: bool = False,
) -> list[BatchOutcome]:
    """Bring batches up to date one after the other; one that fails takes no other down.

    Args:
        settings: the whole tree.
        batches: batches of the corpus.
        instance: where runs are recorded; a UI on the same instance shows them.
        watch: called for every step that starts.
        resources: models to use in place of those the settings name.
        force: run batches too in which nothing changed; stored replies and vectors are used all the same.

    Raises:
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    resources = resources or Resources(settings)
    collect_replies(resources)
    definitions = build_definitions(settings, resources=resources)
    steps = steps_of(build_assets(settings))
    fail_orphaned_runs(instance)
    unread = report_batches(instance, corpus_of(settings), batches)
    outcomes = []
    for batch in batches:
        if batch in unread:
            outcomes.append(BatchOutcome(batch, "failed", error=unread[batch]))
        elif force or _needs_run(instance, resources, steps, batch):
            outcomes.append(_run(definitions, instance, resources.layout, batch, watch))
        else:
            outcomes.append(BatchOutcome(batch, "unchanged"))
    return outcomes


def _needs_run(instance: dg.DagsterInstance, resources: Resources, steps: Steps, batch: str) -> bool:
    """Return whether a run would change something, or report a blocking gate again."""
    finding = examine_batches(instance, resources, steps, [batch], compare_code=True)[batch]
    return bool(finding.due or finding.blocked)


def _run(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    layout: Layout,
    batch: str,
    watch: StageObserver,
) -> BatchOutcome:
    heard = dg.Definitions(loggers={LOGGER: progress_logger(batch, watch)})
    job = dg.Definitions.merge(definitions, heard).resolve_job_def(build_batch.name)
    result = job.execute_in_process(
        instance=instance,
        partition_key=batch,
        run_config={"loggers": {LOGGER: {}}},
        tags={HOST_TAG: socket.gethostname(), PROCESS_TAG: str(os.getpid()), **NOT_RETRIED},
        raise_on_error=False,
    )
    if any(_was_interrupted(event) for event in result.all_events):
        raise KeyboardInterrupt
    gates = tuple(
        _message(evaluation) for evaluation in result.get_asset_check_evaluations() if not evaluation.passed
    )
    if result.success and (awaited := _what_is_awaited(result)):
        return BatchOutcome(batch, "pending", awaited, gates)
    if result.success:
        return passed_outcome(batch, read_table(layout.table(VERDICTS.name, batch), VERDICTS), gates)
    return BatchOutcome(batch, "failed", _what_stopped(result), gates)


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    """Return whether the run ended because this process was asked to end, which Dagster does not raise."""
    if event.event_type != dg.DagsterEventType.RUN_FAILURE:
        return False
    reason = event.job_failure_data.failure_reason
    return reason is not None and reason.name == "UNEXPECTED_TERMINATION"


def _message(evaluation: dg.AssetCheckEvaluation) -> str:
    warning = "" if evaluation.severity == dg.AssetCheckSeverity.ERROR else WARNING
    return (
        f"{warning}{evaluation.asset_key.to_user_string()} {evaluation.check_name}: {evaluation.description}"
    )


def _what_is_awaited(result: dg.ExecuteInProcessResult) -> str | None:
    """Return what the first asset that yielded nothing waits for, in its words."""
    for event in result.all_events:
        if event.event_type == dg.DagsterEventType.ASSET_OBSERVATION:
            observed = event.asset_observation_data.asset_observation
            if AWAITED in observed.metadata:
                return str(observed.metadata[AWAITED].value)
    return None


def _what_stopped(result: dg.ExecuteInProcessResult) -> str:
    """Return the message of the exception that stopped a run, without Dagster's wrapping.

    Raises:
        PermanentModelError: if that is what it was; the next batch would fare no better.
    """
    failure = next((event for event in result.all_events if event.is_step_failure), None)
    error = failure.step_failure_data.error if failure else None
    raised = error.cause if error is not None and error.cause is not None else error
    if failure is None or raised is None or raised.cls_name == "DagsterAssetCheckFailedError":
        return BLOCKED
    message = raised.message.strip().partition(f"{raised.cls_name}: ")[2] or raised.message.strip()
    if raised.cls_name in _STOPPING:
        raise _STOPPING[raised.cls_name](message)
    return f"{failure.step_key}: {message}"


def run_on_instance(settings: Settings, batches: Sequence[str], watch: StageObserver) -> list[BatchOutcome]:
    """Bring batches up to date as partitions of the instance at DAGSTER_HOME.

    Raises:
        SettingsError: DAGSTER_HOME does not name a folder.
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not home or not Path(home).is_dir():
        raise SettingsError(
            "DAGSTER_HOME must name the folder of a Dagster instance; make demo and make ui use data/dagster"
        )
    with dg.DagsterInstance.get() as instance:
        return materialize_batches(settings, batches, instance, watch)
