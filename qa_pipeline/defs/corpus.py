"""The corpus as Dagster sees it: an external asset, whose partitions are batches, versioned by content.

Reporting is all that is needed to get work done: `automation.py` and the nightly schedule compare what is
reported with what the tables were made from. This sensor requests no runs, or each change would run twice.

A changed batch is reported in two events, because Dagster 1.13 reads each in another place: the record of
what a run was made from comes from materializations, the staleness that the UI shows from observations.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

import dagster as dg
from dagster._core.storage.runs import SqlRunStorage
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.withdrawals import withdraw_missing, withdrawn_batches
from qa_pipeline.defs.base import (
    DATA_VERSION,
    PARTITIONS_NAME,
    TICK_SECONDS,
    document_batches,
    latest_ids,
    latest_tags_by_batch,
    parts_of,
)
from qa_pipeline.defs.batch_runs import running_batches
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.places import Corpus
from qa_pipeline.errors import CorpusError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout

CORPUS = dg.AssetKey("corpus")
BATCHES_A_TICK = 200
"""Changed batches read in one tick; a first tick over a large corpus must not run into the time limit."""

LISTING = "qa_pipeline/listing"
"""On a report: the outside fingerprint of the batch; while it is the same, the night reads nothing."""

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


class Reports(BaseModel):
    """The number of the last report of each batch, and the listing that the batch had when it was read.

    It saves reading only: a batch that is missing here is read once more.
    """

    storage: str = ""
    by_batch: dict[str, tuple[int, str | None]] = {}

    def listing(self, batch: str) -> str | None:
        """Return the listing of the content that was reported last; None where nobody knows."""
        return self.by_batch.get(batch, (0, None))[1]

    def note_same(self, listings: Mapping[str, str | None]) -> None:
        """Note batches that look different and hold what was reported."""
        self.by_batch |= {batch: (self.by_batch[batch][0], listing) for batch, listing in listings.items()}


def corpus_of(settings: Settings) -> Corpus:
    """Return the corpus that the settings name.

    Raises:
        CorpusError: its location is none that can be used.
    """
    return open_corpus(settings.corpus, settings.documents)


def read_reports(
    instance: dg.DagsterInstance, layout: Layout, batches: Collection[str], until: float = math.inf
) -> Reports:
    """Return the last reports of batches; only those that are new to the file of memory are fetched.

    Args:
        instance: where they are recorded; the memory of another one counts for nothing.
        layout: the output folder.
        batches: their names.
        until: time (monotonic) after which no further records are fetched.
    """
    try:
        reports = Reports.model_validate_json(layout.listings.read_bytes())
    except (FileNotFoundError, ValidationError):  # every batch is read once more
        reports = Reports()
    storage = cast("SqlRunStorage", instance.run_storage).get_run_storage_id()
    if reports.storage != storage:
        reports = Reports(storage=storage)
    ids, names = latest_ids(instance, CORPUS, batches), set(batches)
    new = [
        batch
        for batch, number in ids.items()
        if batch in names and reports.by_batch.get(batch, (0,))[0] != number
    ]
    for number, part in enumerate(parts_of(new)):
        if number and time.monotonic() > until:
            break
        tags = latest_tags_by_batch(instance, CORPUS, part)
        reports.by_batch |= {batch: (ids[batch], tags[batch].get(LISTING)) for batch in tags}
    return reports


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


def report_changed_batches(
    instance: dg.DagsterInstance,
    layout: Layout,
    place: Corpus,
    batches: Sequence[str],
    most: int,
    until: float = math.inf,
) -> set[str]:
    """Register the batches, and report those whose listing is another one than at their last report.

    Args:
        instance: where they are reported.
        layout: the output folder.
        place: the corpus.
        batches: their names, the most urgent first.
        most: how many of them are read.
        until: time (monotonic) after which no further one is reported; half of what is left until then goes
            to reading them.

    Returns:
        The batches whose present content is not reported: being copied, not readable, or left for later.
    """
    register_batches(instance, batches)
    listings = _listings(place, batches)
    reports = read_reports(instance, layout, batches, until)
    changed = [name for name in batches if reports.listing(name) != listings[name]]
    to_read = [name for name in changed if listings[name] is not None][:most]
    half = (time.monotonic() + until) / 2
    contents = read_contents(instance, place, {name: listings[name] for name in to_read}, until=half)
    reported = set[str]()
    for batch, events in contents.changed.items():
        if reported and time.monotonic() > until:
            break
        for event in events:
            instance.report_runless_asset_event(event)
        reported.add(batch)
    reports.note_same(contents.same)
    write_bytes(layout.listings, reports.model_dump_json().encode())
    return set(changed) - reported - contents.same.keys()


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
    """The content of batches: events of those with other content than reported, and the listings of all read.

    `unread` says why others cannot be read.
    """

    changed: dict[str, list[CorpusEvent]] = field(default_factory=dict)
    same: dict[str, str | None] = field(default_factory=dict)
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
        if batch in returned or fingerprint != recorded.get(batch, {}).get(DATA_VERSION):
            tags = {DATA_VERSION: fingerprint, LISTING: str(listings[batch])}
            contents.changed[batch] = _report(place, batch, tags)
        else:
            contents.same[batch] = listings[batch]
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
    reports = read_reports(context.instance, resources.layout, batches.names, until)
    returned = (withdrawn & set(batches.names)) - set(before.returned)
    changed = {
        name: listing
        for name, listing in listings.items()
        if listing is None or listing != reports.listing(name) or name in returned
    }
    settled = [name for name, listing in changed.items() if listing and listing == before.seen.get(name)]
    to_read = {name: listings[name] for name in settled[:BATCHES_A_TICK]}
    contents = read_contents(context.instance, place, to_read, returned, until)
    reports.note_same(contents.same)
    write_bytes(resources.layout.listings, reports.model_dump_json().encode())
    reasons = [*batches.refused.values(), *contents.unread.values()]
    for reason in reasons:
        context.log.warning(reason)
    reported = contents.changed.keys()
    after = Unsettled(
        seen={name: changed[name] for name in changed.keys() - reported - contents.same.keys()},
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
