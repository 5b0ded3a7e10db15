"""The release as an asset over all batches, with its check, job and schedule."""

from collections.abc import Mapping

import dagster as dg
import polars as pl

from qa_pipeline.defs.assets import training_examples
from qa_pipeline.defs.metadata import frame_table
from qa_pipeline.defs.steps import OWNERS, ResourcesParam
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.publishing.release import publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.text.rendering import shorten

VERIFIES = dg.AssetCheckSpec(
    "release_verifies",
    asset="release",
    blocking=True,
    description="Blocks. The release passes all checks of its own files, as in `qa-pipeline verify`.",
)


@dg.asset(
    group_name="publishing",
    kinds={"parquet"},
    deps=[training_examples],
    pool="release",
    owners=OWNERS,
    check_specs=[VERIFIES],
)
def release(resources: ResourcesParam) -> dg.MaterializeResult:
    """Publish the accepted rows of all batches that pass their gates, in splits without leakage.

    If the rows are unchanged, the last release stays the latest.
    """
    try:
        published = publish_release(resources)
        checks = verify_release(published.folder)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems]
    manifest = published.manifest
    return dg.MaterializeResult(
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
        check_results=[
            dg.AssetCheckResult(
                check_name=VERIFIES.name,
                passed=not problems,
                description=shorten("; ".join(problems)) or "all hold",
            )
        ],
    )


def _counts(entries: Mapping[str, int | str]) -> dg.TableMetadataValue:
    return frame_table(pl.DataFrame({"name": [*entries], "value": [*entries.values()]}))


publish_job = dg.define_asset_job(
    "publish_release",
    selection=[release],
    description="Publishes the accepted rows of all batches whose gates hold, and verifies the release.",
)

nightly_release = dg.ScheduleDefinition(
    name="nightly_release",
    job=publish_job,
    cron_schedule="0 5 * * *",
    description="Publishes changed rows; without changes the last release stays the latest.",
)
