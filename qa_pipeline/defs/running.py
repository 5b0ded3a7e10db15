"""Runs of the job `build_batch` in this process, as the command line starts them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

import dagster as dg

from qa_pipeline.defs.base import BUILD_BATCH, PARTITIONS_NAME, UNENDED_RUNS
from qa_pipeline.defs.checks import WARNS
from qa_pipeline.defs.jobs import batch_definitions
from qa_pipeline.errors import PermanentModelError, QAPipelineError
from qa_pipeline.pipeline.fingerprint import batch_fingerprint, note_finished
from qa_pipeline.pipeline.outcomes import BLOCKED, WARNING, BatchOutcome, passed_outcome
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import VERDICTS

STARTED_BY = "qa_pipeline/started_by"
"""On a run of the command line: the id of the command, as calls record it."""

LOOK_SECONDS = 0.2
"""Seconds between two looks for a signal: Polars lets none wake a wait without an end (SA_RESTART)."""


@contextmanager
def instance_at_home(*, recorded: bool) -> Iterator[dg.DagsterInstance]:
    """Yield the instance at DAGSTER_HOME if runs are to be recorded, else one that is forgotten."""
    with dg.DagsterInstance.get() if recorded else dg.DagsterInstance.ephemeral() as instance:
        yield instance


def run_batches(
    resources: Resources, batches: Sequence[str], instance: dg.DagsterInstance | None = None
) -> list[BatchOutcome]:
    """Run batches one after the other; one that fails takes no other down.

    Args:
        resources: settings and models.
        batches: batches of the corpus.
        instance: where runs are recorded; a UI on the same instance shows them. None for one of this call.

    Raises:
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    if instance is None:
        with dg.DagsterInstance.ephemeral() as forgotten:
            return run_batches(resources, batches, forgotten)
    instance.add_dynamic_partitions(PARTITIONS_NAME, sorted(set(batches)))
    job = batch_definitions(resources).resolve_job_def(BUILD_BATCH)
    return [_run(job, instance, resources, batch) for batch in batches]


def _run(
    job: dg.JobDefinition, instance: dg.DagsterInstance, resources: Resources, batch: str
) -> BatchOutcome:
    is_checked = resources.pairs_file is not None
    try:  # before the run: what changes during it counts as changed
        fingerprint = None if is_checked else batch_fingerprint(resources, batch)
    except QAPipelineError as error:
        return BatchOutcome(batch, "failed", str(error))
    outcome = _outcome(_execute(job, instance, resources, batch), resources, batch)
    if fingerprint is not None:
        note_finished(resources.layout, outcome, fingerprint)
    return outcome


def _execute(
    job: dg.JobDefinition, instance: dg.DagsterInstance, resources: Resources, batch: str
) -> dg.ExecuteInProcessResult:
    """Execute the job in a thread: in the main one Dagster takes signals itself, and all alike.

    Raises:
        KeyboardInterrupt: a signal came; the run is recorded as failed, and its thread goes no further.
    """
    tags = {STARTED_BY: resources.run, "dagster/max_retries": "0"}  # the daemon could not launch it again
    resources.stopping.clear()
    results: list[dg.ExecuteInProcessResult | BaseException] = []

    def execute() -> None:
        try:
            result = job.execute_in_process(
                instance=instance,
                partition_key=batch,
                # the command line shows progress itself; events are stored all the same
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                tags=tags,
                raise_on_error=False,
            )
            results.append(result)
        except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits
            results.append(error)

    thread = Thread(target=execute, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
    except KeyboardInterrupt:
        resources.stopping.set()
        ours = dg.RunsFilter(tags={STARTED_BY: resources.run}, statuses=UNENDED_RUNS)
        for run in instance.get_runs(ours):
            instance.report_run_failed(run, "The command was stopped by a signal.")
        raise
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result


def _outcome(result: dg.ExecuteInProcessResult, resources: Resources, batch: str) -> BatchOutcome:
    evaluations = [check for check in result.get_asset_check_evaluations() if not check.passed]
    gates = tuple(map(_message, evaluations))
    if result.success:
        verdicts = read_table(resources.layout.table(VERDICTS.name, batch), VERDICTS)
        return passed_outcome(batch, verdicts, gates)
    if any(check.blocking and check.severity == dg.AssetCheckSeverity.ERROR for check in evaluations):
        return BatchOutcome(batch, "failed", BLOCKED, gates)
    return BatchOutcome(batch, "failed", _what_stopped(result), gates)


def _message(evaluation: dg.AssetCheckEvaluation) -> str:
    is_error = evaluation.severity == dg.AssetCheckSeverity.ERROR
    gate = f"{evaluation.asset_key.to_user_string()} {evaluation.check_name.removeprefix(WARNS)}"
    return f"{'' if is_error else WARNING}{gate}: {evaluation.description}"


def _what_stopped(result: dg.ExecuteInProcessResult) -> str:
    """Return the asset that failed and its error.

    Raises:
        PermanentModelError: if that is what it was; the next batch would fare no better.
    """
    failure = next((event for event in result.all_events if event.is_step_failure), None)
    error = failure.step_failure_data.error if failure else None
    if failure is None or error is None:
        return next(str(event.message) for event in result.all_events if event.is_failure)
    cause = error.cause or error
    text = cause.message.strip()
    message = text.partition(f"{cause.cls_name}: ")[2] or text
    permanent: list[type[PermanentModelError]] = [PermanentModelError, *PermanentModelError.__subclasses__()]
    for kind in permanent:
        if cause.cls_name == kind.__name__:
            raise kind(message)
    return f"{failure.step_key}: {message}"
