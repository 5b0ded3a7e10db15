"""The corpus as Dagster sees it: an external asset, whose partitions are batches, versioned by content.

What belongs here: registering batches, reporting what their folders hold, and the sensor that does both.
What does not: starting runs (`automation.py`), reading documents.

Reporting is all that is needed to get work done: the automation condition of the assets reacts to a changed
data version of `corpus`, batch by batch. The sensor itself asks for no runs, or each change would run twice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.defs.history import DATA_VERSION, latest_tags
from qa_pipeline.defs.partitions import PARTITIONS_NAME, document_batches
from qa_pipeline.documents.batches import batch_fingerprint, check_batch_name
from qa_pipeline.errors import CorpusError
from qa_pipeline.parts import Parts

CORPUS = dg.AssetKey("corpus")
BATCHES_A_TICK = 200
"""Changed batches read in one tick; a first tick over a large corpus must not run into the time limit."""

LOOK_LENGTH = 16
"""Hex digits of an outside look kept in the cursor; a clash of two looks only delays a report."""

corpus = dg.AssetSpec(
    CORPUS,
    partitions_def=document_batches,
    group_name="ingestion",
    kinds={"file"},
    description="One partition per folder of the corpus. Its data version is a hash of all files in it.",
)


SensorAnswer = dg.SensorResult | dg.SkipReason


class Looks(BaseModel):
    """The sensor's memory: how each batch looked from outside in the last tick, and when it was last read.

    A batch is read once it looks the same twice running, so that a folder still being copied is not
    processed half. The memory saves reading only: losing it costs one pass over the corpus.
    """

    seen: dict[str, str | None] = {}
    read: dict[str, str | None] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """Batches that can be used, and why the others cannot."""

    batches: tuple[str, ...]
    refused: tuple[str, ...]


def find_batches(folder: Path) -> Found:
    """List the batches of the corpus; a folder whose name cannot be a batch takes no other one down.

    Raises:
        CorpusError: the corpus folder cannot be read.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    except OSError as error:
        raise CorpusError(f"corpus folder {folder} cannot be read: {error.strerror}") from error
    batches, refused = [], []
    for name in names:
        if name.startswith("."):
            continue
        try:
            check_batch_name(name)
        except CorpusError as error:
            refused.append(str(error))
        else:
            batches.append(name)
    return Found(tuple(batches), tuple(refused))


def report_batches(instance: dg.DagsterInstance, folder: Path, batches: Iterable[str]) -> None:
    """Register the batches and report the content of those that changed."""
    names = list(batches)
    instance.add_dynamic_partitions(PARTITIONS_NAME, names)
    for event in changed_contents(instance, folder, names):
        instance.report_runless_asset_event(event)


def changed_contents(
    instance: dg.DagsterInstance, folder: Path, batches: Iterable[str]
) -> Iterator[dg.AssetMaterialization]:
    """Yield an event for each batch whose content is not the one reported last."""
    for batch in batches:
        fingerprint = batch_fingerprint(folder / batch)
        if fingerprint != latest_tags(instance, CORPUS, batch).get(DATA_VERSION):
            yield dg.AssetMaterialization(
                CORPUS,
                partition=batch,
                tags={DATA_VERSION: fingerprint},
                metadata={"folder": dg.MetadataValue.path(str(folder / batch))},
            )


@dg.sensor(
    description="Registers new batch folders and reports changed ones. Asks for no runs and removes nothing.",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def corpus_sensor(context: dg.SensorEvaluationContext, parts: dg.ResourceParam[Parts]) -> SensorAnswer:
    """Look at the corpus; only batches that changed on the outside since they were read are read again."""
    folder = parts.settings.corpus
    try:
        found = find_batches(folder)
    except CorpusError as error:
        return dg.SkipReason(str(error))
    for reason in found.refused:
        context.log.warning(reason)
    before = Looks.model_validate_json(context.cursor or "{}")
    now = {batch: _outside(folder / batch) for batch in found.batches}
    settled = [batch for batch, look in now.items() if look and look == before.seen.get(batch)]
    to_read = [batch for batch in settled if now[batch] != before.read.get(batch)][:BATCHES_A_TICK]
    after = Looks(seen=now, read=before.read | {batch: now[batch] for batch in to_read})
    new = sorted(set(found.batches) - set(context.instance.get_dynamic_partitions(PARTITIONS_NAME)))
    return dg.SensorResult(
        dynamic_partitions_requests=[document_batches.build_add_request(new)] if new else [],
        asset_events=list(changed_contents(context.instance, folder, to_read)),
        cursor=after.model_dump_json(),
        skip_reason=_told(new, to_read, found.refused),
    )


def _told(new: list[str], read: list[str], refused: tuple[str, ...]) -> str:
    news = f"{len(new)} new batches, {len(read)} new or touched ones read"
    return "; ".join([news, *(f"left out: {reason}" for reason in refused)])


def _outside(folder: Path) -> str | None:
    """Hash names, sizes and times of all files: what can be known of a batch without reading it.

    None while files come and go.
    """
    looks = sha256()
    try:
        for path in sorted(folder.rglob("*")):
            state = path.lstat()
            parts = (path.relative_to(folder), state.st_size, state.st_mtime_ns, state.st_ctime_ns)
            looks.update(repr(parts).encode(errors="surrogateescape"))
    except OSError:
        return None
    return looks.hexdigest()[:LOOK_LENGTH]
