"""The release: one asset over all batches, its checks, its job and its schedule."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.defs.assets import BATCH_ASSETS, training_examples
from qa_pipeline.defs.base import BUILD_BATCH, OWNERS, UNENDED_RUNS, ResourcesParam
from qa_pipeline.defs.metadata import card_text, table_metadata
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.manifest import CARD, latest_release, read_manifest
from qa_pipeline.publishing.release import Release, publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.storage.files import versions_in
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import DOCUMENTS, TRAINING_EXAMPLES, VERDICTS
from qa_pipeline.text.rendering import shorten

POOL = "release"
MADE_FROM = "qa_pipeline/made_from"
"""On a release: the state of the tables that it was made from."""
"""A second run fails at once where one publishes; with a limit of 1 on this pool it waits instead."""
MOST_SHOWN = 200
"""Batches that are named; all are counted."""


class Publication(dg.Config):
    """Say if a run is meant to publish: Materialize all is not."""

    publish: bool = False
    """Publish; the job publish_release sets it."""


@dg.asset(
    group_name="publishing",
    kinds={"parquet"},
    deps=[training_examples],
    pool=POOL,
    owners=OWNERS,
    output_required=False,
)
def release(
    context: dg.AssetExecutionContext, config: Publication, resources: ResourcesParam
) -> Iterator[dg.MaterializeResult]:
    """Publish the accepted rows of all batches whose gates hold, in splits that share nothing.

    Where nothing has changed, the last release stays the latest.
    """
    if not config.publish:
        context.log.warning(
            "nothing is published; run the job publish_release, or set publish: true in the configuration"
        )
        return
    made_from = state_of(resources.layout)
    try:
        made = publish_release(resources)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    context.log.info(f"{'published' if made.made else 'nothing has changed since'} {made.folder}")
    yield dg.MaterializeResult(
        data_version=dg.DataVersion(made.manifest.content),
        metadata=_metadata(made),
        tags={MADE_FROM: made_from},
    )


def _metadata(made: Release) -> dict[str, Any]:
    manifest = made.manifest
    lists = {
        "splits": (("split", "rows"), manifest.splits.items()),
        "batches": (("batch", "rows"), manifest.batches.items()),
        "batches left out": (("batch", "reason"), manifest.batches_left_out.items()),
        "rows left out": (("reason", "rows"), manifest.rows_left_out.items()),
        "not satisfied": (("what the splits could not satisfy",), ((text,) for text in manifest.unsatisfied)),
    }
    return {
        "version": dg.MetadataValue.text(str(manifest.version) + ("" if made.made else ", as before")),
        "folder": dg.MetadataValue.path(str(made.folder)),
        "dagster/row_count": sum(manifest.splits.values()),
        "batches released": len(manifest.batches),
        **{name: table_metadata(header, list(rows)[:MOST_SHOWN]) for name, (header, rows) in lists.items()},
        "card": dg.MetadataValue.md(card_text((made.folder / CARD).read_text(encoding="utf-8"))),
    }


def _latest(resources: Resources) -> Path:
    folder = latest_release(resources.layout.releases)
    if folder is None:
        raise dg.Failure(f"{resources.layout.releases} holds no release", allow_retries=False)
    return folder


@dg.asset_check(
    asset=release,
    blocking=True,
    description="Blocks. Every promise of the release holds, checked from its folder.",
)
def release_verifies(resources: ResourcesParam) -> dg.AssetCheckResult:
    """Verify the latest release as `qa-pipeline verify` does."""
    checks = verify_release(_latest(resources))
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems]
    rows = [(check.name, check.checked, len(check.problems)) for check in checks]
    first = f"{len(problems)} problems, the first: {shorten(problems[0])}" if problems else ""
    return dg.AssetCheckResult(
        passed=not problems,
        description=first or "all hold",
        metadata={
            "checks": table_metadata(("check", "looked at", "problems"), rows),
            "problems": table_metadata(("problem",), [(problem,) for problem in problems[:MOST_SHOWN]]),
        },
    )


@dg.asset_check(asset=release, description="Warns. Every batch that has run is in the release.")
def batches_left_out(resources: ResourcesParam) -> dg.AssetCheckResult:
    """Name the batches whose gates, or the floor under a release, do not hold."""
    left_out = sorted(read_manifest(_latest(resources)).batches_left_out)
    return dg.AssetCheckResult(
        passed=not left_out,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{len(left_out)} left out: {', '.join(left_out[:MOST_SHOWN])}" if left_out else "none",
        metadata={"batches": len(left_out)},
    )


publish_job = dg.define_asset_job(
    "publish_release",
    selection=dg.AssetSelection.assets(release),
    config={"ops": {"release": {"config": {"publish": True}}}},
    description="Publishes the accepted rows of all batches whose gates hold, and verifies the release.",
)


def state_of(layout: Layout) -> str:
    """Return what changes when a batch is run, withdrawn or forgotten: names, sizes, times of files.

    It is no hash of their content, which would take as long as a release.
    """
    digest = hashlib.sha256()
    for name in (DOCUMENTS.name, VERDICTS.name, TRAINING_EXAMPLES.name):
        for batch, version in sorted(versions_in(layout.table(name, "batch").parent, ".parquet").items()):
            digest.update(f"{name}/{batch} {version}\n".encode())
    digest.update("\n".join(sorted(withdrawn_batches(layout))).encode())
    return digest.hexdigest()[:32]


@dg.schedule(
    job=publish_job,
    cron_schedule="0 5 * * *",
    description="Publishes what has changed, unless batches run at that time.",
)
def nightly_release(
    context: dg.ScheduleEvaluationContext, resources: ResourcesParam
) -> dg.RunRequest | dg.SkipReason:
    """Request a release where the tables are others than those of the last one."""
    batches = {asset.key for asset in BATCH_ASSETS}
    going = [
        run
        for run in context.instance.get_runs(dg.RunsFilter(statuses=UNENDED_RUNS))
        if run.job_name in (BUILD_BATCH, publish_job.name) or batches & (run.asset_selection or set())
    ]
    if going:
        return dg.SkipReason(f"{len(going)} runs have not ended; a release is made when all batches rest")
    if not resources.layout.tables(TRAINING_EXAMPLES.name):
        return dg.SkipReason("no batch has training examples")
    last = context.instance.get_latest_materialization_event(release.key)
    made = last.asset_materialization if last else None
    if made and (made.tags or {}).get(MADE_FROM) == state_of(resources.layout):
        return dg.SkipReason("no batch has changed since the last release")
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat())
