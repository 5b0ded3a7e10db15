"""Running batches in this process, recorded in a Dagster instance like any run; and the job that does so."""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent

from qa_pipeline.defs.assets import IN, build_assets
from qa_pipeline.defs.base import ResourcesParam, pool_of
from qa_pipeline.defs.batch_runs import (
    BUILD_BATCHES,
    BUILT_BY_TAG,
    HOST_TAG,
    LISTING_OP,
    NIGHT_TAG,
    NOT_RETRIED,
    PROCESS_TAG,
    REASON_TAG,
    UNANNOUNCED,
    fail_orphaned_runs,
    has_run_since,
)
from qa_pipeline.defs.checks import WARNS
from qa_pipeline.defs.corpus import corpus, corpus_of, report_batches
from qa_pipeline.defs.launch_settings import changes_in, launch_fields, resources_of_run, settings_tag
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
from qa_pipeline.text.rendering import first_names

SILENT = "silent"
"""The logger of these runs: `watch` tells of progress, and Dagster's events are stored all the same."""
_ERRORS: list[type[PermanentModelError]] = [PermanentModelError, *PermanentModelError.__subclasses__()]
_STOPPING = {error.__name__: error for error in _ERRORS}


def batch_definitions(
    resources: Resources, watch: StageObserver = no_observer, *, in_pool: bool = True
) -> dg.Definitions:
    """Return what a batch is built of: its assets, their job and what they use.

    Args:
        resources: settings, embedder and models.
        watch: called for every stage that starts.
        in_pool: whether runs count against the pool of the model; not where another run is counted.
    """
    return dg.Definitions(
        assets=[corpus, *build_assets(resources.settings, in_pool=in_pool)],
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
    return list(_outcomes(resources or Resources(settings), batches, instance, watch, force=force))


def _outcomes(
    resources: Resources,
    batches: Sequence[str],
    instance: dg.DagsterInstance,
    watch: StageObserver = no_observer,
    tags: Mapping[str, str] | None = None,
    *,
    force: bool,
) -> Iterator[BatchOutcome]:
    """Yield the outcome of each batch as it is there.

    With `tags`, which runs of batches get, other processes build batches beside this one: a batch is left out
    of which another run goes on, or has been since the batches were examined.
    """
    settings = resources.settings
    definitions = dg.Definitions.merge(
        batch_definitions(resources, watch, in_pool=tags is None),
        dg.Definitions(loggers={SILENT: dg.LoggerDefinition(_silent_logger)}),
    )
    job = definitions.resolve_job_def(build_batch.name)
    steps = steps_of(build_assets(settings))
    fail_orphaned_runs(instance)
    unread = report_batches(instance, corpus_of(settings), batches)
    start = datetime.now(UTC)
    findings = {} if force else examine_batches(instance, resources, steps, batches, compare_code=True)
    for batch in batches:
        finding = findings.get(batch)
        if batch in unread:
            yield BatchOutcome(batch, "failed", error=unread[batch])
        elif finding and not (finding.due or finding.blocked):  # a gate that blocks is reported again
            yield BatchOutcome(batch, "unchanged")
        elif tags is None or not has_run_since(instance, batch, start):
            reason = {REASON_TAG: finding.due} if finding and finding.due else {}
            yield _run(job, instance, resources.layout, batch, {**reason, **(tags or {})})


def batches_job(settings: Settings) -> dg.JobDefinition:
    """Return the job that builds many batches."""
    fields = {
        "batches": dg.Field(
            [str], default_value=[], description="Names of batches; none stands for all of the corpus."
        ),
        "force": dg.Field(
            bool,
            default_value=False,
            description="Run batches too in which nothing changed; nothing is paid twice.",
        ),
    }
    step = dg.op(name=LISTING_OP, pool=pool_of(settings), config_schema=fields | launch_fields(settings))
    return dg.GraphDefinition(BUILD_BATCHES, node_defs=[step(_build_batches)]).to_job(
        description="Builds many batches in one process, which imports libraries and loads models once. Each "
        "is a run of its own; one that fails stops no other, and one in which nothing changed is not run.",
    )


def _build_batches(context: dg.OpExecutionContext, resources: ResourcesParam) -> dg.Output[None]:
    """Bring batches up to date one after the other, each as a run of its own in this process."""
    config = context.op_config
    changes = settings_tag(changes_in(config, resources.settings))
    resources = resources_of_run(resources, config, context.instance, context.run_id)
    names = config["batches"] or corpus_of(resources.settings).find_batches().names
    tags = {BUILT_BY_TAG: context.run_id, **changes}
    if NIGHT_TAG in context.run_tags:
        tags[NIGHT_TAG] = context.run_tags[NIGHT_TAG]
    outcomes = []
    for outcome in _outcomes(resources, names, context.instance, tags=tags, force=config["force"]):
        context.log.info(": ".join(filter(None, [outcome.batch, outcome.outcome, outcome.error])))
        outcomes.append(outcome)
    built = {outcome.batch for outcome in outcomes}
    if elsewhere := [name for name in names if name not in built]:
        context.log.info(f"left to other runs of them: {first_names(elsewhere)}")
    failed = [outcome.batch for outcome in outcomes if outcome.outcome == "failed"]
    if failed:
        message = f"{len(failed)} of {len(outcomes)} batches failed: {first_names(failed)}"
        raise dg.Failure(
            f"{message}; their runs and the log say why, the others were built", allow_retries=False
        )
    return dg.Output(None, metadata=Counter(outcome.outcome for outcome in outcomes))


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
            **UNANNOUNCED,
            **tags,
        },
        raise_on_error=False,
    )
    if not result.success:
        _report_unmade(result, instance, batch)
    if any(_was_interrupted(event) for event in result.all_events):
        raise KeyboardInterrupt
    gates = tuple(
        _message(evaluation) for evaluation in result.get_asset_check_evaluations() if not evaluation.passed
    )
    if result.success:
        return passed_outcome(batch, read_table(layout.table(VERDICTS.name, batch), VERDICTS), gates)
    return BatchOutcome(batch, "failed", _what_stopped(result), gates)


def _report_unmade(result: dg.ExecuteInProcessResult, instance: dg.DagsterInstance, batch: str) -> None:
    """Record the assets that a run was to make and did not: by these the UI shows a partition as failed."""
    made = {event.asset_key for event in result.get_asset_materialization_events()}
    for key in sorted(set(result.job_def.asset_layer.executable_asset_keys) - made):
        planned = DagsterEvent.build_asset_materialization_planned_event(
            result.job_def.name, "batch", AssetMaterializationPlannedData(key, partition=batch)
        )
        instance.report_dagster_event(planned, result.run_id, logging.DEBUG)


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
