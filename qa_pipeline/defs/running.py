"""Run the job `build_batch` in this process, for the command line."""

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Thread

import dagster as dg

from qa_pipeline.defs.assets import BATCH_ASSETS, corpus
from qa_pipeline.defs.automation import UNENDED, build_batch
from qa_pipeline.defs.steps import PARTITIONS_NAME, WARNS, versioned
from qa_pipeline.errors import PermanentModelError, QAPipelineError
from qa_pipeline.pipeline.fingerprint import (
    BLOCKED,
    WARNING,
    BatchOutcome,
    batch_fingerprint,
    note_finished,
    passed_outcome,
)
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import VERDICTS

STARTED_BY = "qa_pipeline/started_by"
"""Tag of a run of the command line: the id of the command, as in the records of calls."""
LOOK_SECONDS = 0.2
"""Seconds between checks for a signal; Polars (SA_RESTART) keeps signals from ending an unlimited wait."""


def run_batches(
    resources: Resources,
    batches: Sequence[str],
    instance: dg.DagsterInstance | None = None,
    *,
    recorded: bool = False,
) -> list[BatchOutcome]:
    """Run batches one after another, even if some fail.

    Without `instance`, the runs are stored at DAGSTER_HOME if `recorded`, else in a temporary instance.

    Raises a PermanentModelError if the model cannot answer any further request. Earlier replies are stored.
    """
    if instance is None:
        with dg.DagsterInstance.get() if recorded else dg.DagsterInstance.ephemeral() as opened:
            return run_batches(resources, batches, opened)
    instance.add_dynamic_partitions(PARTITIONS_NAME, sorted(set(batches)))
    definitions = dg.Definitions(
        assets=[corpus, *(versioned(asset, resources.settings) for asset in BATCH_ASSETS)],
        jobs=[build_batch],
        resources={"resources": resources},
    )
    job = definitions.resolve_job_def(build_batch.name)
    outcomes = []
    for batch in batches:
        # taken before the run, so that changes during it cause another; None if only given pairs are checked
        try:
            fingerprint = None if resources.pairs_file else batch_fingerprint(resources, batch)
        except QAPipelineError as error:
            outcomes.append(BatchOutcome(batch, "failed", str(error)))
            continue
        outcome = _outcome(_execute(job, instance, resources, batch), resources, batch)
        outcomes.append(outcome)
        if fingerprint is not None:
            note_finished(resources.layout, outcome, fingerprint)
    return outcomes


def _execute(
    job: dg.JobDefinition, instance: dg.DagsterInstance, resources: Resources, batch: str
) -> dg.ExecuteInProcessResult:
    """Execute the job in a thread, since in the main thread Dagster handles signals itself.

    At a signal, the run is recorded as failed and its thread stops.
    """
    resources.stopping.clear()
    resources.error = None
    finished: Future[dg.ExecuteInProcessResult] = Future()

    def execute() -> None:
        try:
            result = job.execute_in_process(
                instance=instance,
                partition_key=batch,
                # the command line shows its own progress; events are still stored
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                # without retries, since the daemon could not launch it again
                tags={STARTED_BY: resources.run, "dagster/max_retries": "0"},
                raise_on_error=False,
            )
            finished.set_result(result)
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            finished.set_exception(error)

    thread = Thread(target=execute, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
    except KeyboardInterrupt:
        resources.stopping.set()
        for run in instance.get_runs(dg.RunsFilter(tags={STARTED_BY: resources.run}, statuses=UNENDED)):
            instance.report_run_failed(run, "The command was stopped by a signal.")
        raise
    return finished.result()


def _outcome(result: dg.ExecuteInProcessResult, resources: Resources, batch: str) -> BatchOutcome:
    """Return the outcome of a run; raise an error of the model, since the next batch would fail too."""
    if isinstance(resources.error, PermanentModelError):
        raise resources.error
    failed_checks = [check for check in result.get_asset_check_evaluations() if not check.passed]
    gate_messages = tuple(map(_gate_message, failed_checks))
    if result.success:
        verdicts = read_table(resources.layout.table(VERDICTS.name, batch), VERDICTS)
        return passed_outcome(batch, verdicts, gate_messages)
    if any(check.blocking and check.severity == dg.AssetCheckSeverity.ERROR for check in failed_checks):
        return BatchOutcome(batch, "failed", BLOCKED, gate_messages)
    # the failure of a step, or of the run if it fails outside its steps
    failure = next(event for event in result.all_events if event.is_step_failure or event.is_failure)
    step_error = failure.step_failure_data.error if failure.is_step_failure else None
    reason = None
    if resources.error is not None:  # an error of this package
        reason = str(resources.error)
    elif step_error is not None:
        reason = (step_error.cause or step_error).message.strip()
    step = failure.step_key if failure.is_step_failure else "run"
    return BatchOutcome(batch, "failed", f"{step}: {reason or failure.message}", gate_messages)


def _gate_message(check: dg.AssetCheckEvaluation) -> str:
    prefix = "" if check.severity == dg.AssetCheckSeverity.ERROR else WARNING
    gate = f"{check.asset_key.to_user_string()} {check.check_name.removeprefix(WARNS)}"
    return f"{prefix}{gate}: {check.description}"
