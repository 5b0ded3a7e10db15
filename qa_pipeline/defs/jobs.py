"""The job that builds one batch, and the schedule that runs it at night where there is work.

What belongs here: the job and the schedule. What does not: reacting to changes by day (`automation.py`).
"""

from collections.abc import Sequence

import dagster as dg

from qa_pipeline.defs.corpus import corpus_of, report_batches
from qa_pipeline.defs.currency import Step, work_left
from qa_pipeline.defs.history import bury_dead_runs, running_batches
from qa_pipeline.deliveries import collect_replies, waiting_batches
from qa_pipeline.errors import CorpusError, PermanentModelError, ReplyStoreError
from qa_pipeline.parts import Parts
from qa_pipeline.publishing.withdrawals import withdraw_missing

REASON_TAG = "qa_pipeline/reason"

build_batch = dg.define_asset_job(
    "build_batch",
    selection=dg.AssetSelection.all(),
    description="Builds everything of one batch, from its files to its training examples.",
)


def nightly_schedule(steps: Sequence[Step]) -> dg.ScheduleDefinition:
    """A schedule that runs the batches with work left and no others."""

    @dg.schedule(
        job=build_batch,
        name="nightly",
        cron_schedule="0 2 * * *",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="One run for each batch that is new, changed, or was left unfinished. None otherwise.",
    )
    def nightly(
        context: dg.ScheduleEvaluationContext, parts: dg.ResourceParam[Parts]
    ) -> list[dg.RunRequest] | dg.SkipReason:
        try:
            collect_replies(parts)
            bury_dead_runs(context.instance)
            work = work_tonight(context.instance, parts, steps)
        except (CorpusError, PermanentModelError, ReplyStoreError) as error:
            return dg.SkipReason(str(error))
        # Dagster asks for a key a run, and never starts a key twice: with the night in it, a tick that is
        # evaluated again requests nothing twice, and a batch that failed is requested the next night.
        night = context.scheduled_execution_time.isoformat()
        requests = [
            dg.RunRequest(run_key=f"{batch} {night}", partition_key=batch, tags={REASON_TAG: reason})
            for batch, reason in work.items()
        ]
        return requests or dg.SkipReason("all batches are up to date, running or awaiting replies")

    return nightly


def work_tonight(instance: dg.DagsterInstance, parts: Parts, steps: Sequence[Step]) -> dict[str, str]:
    """The batches with work left, each with the reason.

    Batches are registered and reported first, so that the schedule needs no sensor beside it. Other code or
    settings are no reason: over a whole corpus that is a decision, taken by hand. A batch that waits for
    replies of batch jobs is left to wait: a run would come no further. So is one whose run has not ended.

    Raises:
        CorpusError: the corpus cannot be read.
        ReplyStoreError: it cannot be told which batches wait.
    """
    place = corpus_of(parts.settings)
    found = place.find_batches()
    withdraw_missing(parts.layout, parts.settings.corpus, {*found.names, *found.refused})
    batches = found.names
    unread = report_batches(instance, place, batches)  # the sensor says why
    busy = waiting_batches(parts) | running_batches(instance)
    reasons = {
        batch: work_left(instance, parts.layout, steps, batch, compare_code=False)
        for batch in batches
        if batch not in unread and batch not in busy
    }
    return {batch: reason for batch, reason in reasons.items() if reason}
