"""The corpus as Dagster sees it: an external asset, whose partitions are batches, versioned by content.

This sensor requests no runs: `automation.py` and the nightly schedule compare what is reported with what the
tables were made from.

A changed batch is reported in two events, because Dagster 1.13 reads each in another place: the record of
what a run was made from comes from materializations, the staleness that the UI shows from observations.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.curation.withdrawals import withdraw_missing, withdrawn_batches
from qa_pipeline.defs.base import (
    DATA_VERSION,
    PARTITIONS_NAME,
    TICK_SECONDS,
    document_batches,
    latest_tags_by_batch,
    parts_of,
)
from qa_pipeline.defs.batch_runs import running_batches
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.places import Corpus
from qa_pipeline.errors import CorpusError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout

CORPUS = dg.AssetKey("corpus")
BATCHES_A_TICK = 200
"""Changed batches read in one tick; a first tick over a large corpus must not run into the time limit."""

LISTING = "qa_pipeline/listing"
"""On a report: the outside fingerprint of the batch; while it is the same, nothing is read."""

FINGERPRINT_LENGTH = 16
"""Hex digits of an outside fingerprint that are kept: tags take 63, and the cursor stays small."""

UNENDED = ("REQUESTED", "CANCELING", "FAILING")
"""States of a backfill that has not ended; Dagster exports no constant for them."""

corpus = dg.AssetSpec(
    CORPUS,
    partitions_def=document_batches,
    group_name="ingestion",
    kinds={"file"},
    description="One partition per folder or archive. Its data version is a hash of all files in it.",
)


CorpusEvent = dg.AssetMaterialization | dg.AssetObservation


class Unsettled(BaseModel):
    """The sensor's memory: what may still be copied, and which returned batches it has reported.

    A batch is read once its outside fingerprint is the same twice in a row, so that one still being copied is
    not processed half. Dagster keeps a cursor with every tick, so it holds only batches that wait.
    """

    seen: dict[str, str | None] = {}
    returned: list[str] = []


def corpus_of(settings: Settings) -> Corpus:
    """Return the corpus that the settings name.

    Raises:
        CorpusError: its location is none that can be used.
    """
    return open_corpus(settings.corpus)


def register_batches(instance: dg.DagsterInstance, batches: Iterable[str]) -> None:
    """Make those batches partitions that are none yet."""
    new = sorted(set(batches) - set(instance.get_dynamic_partitions(PARTITIONS_NAME)))
    for part in parts_of(new):
        instance.add_dynamic_partitions(PARTITIONS_NAME, part)


def report_batches(instance: dg.DagsterInstance, place: Corpus, batches: Iterable[str]) -> dict[str, str]:
    """Register the batches and report the content of those that changed.

    Returns:
        Why batches could not be read, by name; one of these takes no other down.
    """
    names = list(batches)
    register_batches(instance, names)
    contents = read_contents(instance, place, _listings(place, names))
    for event in contents.events:
        instance.report_runless_asset_event(event)
    return contents.unread


def _listings(place: Corpus, batches: Iterable[str]) -> dict[str, str | None]:
    """Return the outside fingerprint of each batch, cut; None while it cannot be looked at."""
    return {
        name: fingerprint and fingerprint[:FINGERPRINT_LENGTH]
        for name, fingerprint in place.listing_fingerprints(batches).items()
    }


def _report(place: Corpus, batch: str, tags: Mapping[str, str]) -> list[CorpusEvent]:
    """Return both events, the observation first: a run records the number of the last materialization."""
    metadata = {"folder": dg.MetadataValue.path(place.address(batch))}
    return [
        kind(CORPUS, partition=batch, tags=tags, metadata=metadata)
        for kind in (dg.AssetObservation, dg.AssetMaterialization)
    ]


@dataclass
class Contents:
    """Events of batches with another content or listing than reported, and why others cannot be read."""

    changed: dict[str, list[CorpusEvent]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def events(self) -> list[CorpusEvent]:
        """Return all events in order."""
        return list(chain.from_iterable(self.changed.values()))


def read_contents(
    instance: dg.DagsterInstance,
    place: Corpus,
    listings: Mapping[str, str | None],
    returned: Collection[str] = (),
    until: float = math.inf,
) -> Contents:
    """Read batches, at least one of them.

    Args:
        instance: where they were reported.
        place: the corpus.
        listings: the present listing of each; one that changes while its batch is read leaves the batch out.
        returned: batches that are reported even if their content is the one reported last, since their tables
            were moved aside while they were gone.
        until: time (monotonic) after which no further one is read.
    """
    contents = Contents()
    recorded = latest_tags_by_batch(instance, CORPUS, listings)
    fingerprints: dict[str, str] = {}
    for batch in listings:
        if fingerprints and time.monotonic() > until:
            break
        try:
            fingerprints[batch] = place.batch(batch).fingerprint()
        except CorpusError as error:
            contents.unread[batch] = str(error)
    after = _listings(place, fingerprints)
    for batch, fingerprint in fingerprints.items():
        if after[batch] != listings[batch]:
            continue
        tags = {DATA_VERSION: fingerprint, LISTING: str(listings[batch])}
        if batch in returned or not tags.items() <= recorded.get(batch, {}).items():
            contents.changed[batch] = _report(place, batch, tags)
    return contents


@dg.sensor(
    description="Registers new batches, reports changed ones, and removes the partitions of those that are "
    "gone. Starts no runs.",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def corpus_sensor(
    context: dg.SensorEvaluationContext, resources: dg.ResourceParam[Resources]
) -> dg.SensorResult | dg.SkipReason:
    """Search the corpus; only batches that changed on the outside since they were read are read again."""
    try:
        place = corpus_of(resources.settings)
        batches = place.find_batches()
    except CorpusError as error:
        return dg.SkipReason(f"{error}. No batch is taken for gone, nothing is withdrawn or removed")
    if not batches.names:
        refused = "; ".join(batches.refused.values())
        return dg.SkipReason(f"no batch can be used, nothing is withdrawn or removed: {refused}")
    present = {*batches.names, *batches.refused}
    withdraw_missing(resources.layout, resources.settings.corpus, present)
    withdrawn = _gone(resources.layout)
    before = Unsettled.model_validate_json(context.cursor or "{}")
    listings = _listings(place, batches.names)
    until = time.monotonic() + TICK_SECONDS
    recorded = latest_tags_by_batch(context.instance, CORPUS, batches.names)
    returned = (withdrawn & set(batches.names)) - set(before.returned)
    changed = {
        name: listing
        for name, listing in listings.items()
        if listing is None or listing != recorded.get(name, {}).get(LISTING) or name in returned
    }
    settled = [name for name, listing in changed.items() if listing and listing == before.seen.get(name)]
    to_read = {name: listings[name] for name in settled[:BATCHES_A_TICK]}
    contents = read_contents(context.instance, place, to_read, returned, until)
    reasons = [*batches.refused.values(), *contents.unread.values()]
    for reason in reasons:
        context.log.warning(reason)
    reported = contents.changed.keys()
    after = Unsettled(
        seen={name: changed[name] for name in changed.keys() - reported},
        returned=sorted((set(before.returned) & withdrawn) | (returned & reported)),
    )
    registered = set(context.instance.get_dynamic_partitions(PARTITIONS_NAME))
    new = sorted(set(batches.names) - registered)
    removed = _removable(context.instance, resources, registered - present)
    counts = (
        f"{len(batches.names)} batches: {len(new)} new, content of {len(reported)} reported as new or changed"
    )
    if after.seen:
        counts += f", {len(after.seen)} are looked at again"
    if removed:
        counts += f"; gone from the corpus, partition removed and results withdrawn: {', '.join(removed)}"
    return dg.SensorResult(
        dynamic_partitions_requests=[
            *map(document_batches.build_add_request, parts_of(new)),
            *([document_batches.build_delete_request(removed)] if removed else []),
        ],
        asset_events=contents.events,
        cursor=after.model_dump_json(),
        skip_reason="; ".join([counts, *(f"cannot be used: {reason}" for reason in reasons)]),
    )


def _removable(instance: dg.DagsterInstance, resources: Resources, missing: Collection[str]) -> list[str]:
    """Return the partitions among `missing` that nothing needs any more.

    A run or backfill of a partition that is removed under it fails, so these end first. A batch that was read
    from another corpus stays.
    """
    if not missing or any(backfill.status.value in UNENDED for backfill in instance.get_backfills()):
        return []
    unread = {name for name in missing if not resources.layout.origin(name).is_file()}
    return sorted((set(missing) & (_gone(resources.layout) | unread)) - running_batches(instance))


def _gone(layout: Layout) -> set[str]:
    """Return the batches that are withdrawn because they are no longer in the corpus."""
    return {name for name, stone in withdrawn_batches(layout).items() if stone.reason == "batch_gone"}
