"""The job that builds one batch, and the schedule that runs it at night where there is work.

What belongs here: the job and the schedule. What does not: reacting to changes by day (`automation.py`).
"""

from collections.abc import Sequence

import dagster as dg

from qa_pipeline.defs.corpus import find_batches, report_batches
from qa_pipeline.defs.currency import Step, work_left
from qa_pipeline.errors import CorpusError
from qa_pipeline.parts import Parts

build_batch = dg.define_asset_job(
    "build_batch",
    selection=dg.AssetSelection.all(),
    description="Builds everything of one batch, from its files to its training examples.",
)


def nightly_schedule(steps: Sequence[Step]) -> dg.ScheduleDefinition:
    """A schedule that runs the batches with work left and no others.

    Other code or settings are no reason: over a whole corpus that is a decision, taken by hand.
    """

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
        folder = parts.settings.corpus
        try:
            batches = find_batches(folder).batches
        except CorpusError as error:
            return dg.SkipReason(str(error))
        report_batches(context.instance, folder, batches)
        reasons = {
            batch: work_left(context.instance, parts.layout, steps, batch, compare_code=False)
            for batch in batches
        }
        requests = [
            dg.RunRequest(partition_key=batch, tags={"qa_pipeline/reason": reason})
            for batch, reason in reasons.items()
            if reason
        ]
        return requests or dg.SkipReason(f"all {len(batches)} batches are up to date")

    return nightly
