"""Running batches in this process, recorded in a Dagster instance like any run."""

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg

from qa_pipeline.defs.assets import IN, build_assets
from qa_pipeline.defs.batch_runs import HOST_TAG, NOT_RETRIED, PROCESS_TAG, REASON_TAG, fail_orphaned_runs
from qa_pipeline.defs.checks import NOT_CHECKED, WARNS
from qa_pipeline.defs.corpus import corpus, corpus_of, report_batches
from qa_pipeline.defs.schedules import build_batch
from qa_pipeline.defs.staleness import examine_batches, steps_of
from qa_pipeline.errors import PermanentModelError, SettingsError
from qa_pipeline.pipeline.resources import Resources
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

SILENT = "silent"
"""The logger of these runs: `watch` tells of progress, and Dagster's events are stored all the same."""
_ERRORS: list[type[PermanentModelError]] = [PermanentModelError, *PermanentModelError.__subclasses__()]
_STOPPING = {error.__name__: error for error in _ERRORS}


def batch_definitions(resources: Resources, watch: StageObserver = no_observer) -> dg.Definitions:
    """Return what a batch is built of: its assets, their job and what they use.

    Args:
        resources: settings, embedder and models.
        watch: called for every stage that starts.
    """
    return dg.Definitions(
        assets=[corpus, *build_assets(resources.settings)],
        jobs=[build_batch],
        resources={
            "resources": resources,
            "watch": dg.ResourceDefinition.hardcoded_resource(watch),
        },
        # All steps of a run share a process, and with it one import of sentence-transformers (8 to 14 s)
        # and one embedding model in memory. Runs are what goes on in parallel.
        executor=dg.in_process_executor,
    )


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
        watch: called for every stage that starts.
        resources: models to use in place of those the settings name.
        force: run batches too in which nothing changed; stored replies and vectors are used all the same.

    Raises:
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    resources = resources or Resources(settings)
    definitions = dg.Definitions.merge(
        batch_definitions(resources, watch),
        dg.Definitions(loggers={SILENT: dg.LoggerDefinition(_silent_logger)}),
    )
    job = definitions.resolve_job_def(build_batch.name)
    steps = steps_of(build_assets(settings))
    fail_orphaned_runs(instance)
    unread = report_batches(instance, corpus_of(settings), batches)
    findings = {} if force else examine_batches(instance, resources, steps, batches, compare_code=True)
    outcomes = []
    for batch in batches:
        finding = findings.get(batch)
        if batch in unread:
            outcomes.append(BatchOutcome(batch, "failed", error=unread[batch]))
        elif finding and not (finding.due or finding.blocked):  # a gate that blocks is reported again
            outcomes.append(BatchOutcome(batch, "unchanged"))
        else:
            reason = {REASON_TAG: finding.due} if finding and finding.due else {}
            outcomes.append(_run(job, instance, resources.layout, batch, reason))
    return outcomes


def _silent_logger(context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.Logger(SILENT)
    logger.addHandler(logging.NullHandler())
    return logger


def _run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, layout: Layout, batch: str, tags: Mapping[str, str]
) -> BatchOutcome:
    result = job.execute_in_process(
        instance=instance,
        partition_key=batch,
        run_config={"loggers": {SILENT: {}}},
        tags={
            HOST_TAG: socket.gethostname(),
            PROCESS_TAG: str(os.getpid()),
            **NOT_RETRIED,
            **tags,
        },
        raise_on_error=False,
    )
    if any(_was_interrupted(event) for event in result.all_events):
        raise KeyboardInterrupt
    gates = tuple(
        _message(evaluation)
        for evaluation in result.get_asset_check_evaluations()
        if not evaluation.passed and NOT_CHECKED not in evaluation.metadata
    )
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
    gate = f"{evaluation.asset_key.to_user_string()} {evaluation.check_name.removeprefix(WARNS)}"
    return f"{warning}{gate}: {evaluation.description}"


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
    message, _, place = message.rpartition(f"\n{IN}")
    if raised.cls_name in _STOPPING:
        raise _STOPPING[raised.cls_name](message)
    return f"{place}: {message}"


def run_on_instance(
    settings: Settings, batches: Sequence[str], watch: StageObserver, *, force: bool = False
) -> list[BatchOutcome]:
    """Bring batches up to date as partitions of the instance at DAGSTER_HOME; all of them with `force`.

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
        return materialize_batches(settings, batches, instance, watch, force=force)
