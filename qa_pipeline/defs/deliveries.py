"""Replies that come in batch jobs, as Dagster sees them: assets that wait, and the sensor that fetches.

What belongs here: yielding nothing while replies are awaited, and a run for each batch that can go on. What
does not: jobs (`llm.batches`), what an asset computes.

An asset whose replies are awaited yields no output: the steps and checks after it are skipped, the run
succeeds, and no worker waits. What stood before stands.
"""

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.defs.jobs import build_batch
from qa_pipeline.defs.partitions import PARTITIONS_NAME
from qa_pipeline.deliveries import collect_replies
from qa_pipeline.errors import PermanentModelError, RepliesPendingError, ReplyStoreError
from qa_pipeline.llm.batches.collecting import Collected
from qa_pipeline.parts import Parts
from qa_pipeline.settings.tree import Settings

PENDING_TAG = "qa_pipeline/pending"
"""On a run: the asset whose replies are awaited."""
AWAITED = "what is awaited"
JOB_TAG = "qa_pipeline/provider_job"
LOOK_BACK = 3600.0
"""Seconds before the last look that are looked at again, since clocks of machines differ; a run that was
asked for is not asked for twice."""

Result = dg.MaterializeResult[pl.DataFrame]


def unless_pending(context: dg.AssetExecutionContext, make: Callable[[], Result]) -> Iterator[Result]:
    """The result; none while its replies are awaited, which the run's log, tags and the asset's page tell."""
    try:
        made = make()
    except RepliesPendingError as pending:
        _tell(context, pending)
        return
    yield made


def _tell(context: dg.AssetExecutionContext, pending: RepliesPendingError) -> None:
    context.log.warning(str(pending))
    metadata: dict[str, Any] = {
        "awaited replies": pending.requests,
        "awaited jobs": ", ".join(pending.jobs),
        AWAITED: str(pending),
    }
    asset = context.asset_key
    observed = dg.AssetObservation(asset, partition=context.partition_key, metadata=metadata)
    context.log_event(observed)
    context.instance.add_run_tags(context.run.run_id, {PENDING_TAG: asset.to_user_string()})


def provider_jobs_sensor(settings: Settings) -> dg.SensorDefinition:
    """The sensor that fetches replies and asks for one run of each batch that can go on.

    It runs from the start where replies come in batch jobs: nothing else would fetch them, and a provider
    keeps them for some days only. The runs it asks for are those of a batch that somebody has started.
    """
    batched = settings.llm.delivery == "batch"

    @dg.sensor(
        job=build_batch,
        name="provider_jobs",
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING if batched else dg.DefaultSensorStatus.STOPPED,
        description="Fetches the replies of batch jobs that have ended (llm.delivery=batch), and asks for a "
        "run of each batch that waited for them.",
    )
    def provider_jobs(
        context: dg.SensorEvaluationContext, parts: dg.ResourceParam[Parts]
    ) -> dg.SensorResult | dg.SkipReason:
        if not batched:
            return dg.SkipReason("replies are asked for at once (llm.delivery)")
        try:
            collected = collect_replies(parts)
            ended = parts.models.jobs.ended_since(float(context.cursor or 0.0) - LOOK_BACK)
        except (PermanentModelError, ReplyStoreError) as error:
            return dg.SkipReason(str(error))
        for problem in collected.problems:
            context.log.warning(problem)
        newest = max([float(context.cursor or 0.0), *(job.ended_at or 0.0 for job in collected.jobs)])
        # batches of runs without Dagster may be none of its partitions
        known = set(context.instance.get_dynamic_partitions(PARTITIONS_NAME))
        requests = [_request(batch, job) for batch, job in ended.items() if batch in known]
        return dg.SensorResult(
            run_requests=requests,
            cursor=repr(newest),
            skip_reason=None if requests else _told(collected),
        )

    return provider_jobs


def _request(batch: str, job: str) -> dg.RunRequest:
    # named after the job that ended last, so that it is one run however often one looks
    return dg.RunRequest(run_key=f"{batch} {job}", partition_key=batch, tags={JOB_TAG: job})


def _told(collected: Collected) -> str:
    if not collected.awaited:
        return "no batch job is awaited"
    return f"{collected.awaited} batch jobs have not ended"
