"""The corpus as Dagster sees it: an external asset, whose partitions are batches, versioned by content.

Reporting is all that is needed to get work done: `automation.py` and the nightly schedule compare what is
reported with what the tables were made from. This sensor requests no runs, or each change would run twice.

A changed batch is reported in two events, because Dagster 1.13 reads each in another place: the record of
what a run was made from comes from materializations, the staleness that the UI shows from observations.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.curation.withdrawals import withdraw_missing, withdrawn_batches
from qa_pipeline.defs.base import (
    DATA_VERSION,
    PARTITIONS_NAME,
    document_batches,
    latest_tags,
    latest_tags_by_batch,
    running_batches,
)
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


class Fingerprints(BaseModel):
    """The sensor's memory: the outside fingerprint of each batch at the last tick, and when it was last read.

    A batch is read once its fingerprint is the same twice in a row, so that one still being copied is not
    processed half. The memory saves reading only: losing it costs one pass over the corpus.
    """

    seen: dict[str, str | None] = {}
    read: dict[str, str | None] = {}


def corpus_of(settings: Settings) -> Corpus:
    """Return the corpus that the settings name.

    Raises:
        CorpusError: its location is none that can be used.
    """
    return open_corpus(settings.corpus, settings.documents)


def report_batches(instance: dg.DagsterInstance, place: Corpus, batches: Iterable[str]) -> dict[str, str]:
    """Register the batches and report the content of those that changed.

    Returns:
        Why batches could not be read, by name; one of these takes no other down.
    """
    names = list(batches)
    instance.add_dynamic_partitions(PARTITIONS_NAME, names)
    changed, unread = changed_contents(instance, place, names)
    for event in chain.from_iterable(changed.values()):
        instance.report_runless_asset_event(event)
    return unread


def report_changed_batches(
    instance: dg.DagsterInstance, place: Corpus, batches: Sequence[str], most: int
) -> set[str]:
    """Register the batches, and report those whose listing is another one than at their last report.

    Args:
        instance: where they are reported.
        place: the corpus.
        batches: their names, the most urgent first.
        most: how many of them are read.

    Returns:
        The batches whose present content is not reported: being copied, not readable, or left for later.
    """
    instance.add_dynamic_partitions(PARTITIONS_NAME, batches)
    listings = _listings(place, batches)
    recorded = latest_tags_by_batch(instance, CORPUS, batches)
    changed = [name for name in batches if recorded.get(name, {}).get(LISTING) != listings[name]]
    to_read = [name for name in changed if listings[name] is not None][:most]
    for name in to_read:
        try:
            fingerprint = place.batch(name).fingerprint()
        except CorpusError:  # the sensor says why
            continue
        if _listings(place, [name]) != {name: listings[name]}:  # changed while it was read
            continue
        for event in _report(place, name, {DATA_VERSION: fingerprint, LISTING: str(listings[name])}):
            instance.report_runless_asset_event(event)
        changed.remove(name)
    return set(changed)


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


def changed_contents(
    instance: dg.DagsterInstance, place: Corpus, batches: Iterable[str], returned: Collection[str] = ()
) -> tuple[dict[str, list[CorpusEvent]], dict[str, str]]:
    """Return events for each batch whose content changed, and why others cannot be read.

    A batch that has `returned` to the corpus is reported even if its content is the one reported last: its
    tables were moved aside while it was gone.
    """
    changed: dict[str, list[CorpusEvent]] = {}
    unread: dict[str, str] = {}
    for batch in batches:
        try:
            fingerprint = place.batch(batch).fingerprint()
        except CorpusError as error:
            unread[batch] = str(error)
            continue
        if batch in returned or fingerprint != latest_tags(instance, CORPUS, batch).get(DATA_VERSION):
            changed[batch] = _report(place, batch, {DATA_VERSION: fingerprint})
    return changed, unread


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
    before = Fingerprints.model_validate_json(context.cursor or "{}")
    now = _listings(place, batches.names)
    settled = [name for name in batches.names if now[name] and now[name] == before.seen.get(name)]
    to_read = [name for name in settled if now[name] != before.read.get(name)][:BATCHES_A_TICK]
    changed, unread = changed_contents(context.instance, place, to_read, withdrawn)
    reasons = [*batches.refused.values(), *unread.values()]
    for reason in reasons:
        context.log.warning(reason)
    read = {name: now[name] for name in to_read if name not in unread}
    # one that returns is read anew
    still_there = {name: fingerprint for name, fingerprint in before.read.items() if name in now}
    after = Fingerprints(seen=now, read=still_there | read)
    registered = set(context.instance.get_dynamic_partitions(PARTITIONS_NAME))
    new = sorted(set(batches.names) - registered)
    removed = _removable(context.instance, resources, registered - present)
    counts = (
        f"{len(batches.names)} batches: {len(new)} new, content of {len(changed)} reported as new or changed"
    )
    if removed:
        counts += f"; gone from the corpus, partition removed and results withdrawn: {', '.join(removed)}"
    return dg.SensorResult(
        dynamic_partitions_requests=[
            *([document_batches.build_add_request(new)] if new else []),
            *([document_batches.build_delete_request(removed)] if removed else []),
        ],
        asset_events=list(chain.from_iterable(changed.values())),
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
