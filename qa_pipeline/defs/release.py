"""The release as Dagster sees it: one asset over all batches, its checks, its job and its schedule.

It is no step of a batch: `build_batch`, the sensors and the staleness of batches know nothing of it. Its data
version is the content of the release, so that whoever depends on it has no work where nothing has changed.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.defs.base import OWNERS, PARTITION, ResourcesParam
from qa_pipeline.defs.corpus import UNENDED_RUNS
from qa_pipeline.defs.metadata import INLINE_LENGTH, card_text, cell, markdown_table
from qa_pipeline.errors import QAPipelineError, ReleaseError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.manifest import CARD, latest_release, read_manifest
from qa_pipeline.publishing.release import Release, publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.storage.files import versions_in
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import DOCUMENTS, TRAINING_EXAMPLES, VERDICTS

RELEASE = dg.AssetKey("release")
POOL = "release"
"""A second run fails at once where one publishes; with a limit of 1 on this pool it waits instead."""
MADE_FROM = "qa_pipeline/made_from"
"""The tag that the nightly schedule compares: the state of the tables that a release was made from."""
MOST_SHOWN = 200
"""Batches, or problems, that are listed; all are counted."""

publish_job = dg.define_asset_job(
    "publish_release",
    selection=dg.AssetSelection.assets(RELEASE),
    config={"ops": {"release": {"config": {"publish": True}}}},
    description="Publishes the accepted rows of all batches whose gates hold, and verifies the release.",
)


class Publication(dg.Config):
    """Say if a run is meant to publish: Materialize all is not."""

    publish: bool = False
    """Publish; the job publish_release sets it."""


@dg.asset(
    group_name="publishing",
    kinds={"parquet"},
    deps=[dg.AssetDep(TRAINING_EXAMPLES.name, partition_mapping=dg.AllPartitionMapping())],
    pool=POOL,
    owners=OWNERS,
    output_required=False,
)
def release(
    context: dg.AssetExecutionContext, config: Publication, resources: ResourcesParam
) -> Iterator[dg.MaterializeResult[Any]]:
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
    """Return the facts for the UI; counts to follow from release to release are plain numbers."""
    manifest = made.manifest
    lists = {
        "splits": (("split", "rows"), manifest.splits.items()),
        "batches": (("batch", "rows"), manifest.batches.items()),
        "batches left out": (("batch", "reason"), manifest.batches_left_out.items()),
        "rows left out": (("reason", "rows"), manifest.rows_left_out.items()),
    }
    tables = {
        name: dg.MetadataValue.md(markdown_table(header, list(rows)[:MOST_SHOWN], INLINE_LENGTH))
        for name, (header, rows) in lists.items()
        if rows
    }
    if manifest.unsatisfied:
        problems = [(problem,) for problem in manifest.unsatisfied[:MOST_SHOWN]]
        table = markdown_table(("what the splits could not satisfy",), problems, INLINE_LENGTH)
        tables["not satisfied"] = dg.MetadataValue.md(table)
    card = (made.folder / CARD).read_text(encoding="utf-8")
    return {
        "version": dg.MetadataValue.text(str(manifest.version) + ("" if made.made else ", as before")),
        "folder": dg.MetadataValue.path(str(made.folder)),
        "dagster/row_count": sum(manifest.splits.values()),
        "batches released": len(manifest.batches),
        **tables,
        "card": dg.MetadataValue.md(card_text(card)),
    }


def _latest(resources: Resources) -> Path:
    folder = latest_release(resources.layout.releases)
    if folder is None:
        raise ReleaseError(f"{resources.layout.releases} holds no release")
    return folder


@dg.asset_check(
    asset=RELEASE, blocking=True, description="Every promise of the release holds, checked from its folder."
)
def release_verifies(resources: ResourcesParam) -> dg.AssetCheckResult:
    """Verify the latest release as `qa-pipeline verify` does."""
    try:
        checks = verify_release(_latest(resources))
    except ReleaseError as error:
        return dg.AssetCheckResult(passed=False, description=cell(str(error), INLINE_LENGTH))
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems]
    table = markdown_table(
        ("check", "looked at", "problems"),
        [(check.name, check.checked, len(check.problems)) for check in checks],
    )
    metadata = {"checks": dg.MetadataValue.md(table)}
    if problems:
        listed = markdown_table(("problem",), [(problem,) for problem in problems[:MOST_SHOWN]])
        metadata["problems"] = dg.MetadataValue.md(listed)
    return dg.AssetCheckResult(
        passed=not problems,
        description=f"{len(problems)} problems, the first: {cell(problems[0])}" if problems else "all hold",
        metadata=metadata,
    )


@dg.asset_check(asset=RELEASE, description="Every batch that has run is in the release.")
def batches_left_out(resources: ResourcesParam) -> dg.AssetCheckResult:
    """Name the batches whose gates, or the floor under a release, do not hold."""
    try:
        left_out = read_manifest(_latest(resources)).batches_left_out
    except ReleaseError as error:
        return dg.AssetCheckResult(
            passed=False, severity=dg.AssetCheckSeverity.WARN, description=cell(str(error), INLINE_LENGTH)
        )
    first_batches = ", ".join(sorted(left_out)[:MOST_SHOWN])
    return dg.AssetCheckResult(
        passed=not left_out,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{len(left_out)} left out: {first_batches}" if left_out else "none is left out",
        metadata={"batches": len(left_out)},
    )


release_checks = [release_verifies, batches_left_out]


def state_of(layout: Layout) -> str:
    """Return what changes when a batch is run, withdrawn or forgotten: names, sizes, times of files.

    It is no hash of their content, which would take as long as a release. A batch that was made again with
    the same content therefore gives a run that publishes nothing.
    """
    digest = hashlib.sha256()
    for name in (DOCUMENTS.name, VERDICTS.name, TRAINING_EXAMPLES.name):
        for batch, version in sorted(versions_in(layout.table(name, "batch").parent, ".parquet").items()):
            digest.update(f"{name}/{batch} {version}\n".encode())
    digest.update("\n".join(sorted(withdrawn_batches(layout))).encode())
    return digest.hexdigest()[:32]  # a tag holds 63 characters


@dg.schedule(
    job=publish_job,
    name="nightly_release",
    cron_schedule="0 5 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Publishes what the night has changed. Nothing while batches run or where none has changed.",
)
def nightly_release(
    context: dg.ScheduleEvaluationContext, resources: dg.ResourceParam[Resources]
) -> dg.RunRequest | dg.SkipReason:
    """Ask for a release, or say why not."""
    going = [
        run
        for run in context.instance.get_runs(dg.RunsFilter(statuses=UNENDED_RUNS))
        if PARTITION in run.tags or run.job_name == publish_job.name or RELEASE in (run.asset_selection or ())
    ]
    if going:
        return dg.SkipReason(f"{len(going)} runs have not ended; a release is made when all batches rest")
    layout = resources.layout
    if not layout.tables(TRAINING_EXAMPLES.name):
        return dg.SkipReason("no batch has training examples")
    last = context.instance.get_latest_materialization_event(RELEASE)
    made = last.asset_materialization if last else None
    if made and (made.tags or {}).get(MADE_FROM) == state_of(layout):
        return dg.SkipReason("no batch has changed since the last release")
    return dg.RunRequest(run_key=context.scheduled_execution_time.isoformat())
