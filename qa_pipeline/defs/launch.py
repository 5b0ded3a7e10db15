"""Running batches from a command line, in this process, recorded in the Dagster instance like any run.

What belongs here: registering and reporting batches, running the job for those with work left, and collecting
what became of them. What does not: words and colours (`cli.py`), queues and limits (`deploy/dagster.yaml`;
a run in this process passes no queue). Alone in this package it stands above `definitions.py`.
"""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import dagster as dg

from qa_pipeline.definitions import build_definitions
from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.corpus import report_batches
from qa_pipeline.defs.currency import steps_of, work_left
from qa_pipeline.defs.jobs import build_batch
from qa_pipeline.defs.progress import LOGGER, OnStep, ignore, progress_logger
from qa_pipeline.parts import Parts
from qa_pipeline.settings import Settings

HOST_TAG, PROCESS_TAG = "qa_pipeline/host", "qa_pipeline/process"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that did not pass; only blocking ones stop the batch."""

    asset: str
    name: str
    blocking: bool
    detail: str


@dataclass(frozen=True, slots=True)
class BatchRun:
    """What became of a batch: succeeded, failed, or unchanged since its last run and so not run again."""

    batch: str
    outcome: Literal["succeeded", "failed", "unchanged"]
    run_id: str | None = None
    steps: tuple[str, ...] = ()
    failed_step: str | None = None
    error: str | None = None
    failed_checks: tuple[FailedCheck, ...] = ()


def materialize_batches(
    settings: Settings,
    batches: Sequence[str],
    instance: dg.DagsterInstance,
    on_step: OnStep = ignore,
    *,
    parts: Parts | None = None,
    force: bool = False,
) -> list[BatchRun]:
    """Bring batches up to date one after the other; one that fails takes no other down.

    Args:
        settings: the whole tree.
        batches: folders of the corpus.
        instance: where runs are recorded; a UI on the same instance shows them.
        on_step: hears of every step that starts or ends.
        parts: models to use in place of those the settings name.
        force: run batches too in which nothing changed; stored replies and vectors are used all the same.
    """
    parts = parts or Parts(settings)
    definitions = build_definitions(settings, parts=parts)
    steps = steps_of(build_assets(settings))
    bury_dead_runs(instance)
    report_batches(instance, settings.corpus, batches)
    runs = []
    for batch in batches:
        if force or work_left(instance, parts.layout, steps, batch, compare_code=True):
            runs.append(_run(definitions, instance, batch, on_step))
        else:
            runs.append(BatchRun(batch, "unchanged"))
    return runs


def _run(definitions: dg.Definitions, instance: dg.DagsterInstance, batch: str, on_step: OnStep) -> BatchRun:
    heard = dg.Definitions(loggers={LOGGER: progress_logger(batch, on_step)})
    job = dg.Definitions.merge(definitions, heard).resolve_job_def(build_batch.name)
    result = job.execute_in_process(
        instance=instance,
        partition_key=batch,
        run_config={"loggers": {LOGGER: {}}},
        tags={HOST_TAG: socket.gethostname(), PROCESS_TAG: str(os.getpid())},
        raise_on_error=False,
    )
    failures = [event for event in result.all_events if event.is_step_failure]
    return BatchRun(
        batch,
        "succeeded" if result.success else "failed",
        result.run_id,
        steps=tuple(event.step_key or "" for event in result.all_events if event.is_step_success),
        failed_step=failures[0].step_key if failures else None,
        error=_innermost(failures[0]) if failures else None,
        failed_checks=tuple(
            _failed_check(evaluation)
            for evaluation in result.get_asset_check_evaluations()
            if not evaluation.passed
        ),
    )


def _failed_check(evaluation: dg.AssetCheckEvaluation) -> FailedCheck:
    return FailedCheck(
        asset=evaluation.asset_key.to_user_string(),
        name=evaluation.check_name,
        blocking=evaluation.blocking or False,
        detail=evaluation.description or "",
    )


def _innermost(failure: dg.DagsterEvent) -> str:
    """The message of the exception that started it, without Dagster's wrapping."""
    error = failure.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip() if error is not None else "no error was recorded"


def bury_dead_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs as failed that a process on this machine began and did not live to end.

    Nothing else would: Dagster watches only runs it launched itself, and a run that seems in progress keeps
    the automation from ever requesting its batch again.
    """
    going = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED],
        tags={HOST_TAG: socket.gethostname()},
    )
    for run in instance.get_runs(going):
        if not _alive(int(run.tags[PROCESS_TAG])):
            instance.report_run_failed(run, "The process that ran it is gone.")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
