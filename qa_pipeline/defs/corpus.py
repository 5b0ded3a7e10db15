"""The corpus sensor: it registers folders as partitions and requests runs of changed batches."""

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from qa_pipeline.curation.withdrawals import withdraw_missing, withdrawn_batches
from qa_pipeline.defs.assets import corpus
from qa_pipeline.defs.base import PARTITION, PARTITIONS_NAME, UNENDED, ResourcesParam, document_batches
from qa_pipeline.defs.jobs import build_batch
from qa_pipeline.documents.corpus.corpora import Corpus, open_corpus
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.files import version_of
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout

BATCHES_A_TICK = 200
"""Most changed batches per tick, so that a first tick over a large corpus stays within the time limit."""
TICK_SECONDS = 10.0
"""Seconds after which a tick reads no further batch; Dagster's limit is 60, and other sensors wait."""
BATCHES_A_QUERY = 500
"""Records per query, to bound memory and SQLite's variables."""
LISTING = "qa_pipeline/listing"
"""Tag of a report: a hash of names, sizes and times of the batch's files. Unchanged batches are not read."""
VANISHED = "gone"
"""The listing of a batch whose folder was removed."""
NO_REPORT = ("", 0)
"""Listing and number of the last report of a batch without reports."""
DATA_VERSION = "dagster/data_version"
UNENDED_BACKFILLS = ("REQUESTED", "CANCELING", "FAILING")
"""States of a backfill that has not ended; like the tag above, they lack a constant in Dagster."""

CorpusEvent = dg.AssetObservation | dg.AssetMaterialization


@dg.sensor(
    job=build_batch,
    description="Registers new batches, reports changed ones and requests their runs, and removes the "
    "partitions of those that are gone. Off until turned on: runs may cost money.",
    minimum_interval_seconds=30,
)
def corpus_sensor(
    context: dg.SensorEvaluationContext, resources: ResourcesParam
) -> dg.SensorResult | dg.SkipReason:
    """Scan the corpus, and request a run for each batch whose listing changed.

    A batch is read only if its listing is the same in two ticks, since it may still be copied. The cursor
    keeps the listings of batches that wait for the second tick. Each listing requests a single run.
    """
    instance, layout = context.instance, resources.layout
    try:
        corpus = open_corpus(resources.settings.corpus)
        batches = corpus.find_batches()
    except CorpusError as error:
        return dg.SkipReason(f"{error}. Nothing is withdrawn or removed")
    problems = list(batches.refused.values())
    if not batches.names:
        return dg.SkipReason(f"no usable batch, so nothing is withdrawn or removed: {'; '.join(problems)}")
    present = {*batches.names, *batches.refused}
    withdraw_missing(layout, resources.settings.corpus, present)
    withdrawn = withdrawn_batches(layout)
    vanished = {name for name, tombstone in withdrawn.items() if tombstone.reason == "batch_gone"}

    reported = last_reports(instance)
    changed = {
        batch: listing
        for batch, listing in listings_of(corpus, layout, batches.names).items()
        if listing != reported.get(batch, NO_REPORT)[0]
    }
    last_tick = json.loads(context.cursor or "{}")
    settled = {batch: listing for batch, listing in changed.items() if listing == last_tick.get(batch)}
    events, requests, unread = _request_runs(corpus, settled, reported)
    problems += unread
    requested = {request.partition_key for request in requests}
    waiting = {batch: listing for batch, listing in changed.items() if batch not in requested}
    for batch in sorted(vanished - present):
        if reported.get(batch, NO_REPORT)[0] not in ("", VANISHED):
            events += report(batch, VANISHED, VANISHED)

    registered = set(instance.get_dynamic_partitions(PARTITIONS_NAME))
    new = sorted(set(batches.names) - registered)
    removed = _removable(instance, layout, registered - present, vanished)
    for problem in problems:
        context.log.warning(problem)
    counts = f"{len(batches.names)} batches, {len(waiting)} changed; removed: {', '.join(removed) or 'none'}"
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[
            *map(document_batches.build_add_request, _chunked(new)),
            *([document_batches.build_delete_request(removed)] if removed else []),
        ],
        asset_events=events,
        cursor=json.dumps(waiting),
        skip_reason=None if requests else "; ".join([counts, *problems]),
    )


def _request_runs(
    corpus: Corpus, settled: Mapping[str, str], reported: Mapping[str, tuple[str, int]]
) -> tuple[list[CorpusEvent], list[dg.RunRequest], list[str]]:
    """Return reports and run requests of batches by listing, and the problems of unreadable batches."""
    events: list[CorpusEvent] = []
    requests: list[dg.RunRequest] = []
    problems: list[str] = []
    deadline = time.monotonic() + TICK_SECONDS
    for batch, listing in list(settled.items())[:BATCHES_A_TICK]:
        if requests and time.monotonic() > deadline:
            break
        try:
            version = corpus.batch(batch).fingerprint()
        except CorpusError as error:
            problems.append(str(error))
            continue
        events += report(batch, listing, version)
        # the number of the previous report makes restored content run again
        run_key = f"{batch}:{listing}:{reported.get(batch, NO_REPORT)[1]}"
        requests.append(dg.RunRequest(partition_key=batch, run_key=run_key))
    return events, requests, problems


def listings_of(corpus: Corpus, layout: Layout, batches: Sequence[str]) -> dict[str, str]:
    """Return a hash per batch that changes with its files and decisions.

    Batches that cannot be listed now are omitted.
    """
    files = layout.decisions("batch").parent.glob("*.jsonl")
    decided = {file.stem: version_of(file) for file in files}
    return {
        batch: hash_text(f"{fingerprint} {decided.get(batch)}")[:16]
        for batch, fingerprint in corpus.listing_fingerprints(batches).items()
        if fingerprint
    }


def last_reports(instance: dg.DagsterInstance) -> dict[str, tuple[str, int]]:
    """Return the listing of each batch in its last report, and the id of that report."""
    latest = instance.get_latest_storage_id_by_partition(
        corpus.key, dg.DagsterEventType.ASSET_MATERIALIZATION
    )
    reports = {}
    for ids in _chunked(list(latest.values())):
        wanted = dg.AssetRecordsFilter(corpus.key, storage_ids=ids)
        for record in instance.fetch_materializations(wanted, limit=len(ids)).records:
            if record.asset_materialization is not None:
                tags = record.asset_materialization.tags or {}
                reports[str(record.partition_key)] = tags.get(LISTING, ""), record.storage_id
    return reports


def report(batch: str, listing: str, version: str) -> list[CorpusEvent]:
    """Return the events for new content of a batch.

    Both are needed: Dagster 1.13 reads inputs of runs from materializations, staleness from observations.
    """
    tags = {DATA_VERSION: version, LISTING: listing}
    kinds = (dg.AssetObservation, dg.AssetMaterialization)
    return [kind(corpus.key, partition=batch, tags=tags) for kind in kinds]


def _chunked(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCHES_A_QUERY):
        yield items[start : start + BATCHES_A_QUERY]


def _removable(
    instance: dg.DagsterInstance, layout: Layout, missing: Collection[str], vanished: Collection[str]
) -> list[str]:
    """Return missing partitions that are safe to remove, since a run fails if its partition is removed.

    Batches that were read from another corpus are kept.
    """
    if not missing:
        return []
    if any(backfill.status.value in UNENDED_BACKFILLS for backfill in instance.get_backfills()):
        return []
    running = {run.tags.get(PARTITION) for run in instance.get_runs(dg.RunsFilter(statuses=UNENDED))}
    never_read = {name for name in missing if not layout.origin(name).is_file()}
    return [
        name for name in sorted(missing) if name not in running and (name in vanished or name in never_read)
    ]
