"""What every file here uses: partitions, names, and facts that all assets declare."""

from hashlib import sha256
from typing import Any

import dagster as dg

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.tree import Settings

ResourcesParam = dg.ResourceParam[Resources]

PARTITIONS_NAME = "document_batches"
document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)

BUILD_BATCH = "build_batch"
OWNERS = ["team:training-data"]

MODEL_POOL = "llm"
"""Pool of the steps that may ask a language model; its limit is that of the runs that ask at once."""

PARTITION = "dagster/partition"
DATA_VERSION = "dagster/data_version"
"""Tags that Dagster documents and exports no constants for."""

UNENDED_RUNS = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def content_version(*files: bytes) -> dg.DataVersion:
    """Return the data version of files: a hash of their bytes."""
    return dg.DataVersion(sha256(b"".join(sha256(file).digest() for file in files)).hexdigest())


def versioned(asset: dg.AssetsDefinition, settings: Settings) -> dg.AssetsDefinition:
    """Return an asset with the version of the settings, prompts and package that make it."""

    def with_code_version(spec: dg.AssetSpec) -> Any:
        return spec.replace_attributes(code_version=code_version(spec.key.to_user_string(), settings))

    return asset.map_asset_specs(with_code_version)
