"""The release as an asset over all batches, with its check, job and schedule."""

from collections.abc import Iterator, Mapping

import dagster as dg
import polars as pl

from qa_pipeline.defs.assets import training_examples
from qa_pipeline.defs.base import OWNERS, ResourcesParam
from qa_pipeline.defs.metadata import frame_table
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.publishing.manifest import latest_release
from qa_pipeline.publishing.release import publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.text.rendering import shorten

MOST_SHOWN = 200
"""Most batches and problems shown; all are counted."""


class Publication(dg.Config):
    """Protects against publishing by "Materialize all"; the job publish_release sets it."""

    publish: bool = False


@dg.asset(
    group_name="publishing",
    kinds={"parquet"},
    deps=[training_examples],
    pool="release",
    owners=OWNERS,
    output_required=False,
)
def release(
    context: dg.AssetExecutionContext, config: Publication, resources: ResourcesParam
) -> Iterator[dg.MaterializeResult]:
    """Publish the accepted rows of all batches that pass their gates, in splits without leakage.

    If the rows are unchanged, the last release stays the latest.
    """
    if not config.publish:
        context.log.warning("nothing is published; run the job publish_release, or set publish: true")
        return
    try:
        published = publish_release(resources)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    manifest = published.manifest
    yield dg.MaterializeResult(
        data_version=dg.DataVersion(manifest.content),
        metadata={
            "version": f"{manifest.version}{'' if published.made else ', as before'}",
            "folder": dg.MetadataValue.path(str(published.folder)),
            "dagster/row_count": sum(manifest.splits.values()),
            "rows by split": _counts(manifest.splits),
            "rows by batch": _counts(manifest.batches),
            "batches left out": _counts(manifest.batches_left_out),
            "rows left out": _counts(manifest.rows_left_out),
            "not satisfied": "; ".join(manifest.unsatisfied),
        },
    )


def _counts(entries: Mapping[str, int | str]) -> dg.TableMetadataValue:
    return frame_table(pl.DataFrame({"name": [*entries], "value": [*entries.values()]}).head(MOST_SHOWN))


@dg.asset_check(
    asset=release,
    blocking=True,
    description="Blocks. The release passes all checks of its own files.",
)
def release_verifies(resources: ResourcesParam) -> dg.AssetCheckResult:
    """Verify the latest release, as `qa-pipeline verify` does."""
    folder = latest_release(resources.layout.releases)
    if folder is None:
        raise dg.Failure(f"{resources.layout.releases} has no release", allow_retries=False)
    checks = verify_release(folder)
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems]
    return dg.AssetCheckResult(
        passed=not problems,
        description=shorten("; ".join(problems)) or "all hold",
        metadata={"problems": frame_table(pl.DataFrame({"problem": problems[:MOST_SHOWN]}))},
    )


publish_job = dg.define_asset_job(
    "publish_release",
    selection=dg.AssetSelection.assets(release),
    config={"ops": {"release": {"config": {"publish": True}}}},
    description="Publishes the accepted rows of all batches whose gates hold, and verifies the release.",
)

nightly_release = dg.ScheduleDefinition(
    name="nightly_release",
    job=publish_job,
    cron_schedule="0 5 * * *",
    description="Publishes changed rows; without changes the last release stays the latest.",
)
