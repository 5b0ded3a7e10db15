"""What Dagster has on record about a batch.

What belongs here: the version tags Dagster writes on every materialization, and reading the latest ones.
What does not: judging them (`currency.py`).
"""

from collections.abc import Mapping

import dagster as dg

# Dagster's own tag names; it documents them and exports no constants for them.
DATA_VERSION = "dagster/data_version"
CODE_VERSION = "dagster/code_version"
INPUT_VERSION = "dagster/input_data_version/"


def latest_tags(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> Mapping[str, str]:
    """Tags of the latest materialization of a batch; empty when there is none."""
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[batch])
    records = instance.fetch_materializations(wanted, limit=1).records
    event = records[0].asset_materialization if records else None
    return (event.tags or {}) if event else {}
