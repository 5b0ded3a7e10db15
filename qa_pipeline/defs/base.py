"""Versions, resources, partitions, progress and records, shared by assets, checks, schedules and sensors."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from time import monotonic
from typing import Any, TypeVar

import dagster as dg

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import StageObserver
from qa_pipeline.records import ProgressCallback
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_text

Item = TypeVar("Item")


def pool_of(settings: Settings) -> str:
    """Return the pool of steps that may ask a language model: `llm`, the provider and the model.

    So models have limits apart from each other, whichever code locations ask them. The name is typed by hand,
    so it keeps to letters, digits, points and hyphens.
    """
    asked = settings.llm.hosted_models
    name = f"{asked[0].provider}-{asked[0].model}" if asked else settings.llm.provider
    return f"llm-{re.sub(r'[^A-Za-z0-9.]+', '-', name)}"


def content_version(*files: bytes) -> dg.DataVersion:
    """Return the data version of an output that is no table."""
    return dg.DataVersion(sha256(b"".join(sha256(file).digest() for file in files)).hexdigest())


ResourcesParam = dg.ResourceParam[Resources]
Watch = dg.ResourceParam[StageObserver]


PARTITIONS_NAME = "document_batches"

document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)


def partitioned_check(body: Callable[..., dg.AssetCheckResult], **declared: Any) -> dg.AssetChecksDefinition:
    """Return a check of a partitioned asset; `declared` are the arguments of `dg.asset_check`."""
    with warnings.catch_warnings():
        # Partitioned checks are in preview, which is why the requirements pin dagster to its minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.asset_check(**declared)(body)


SECONDS_A_LINE = 30.0
"""A stage that takes less says nothing; a long one not so much that its log hides what matters."""


def logged(log: dg.DagsterLogManager, what: str) -> ProgressCallback:
    """Return a progress callback that writes into the run's log what a long stage has done so far."""
    due = monotonic() + SECONDS_A_LINE

    def notify(done: int, total: int) -> None:
        nonlocal due
        if monotonic() >= due:
            due = monotonic() + SECONDS_A_LINE
            log.info(f"{what}: {done} of {total}")

    return notify


# Dagster's own tag names; it documents them and exports no constants for them.
DATA_VERSION = "dagster/data_version"
CODE_VERSION = "dagster/code_version"
INPUT_VERSION = "dagster/input_data_version/"
INPUT_EVENT = "dagster/input_event_pointer/"
OWN_VERSION = {"dagster/data_version_is_user_provided": "true"}
PARTITION = "dagster/partition"

BATCHES_A_QUERY = 500
"""Batches whose records are fetched at once: it bounds memory, and SQLite limits variables of a query."""

TICK_SECONDS = 10.0
"""Seconds after which a tick begins nothing further: Dagster ends it after 60, and other sensors wait."""


def parts_of(sequence: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield parts of a sequence that are small enough for one query."""
    for start in range(0, len(sequence), BATCHES_A_QUERY):
        yield sequence[start : start + BATCHES_A_QUERY]


def latest_tags(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> Mapping[str, str]:
    """Return the tags of the latest materialization of a batch; empty without one."""
    record = latest_record(instance, key, batch)
    event = record.asset_materialization if record else None
    return (event.tags or {}) if event else {}


def latest_record(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> dg.EventLogRecord | None:
    """Return the latest materialization of a batch."""
    records = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[batch])
    return next(iter(instance.fetch_materializations(records, limit=1).records), None)


def latest_ids(
    instance: dg.DagsterInstance, key: dg.AssetKey, batches: Collection[str] | None = None
) -> Mapping[str, int]:
    """Return the number of the latest materialization of each batch, of all where none are named."""
    few = set(batches) if batches is not None and len(batches) <= BATCHES_A_QUERY else None
    return instance.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION, few)


def latest_tags_by_batch(
    instance: dg.DagsterInstance, key: dg.AssetKey, batches: Collection[str]
) -> dict[str, Mapping[str, str]]:
    """Return the tags of the latest materialization of each batch that has one."""
    ids = list(latest_ids(instance, key, batches).values()) if batches else []
    events = []
    for part in parts_of(ids):
        numbered = dg.AssetRecordsFilter(key, storage_ids=part)
        records = instance.fetch_materializations(numbered, limit=len(part)).records
        events += [record.asset_materialization for record in records]
    return {str(event.partition): event.tags or {} for event in events if event is not None}


def as_input(version: str | None) -> str | None:
    """Return a data version as Dagster records it with the step made from it.

    For partitioned inputs it records a hash of the versions of all partitions read; here that is always one.
    """
    return None if version is None else hash_text(version)
