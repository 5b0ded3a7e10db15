"""What every file here uses: partitions, names, and facts that all assets declare."""

import warnings

import dagster as dg

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.tree import Settings

ResourcesParam = dg.ResourceParam[Resources]

PARTITIONS_NAME = "document_batches"
document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)

OWNERS = ["team:training-data"]

PARTITION = "dagster/partition"
"""A tag that Dagster documents and exports no constant for."""

ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
UNENDED = [status for status in dg.DagsterRunStatus if status not in ENDED]
"""States of runs."""


def partitioned_check(
    name: str, asset: str, partitions: dg.PartitionsDefinition, description: str, *, blocking: bool = False
) -> dg.AssetCheckSpec:
    """Return a check of each partition of an asset."""
    with warnings.catch_warnings():
        # They are in preview, which is why the requirements pin dagster to its minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name, asset=asset, description=description, blocking=blocking, partitions_def=partitions
        )


def versioned(asset: dg.AssetsDefinition, settings: Settings) -> dg.AssetsDefinition:
    """Return an asset with the version of the settings, prompts and package that make it."""
    version = code_version(asset.key.to_user_string(), settings)
    return asset.map_asset_specs(lambda spec: spec.replace_attributes(code_version=version))
