"""A release: the accepted rows of all batches whose gates hold, split without leakage, in one folder.

It is made beside its place and takes it in one step, so that a reader sees all of it or nothing. Its rows
are written batch by batch; what is held of all batches together are ids, keys and documents.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.curation.withdrawals import withdrawn_batches
from qa_pipeline.documents.near_duplicates import mark_near_duplicates
from qa_pipeline.errors import CorpusError, ReleaseError, StorageError, TableError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.pipeline import earlier_figures
from qa_pipeline.publishing.card import CARD_COLUMNS, data_card
from qa_pipeline.publishing.contamination import IN_EVALUATION, contaminated, read_evaluation
from qa_pipeline.publishing.formats import format_rows
from qa_pipeline.publishing.manifest import (
    CARD,
    FORMAT,
    File,
    Manifest,
    hash_file,
    latest_release,
    point_to,
    read_manifest,
    write_manifest,
)
from qa_pipeline.publishing.splits import JOINS, JOINS_SPLITS, KEYS, PLACED, assign_splits, placed_keys
from qa_pipeline.quality.gates import batch_gates
from qa_pipeline.quality.release import release_floor
from qa_pipeline.reporting.report import read_tables
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import ReleaseSettings
from qa_pipeline.storage import Layout, prepare_folder, read_table, write_bytes, write_frame
from qa_pipeline.tables import DOCUMENTS, SCHEMA_VERSION, TRAINING_EXAMPLES, VERDICTS

DATA, SOURCES, PLACES, LEFT_OUT = "data", "sources.parquet", "keys.parquet", "left_out.parquet"
LEFT_OUT_SCHEMA = pl.Schema(dict.fromkeys(("pair_id", "batch", "reason", "instead"), pl.String()))
SOURCE_COLUMNS = ("content_sha256", "batch", "path", "title", "language", "source_uri", "licence", "text")
DUPLICATE = "duplicate_across_batches"
LONG_ANSWER = 40
"""Characters from which two equal answers keep their rows together; shorter ones are equal by chance."""


@dataclass(frozen=True, slots=True)
class Release:
    """A published release; `made` is False where nothing had changed since the last one."""

    folder: Path
    manifest: Manifest
    made: bool


@dataclass(frozen=True, slots=True)
class _Batches:
    """What is known of the rows of all batches before any is written.

    Args:
        rows: pair_id, batch, question and answer (as compared), coverage, composite.
        keys: KEYS frame.
        documents: the documents the rows rest on, each text once.
        given_away: pair_id of rows that an evaluation asks or says.
        left_out: why a batch is not in it.
    """

    rows: pl.DataFrame
    keys: pl.DataFrame
    documents: pl.DataFrame
    given_away: pl.DataFrame
    left_out: dict[str, str]


def publish_release(layout: Layout, settings: Settings) -> Release:
    """Publish the accepted rows of all batches; where nothing has changed, the last release stays the latest.

    Raises:
        ReleaseError: there is nothing to release, an earlier release is damaged, or an evaluation file has
            rows that cannot be read.
        PairsFileError: an evaluation file cannot be read.
        StorageError: it cannot be written; the releases there are stay as they are.
    """
    evaluation = read_evaluation(settings.release.evaluation, settings.pairs_file)
    found = _gather(layout, settings, evaluation)
    if found.rows.is_empty():
        why = "; ".join(f"{name}: {reason}" for name, reason in found.left_out.items())
        raise ReleaseError(f"{layout.out} has no accepted row to release{f' ({why})' if why else ''}")
    releases = layout.releases
    prepare_folder(releases)
    with _alone(releases):
        return _publish(layout, settings, found)


@contextmanager
def _alone(releases: Path) -> Iterator[None]:
    """Be the only one who publishes here; what a killed publisher left behind is removed.

    Raises:
        ReleaseError: somebody else publishes.
    """
    with (releases / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ReleaseError(f"another process publishes to {releases}; wait until it has ended") from error
        for left in releases.glob(".*.tmp"):
            shutil.rmtree(left)
        yield


def _publish(layout: Layout, settings: Settings, found: _Batches) -> Release:
    releases = layout.releases
    last = latest_release(releases)
    before = None if last is None else read_manifest(last)
    earlier = PLACED.to_frame() if last is None else pl.read_parquet(last / PLACES)
    known = frozenset[str]() if last is None or before is None else _pair_ids(last, before)
    apart = found.rows.join(found.given_away, on="pair_id", how="anti")
    kept, repeated = _without_repeats(apart, known)
    keys = found.keys.join(kept.select("pair_id"), on="pair_id", how="semi")
    joins = _joins(found.documents, settings.documents.near_duplicate_similarity)
    splits = assign_splits(keys, joins, settings.release.splits, earlier)
    given_away = found.given_away.with_columns(reason=pl.lit(IN_EVALUATION))
    joining = splits.filter(pl.col("split").is_null()).select("pair_id", reason=pl.lit(JOINS_SPLITS))
    left_out = (
        pl.concat([repeated, joining, given_away], how="diagonal")
        .join(found.rows.select("pair_id", "batch"), on="pair_id")
        .select(*LEFT_OUT_SCHEMA)
        .sort("pair_id")
    )
    released = kept.select("pair_id", "batch").join(splits.drop_nulls("split"), on="pair_id")
    version = 1 + max((int(one.name) for one in releases.iterdir() if one.name.isdecimal()), default=0)
    own = releases / f".{uuid.uuid4().hex}.tmp"
    try:
        own.mkdir()
        counts, counted = _write_rows(own, layout, released, settings.release)
        sources = found.documents.select(SOURCE_COLUMNS)
        write_frame(own / SOURCES, sources)
        write_frame(own / PLACES, placed_keys(keys, splits, earlier))
        write_frame(own / LEFT_OUT, left_out)
        reasons = dict(left_out.group_by("reason").len().sort("reason").iter_rows())
        parted = {"batches": found.left_out, "rows": reasons}
        write_bytes(own / CARD, data_card(counted, counts, parted, sources).encode())
        manifest = Manifest(
            format=FORMAT,
            version=version,
            previous=None if before is None else before.version,
            schema_version=SCHEMA_VERSION,
            splits=counts,
            files=_files(own),
            batches=dict(released.group_by("batch").len().sort("batch").iter_rows()),
            batches_left_out=found.left_out,
            rows_left_out=reasons,
            settings=_deciding(settings),
        )
        if last is not None and before is not None and before.content == manifest.content:
            return Release(last, before, made=False)
        write_manifest(own, manifest)
        own.rename(releases / str(version))
    except OSError as error:
        raise StorageError(
            f"cannot write {releases}: {error.strerror}; free space or rights, then again"
        ) from error
    finally:
        shutil.rmtree(own, ignore_errors=True)
    point_to(releases, version)
    return Release(releases / str(version), manifest, made=True)


def _gather(layout: Layout, settings: Settings, evaluation: pl.DataFrame) -> _Batches:
    """Hold each batch to its gates and the floor, and note what its rows must not be apart from."""
    rows, keys, documents, left_out = [], [], [], dict[str, str]()
    given_away = [KEYS.to_frame().select("pair_id")]
    withdrawn = withdrawn_batches(layout)
    for path in layout.tables(VERDICTS.name):
        batch = path.stem
        try:
            frames = read_tables(layout, batch)
        except (TableError, CorpusError) as error:
            left_out[batch] = str(error)
            continue
        reason = _refused(layout, batch, frames, settings)
        if batch in withdrawn:
            reason = "it is withdrawn"
        if reason:
            left_out[batch] = reason
            continue
        accepted = frames["verdicts"].filter(pl.col("verdict") == "accepted").select("pair_id", "composite")
        own = frames[TRAINING_EXAMPLES.name].join(accepted, on="pair_id", how="inner", maintain_order="left")
        rests_on = _documents_of(own, frames)
        if evaluation.height:
            given_away.append(contaminated(own.select("pair_id", *_SAID), evaluation))
        rows.append(
            own.select(
                "pair_id", "batch", "composite", "coverage", *(normalised(pl.col(n)).alias(n) for n in _SAID)
            )
        )
        keys.append(rests_on.select("pair_id", key=pl.format("document:{}", "content_sha256")))
        documents.append(
            frames["documents"].join(
                rests_on.select("content_sha256").unique(), on="content_sha256", how="semi"
            )
        )
    together = pl.concat([_ROWS.to_frame(), *rows])
    said = together.select("pair_id", key=pl.format("question:{}", "question"))
    long = together.filter(pl.col("coverage") != "none", pl.col("answer").str.len_chars() >= LONG_ANSWER)
    answered = long.select("pair_id", key=pl.format("answer:{}", "answer"))
    return _Batches(
        together,
        pl.concat([KEYS.to_frame(), *keys, said, answered]).unique(maintain_order=True),
        pl.concat([DOCUMENTS.empty(), *documents]).unique(
            "content_sha256", keep="first", maintain_order=True
        ),
        pl.concat(given_away),
        left_out,
    )


_SAID = ("question", "answer")
_ROWS = pl.Schema(
    {
        "pair_id": pl.String(),
        "batch": pl.String(),
        "composite": pl.Float64(),
        "coverage": pl.String(),
        **dict.fromkeys(_SAID, pl.String()),
    }
)


def _refused(
    layout: Layout, batch: str, frames: Mapping[str, pl.DataFrame], settings: Settings
) -> str | None:
    """Why a batch is not released: a blocking gate that fails, or that it has no training examples."""
    gates = batch_gates(frames, settings.quality, earlier_figures(layout, batch))
    tables = {name: frames[name] for name in ("pairs", "claims", "claim_verdicts", "verdicts")}
    gates += release_floor(**tables, settings=settings.release)
    failed = next((gate for gate in gates if gate.blocking and not gate.passed), None)
    if failed is not None:
        return f"{failed.name}: {failed.detail}"
    return None if TRAINING_EXAMPLES.name in frames else "it has no training examples; run it again"


def _documents_of(examples: pl.DataFrame, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The documents each row rests on, for a refusal those it was shown: pair_id, content_sha256."""
    proved = examples.select(
        "pair_id",
        pl.col("evidence").list.eval(pl.element().struct.field("content_sha256")).alias("content_sha256"),
    ).explode("content_sha256")
    shown = (
        frames["pairs"]
        .join(examples, on="pair_id", how="semi")
        .select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id")
        .join(frames["chunks"].select("chunk_id", "document_id"), on="chunk_id")
        .join(frames["documents"].select("document_id", "content_sha256"), on="document_id")
        .select("pair_id", "content_sha256")
    )
    refused = shown.join(proved.drop_nulls(), on="pair_id", how="anti")
    return pl.concat([proved.drop_nulls(), refused]).unique(maintain_order=True)


def _pair_ids(folder: Path, manifest: Manifest) -> Set[str]:
    parts = [pl.scan_parquet(folder / DATA / f"{name}.parquet").select("pair_id") for name in manifest.splits]
    return frozenset(pl.concat(parts).collect()["pair_id"])


def _without_repeats(rows: pl.DataFrame, known: Set[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The best row of each question and answer, and the others with the one that stands for them.

    The best was in the release before, else has the highest composite score, then the smallest id: the order
    of batches never matters.
    """
    new = ~pl.col("pair_id").is_in(list(known))
    ranked = rows.sort(
        new, "composite", "pair_id", descending=[False, True, False], nulls_last=True
    ).with_columns(instead=pl.col("pair_id").first().over(_SAID))
    own = pl.col("pair_id") == pl.col("instead")
    repeated = ranked.filter(~own).select("pair_id", "instead", reason=pl.lit(DUPLICATE))
    return ranked.filter(own).drop("instead").sort("batch", "pair_id"), repeated


def _joins(documents: pl.DataFrame, similarity: float) -> pl.DataFrame:
    """Documents of all batches that are nearly the same, as keys that must not be apart."""
    own = documents.with_columns(document_id="content_sha256", status=pl.lit("parsed")).sort("document_id")
    marked = mark_near_duplicates(own, similarity).drop_nulls("near_duplicate_of")
    return marked.select(
        key=pl.format("document:{}", "document_id"), other_key=pl.format("document:{}", "near_duplicate_of")
    ).cast(JOINS)


def _write_rows(
    folder: Path, layout: Layout, released: pl.DataFrame, settings: ReleaseSettings
) -> tuple[dict[str, int], pl.DataFrame]:
    """Write the rows of each split, batch by batch; how many each has, and what the card counts."""
    import pyarrow.parquet as pq

    counts = dict.fromkeys(settings.splits, 0)
    schema = TRAINING_EXAMPLES.empty().to_arrow().schema
    counted = []
    with ExitStack() as opened:
        tables, lines = {}, {}
        for name in counts:
            path = _below(folder / DATA / f"{name}.parquet")
            tables[name] = opened.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
            for one in settings.formats:
                path = _below(folder / one / f"{name}.jsonl")
                lines[one, name] = opened.enter_context(path.open("xb"))
        for batch in sorted(set(released["batch"])):
            examples = read_table(layout.table(TRAINING_EXAMPLES.name, batch), TRAINING_EXAMPLES)
            rows = examples.join(released.select("pair_id", "split"), on="pair_id").sort("pair_id")
            counted.append(rows.select("split", *CARD_COLUMNS))
            for (split,), own in rows.partition_by("split", as_dict=True).items():
                name = str(split)
                tables[name].write_table(own.drop("split").to_arrow().cast(schema))
                counts[name] += own.height
                for one in settings.formats:
                    lines[one, name].writelines(json_lines(format_rows(own, one, settings.layout)))
    for path in folder.rglob("*.*"):
        _sync(path)
    return counts, pl.concat(counted)


def _below(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    return path


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _files(folder: Path) -> dict[str, File]:
    """Every file of the folder, with its hash and rows."""
    found = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        rows = pl.scan_parquet(path).select(pl.len()).collect().item() if path.suffix == ".parquet" else None
        name = path.relative_to(folder).as_posix()
        found[name] = File(sha256=hash_file(path), size=path.stat().st_size, rows=rows)
    return found


def _deciding(settings: Settings) -> dict[str, Any]:
    """What decided of rows and splits."""
    return {
        "release": settings.release.model_dump(mode="json", exclude={"evaluation"}),
        "evaluation": {path.name: hash_file(path) for path in settings.release.evaluation},
        "thresholds": f"{settings.verification.thresholds_id}/{settings.judging.thresholds_id}",
        "near_duplicate_similarity": settings.documents.near_duplicate_similarity,
    }
