"""The job that builds one batch, and the schedule that runs it at night where there is work."""

import time
from itertools import takewhile
from pathlib import Path

import dagster as dg
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.withdrawals import withdraw_missing
from qa_pipeline.defs.base import TICK_SECONDS
from qa_pipeline.defs.batch_runs import (
    BUILD_BATCH,
    NIGHT_TAG,
    batches_of,
    batches_of_night,
    fail_orphaned_runs,
    job_requested,
    run_requests,
    running_batches,
)
from qa_pipeline.defs.corpus import corpus_of, report_changed_batches
from qa_pipeline.defs.staleness import Steps, Work, remembered_work
from qa_pipeline.errors import CorpusError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.files import write_bytes

NIGHTLY = "nightly"

build_batch = dg.define_asset_job(
    BUILD_BATCH,
    selection=dg.AssetSelection.all() - dg.AssetSelection.groups("publishing", "monitoring"),
    description="Builds everything of one batch, from its files to its training examples.",
)


def nightly_schedule(steps: Steps, batches_per_run: int) -> dg.ScheduleDefinition:
    """Return a schedule that runs the batches with work left and no others."""

    @dg.schedule(
        job_name=job_requested(batches_per_run),
        name=NIGHTLY,
        cron_schedule="*/5 2-4 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Builds every batch once a night that is new, changed or left unfinished; a batch that a "
        "gate blocked waits until something changes. A tick requests some (automation.max_requests), the "
        "next one goes on.",
    )
    def nightly(
        context: dg.ScheduleEvaluationContext, resources: dg.ResourceParam[Resources]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        try:
            fail_orphaned_runs(context.instance)
            night = context.scheduled_execution_time.date().isoformat()
            work = work_tonight(context.instance, resources, steps, night)
        except CorpusError as error:
            return dg.SkipReason(str(error))
        # Dagster asks for a key a run, and starts none twice in a tick: one that is evaluated again requests
        # nothing twice.
        most = resources.settings.automation.max_requests * batches_per_run
        requests = run_requests(
            dict(list(work.due.items())[:most]),
            batches_per_run,
            lambda batch: f"{batch} {night}",
            {NIGHT_TAG: night},
        )
        if work.blocked:
            context.log.info(work.blocked_message())
        nothing = "all batches are up to date, running or were requested tonight"
        waiting = f"{len(work.unexamined)} batches are left for the next tick" if work.unexamined else ""
        return requests or dg.SkipReason(
            "; ".join(filter(None, [waiting or nothing, work.blocked_message()]))
        )

    return nightly


def work_tonight(instance: dg.DagsterInstance, resources: Resources, steps: Steps, night: str) -> Work:
    """Return the batches with work left, each with the reason.

    Batches are registered and reported first, so that the schedule needs no sensor beside it. Other code or
    settings are no reason: over a whole corpus that is a decision, taken by hand.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    began = time.monotonic()
    place = corpus_of(resources.settings)
    batches = place.find_batches()
    if batches.names:  # else nothing is taken for gone: the corpus may be a place that is not mounted
        withdraw_missing(resources.layout, resources.settings.corpus, {*batches.names, *batches.refused})
    runs = dg.RunsFilter(tags={"dagster/schedule_name": NIGHTLY})
    last = next(iter(instance.get_runs(runs, limit=1)), None)
    run = last.run_id if last else ""
    looked = _read_looked(resources.layout.nightly)
    after = looked.after if looked.run == run else ["", *(batches_of(last) if last else [])][-1]
    circle = sorted(batches.names, key=lambda name: (name <= after, name))
    amounts = resources.settings.automation
    # half of the time: a night that only read would request nothing
    unreported = report_changed_batches(
        instance, resources.layout, place, circle, amounts.max_examined, began + TICK_SECONDS / 2
    )
    busy = running_batches(instance) | batches_of_night(instance, night)
    idle = [batch for batch in circle if batch not in unreported and batch not in busy]
    work = remembered_work(
        instance,
        resources,
        steps,
        idle,
        most=amounts.max_examined,
        enough=amounts.max_requests * amounts.batches_per_run,
        seconds=TICK_SECONDS - (time.monotonic() - began),
    )
    done = list(takewhile(lambda batch: batch not in work.unexamined, idle))
    if done and work.unexamined and not work.due:
        write_bytes(resources.layout.nightly, _Looked(run=run, after=done[-1]).model_dump_json().encode())
    work.unexamined |= unreported
    return work


class _Looked(BaseModel):
    """The last batch that ticks without a request looked at since a run; none where they began after it."""

    run: str = "none"
    after: str = ""


def _read_looked(path: Path) -> _Looked:
    try:
        return _Looked.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):  # the circle begins after the last run
        return _Looked()
