"""Partitions, names and properties that all Dagster definitions share."""

import warnings

import dagster as dg

from qa_pipeline.pipeline.fingerprint import code_version
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings

ResourcesParam = dg.ResourceParam[Resources]

PARTITIONS_NAME = "document_batches"
document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)

OWNERS = ["team:training-data"]

PARTITION = "dagster/partition"
"""A documented tag of Dagster without an exported constant."""

ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
UNENDED = [status for status in dg.DagsterRunStatus if status not in ENDED]


def partitioned_check(
    name: str, asset: str, partitions: dg.PartitionsDefinition, description: str, *, blocking: bool = False
) -> dg.AssetCheckSpec:
    """Return a check of each partition of an asset."""
    with warnings.catch_warnings():
        # Partitioned checks are a preview feature, so the requirements pin dagster's minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name, asset=asset, description=description, blocking=blocking, partitions_def=partitions
        )


def versioned(asset: dg.AssetsDefinition, settings: Settings) -> dg.AssetsDefinition:
    """Return an asset with a code version from its settings, prompts and package."""
    version = code_version(asset.key.to_user_string(), settings)
    return asset.map_asset_specs(lambda spec: spec.replace_attributes(code_version=version))
