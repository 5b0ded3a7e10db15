"""A release: the accepted rows of all batches whose gates hold, split without leakage, in one folder.

It is made beside its place and takes it in one step, so that a reader sees all of it or nothing. The batches
are gone through twice, to note what decides and to write; what is held of all rows are some bytes for each.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.documents.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing.candidates import (
    LEFT_OUT_SCHEMA,
    PASSAGE_SCHEMA,
    RELEASED,
    SOURCE_SCHEMA,
    Candidates,
    documents_of,
    gather,
    passages_of,
    released_rows,
)
from qa_pipeline.publishing.card import write_card
from qa_pipeline.publishing.distractors import of_own_split
from qa_pipeline.publishing.facts import ROW_COLUMNS, SOURCE_COLUMNS, CardFacts
from qa_pipeline.publishing.formats import format_writer
from qa_pipeline.publishing.keys import Places, codes, new_documents, rows_of
from qa_pipeline.publishing.manifest import (
    DATA,
    FORMAT,
    LEFT_OUT,
    MANIFEST,
    PASSAGES,
    PLACES,
    SOURCES,
    File,
    Manifest,
    alone,
    point_to,
    row_groups_of,
    write_manifest,
)
from qa_pipeline.publishing.selection import Selection, read_earlier_release, select_rows
from qa_pipeline.publishing.splits import narrow_splits, unsatisfied
from qa_pipeline.publishing.verify import release_problems
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import prepare_folder, publish_folder, work_folder
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.parquet import appended_parquet, row_groups
from qa_pipeline.storage.tables import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Release:
    """A published release; `made` is False where nothing had changed since the last one."""

    folder: Path
    manifest: Manifest
    made: bool


def publish_release(resources: Resources) -> Release:
    """Publish the accepted rows of all batches; where nothing has changed, the last release stays the latest.

    Raises:
        ReleaseError: there is nothing to release, an earlier release is damaged, a batch changes while it is
            released, or it would not verify.
        StorageError: it cannot be written; the releases there are stay as they are.
    """
    releases = resources.layout.releases
    prepare_folder(releases)
    with alone(releases):
        try:
            with work_folder(releases) as folder, work_folder(releases) as notes:
                return _publish(resources, gather(resources, notes), folder)
        except OSError as error:
            raise StorageError(
                f"cannot write {releases}: {error.strerror or error}; free space or rights, then run again"
            ) from error


def _publish(resources: Resources, candidates: Candidates, folder: Path) -> Release:
    settings, releases = resources.settings, resources.layout.releases
    if not candidates.count:
        why = "; ".join(f"{name}: {reason}" for name, reason in candidates.left_out.items())
        raise ReleaseError(
            f"{resources.layout.out} has no accepted row to release{f' ({why})' if why else ''}"
        )
    before = read_earlier_release(releases)
    version = 1 + max(
        (int(release.name) for release in releases.iterdir() if release.name.isdecimal()), default=0
    )
    selection = select_rows(candidates, before, settings.release, version, folder / PLACES)
    facts = CardFacts()
    counts = _write_rows(folder, resources, candidates, selection, facts)
    left_out = selection.rows.drop_nulls("reason").group_by("reason").len().sort("reason")
    reasons: dict[str, int] = dict(left_out.iter_rows())
    if counts.is_empty():
        raise ReleaseError(f"{resources.layout.out} has no row to release: all are left out {reasons}")
    splits = dict.fromkeys(selection.names, 0) | _summed(counts, "split")
    manifest = Manifest(
        format=FORMAT,
        version=version,
        previous=None if before.manifest is None else before.manifest.version,
        schema_version=SCHEMA_VERSION,
        splits=splits,
        files=_files(folder),
        batches=_summed(counts, "batch"),
        batches_left_out=candidates.left_out,
        rows_left_out=reasons,
        unsatisfied=[
            *unsatisfied(splits, settings.release.splits),
            *narrow_splits(_document_rows(folder, selection.names)),
        ],
        settings=_deciding(settings),
    )
    counted = (
        row_groups_of(folder, selection.names, ROW_COLUMNS),
        row_groups(folder / SOURCES, SOURCE_COLUMNS),
    )
    manifest = write_card(folder, facts.document(*counted), manifest)
    last, before_manifest = before.folder, before.manifest
    if last is not None and before_manifest is not None and before_manifest.content == manifest.content:
        return Release(last, before_manifest, made=False)
    write_manifest(folder, manifest)
    if problems := release_problems(folder):
        raise ReleaseError(
            f"the release would not hold what it promises, and is not published: {problems[0]} "
            f"({len(problems)} problems); run the batch of that row again"
        )
    publish_folder(folder, releases / str(version), MANIFEST)
    point_to(releases, version)
    return Release(releases / str(version), manifest, made=True)


def _document_rows(folder: Path, splits: Sequence[str]) -> pl.DataFrame:
    """Return how many rows of each split rest on a document first: split, path, rows."""
    parts = [
        part.select(split=pl.lit(split), content_sha256=pl.col("documents").list.first())
        for split in splits
        for part in row_groups_of(folder, [split], ["documents"])
    ]
    paths = pl.read_parquet(folder / SOURCES, columns=["content_sha256", "path"]).unique(
        "content_sha256", keep="first", maintain_order=True
    )
    rows = pl.concat(parts).group_by("split", "content_sha256").agg(rows=pl.len())
    return rows.join(paths, on="content_sha256", how="left").select("split", "path", "rows")


def _summed(counts: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(counts.group_by(column).agg(pl.col("rows").sum()).sort(column).iter_rows())


def _write_rows(
    folder: Path, resources: Resources, candidates: Candidates, selection: Selection, facts: CardFacts
) -> pl.DataFrame:
    """Write the rows of each split, batch by batch, the documents they rest on, and what is left out.

    What the card rests on is shown to `facts` on the way.

    Returns:
        How many rows there are of each split and batch.

    Raises:
        ReleaseError: a batch is not as it was when it was noted.
    """
    settings = resources.settings.release
    text = pl.col("text") if settings.with_sources else pl.lit(None, pl.String())
    counts = []
    seen: set[int] = set()
    places = Places(folder / PLACES)
    (folder / DATA).mkdir()
    with ExitStack() as opened:

        def table(name: str, schema: pl.Schema) -> Callable[[pl.DataFrame], None]:
            return opened.enter_context(appended_parquet(folder / name, schema))

        writers = {name: table(f"{DATA}/{name}.parquet", RELEASED.schema) for name in selection.names}
        formats = [
            opened.enter_context(format_writer(folder, form, selection.names, settings.layout))
            for form in settings.formats
        ]
        sources, passages = table(SOURCES, SOURCE_SCHEMA), table(PASSAGES, PASSAGE_SCHEMA)
        left_out = table(LEFT_OUT, LEFT_OUT_SCHEMA)
        for batch, (start, count) in candidates.batches.items():
            tables = read_tables(resources.layout, batch)
            decided, examples = selection.rows.slice(start, count), released_rows(tables)
            if not codes(examples["pair_id"]).equals(decided["code"]):
                raise ReleaseError(f"batch {batch} was run while it was released; publish again")
            every = pl.concat([examples, decided], how="horizontal").sort("pair_id")
            left_out(every.drop_nulls("reason"))
            released = every.filter(pl.col("reason").is_null())
            rows = of_own_split(released, tables, places, resources.counter.count)
            for (split,), part in rows.partition_by("split", as_dict=True).items():
                writers[str(split)](part)
            for write in formats:
                write(tables, rows)
            facts.add(tables, rows)
            documents = documents_of(rows, tables)
            sources(new_documents(documents, seen).with_columns(text.alias("text")))
            is_source = pl.col("content_sha256").is_in(documents["content_sha256"].implode())
            text_or_null = pl.when(~is_source).then(text) if settings.with_sources else text
            passages(passages_of(rows, tables).with_columns(text_or_null.alias("text")))
            counts.append(rows.group_by("split", "batch").agg(rows=pl.len()))
    for path in sorted(folder.rglob("*.*")):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return pl.concat(counts)


def _files(folder: Path) -> dict[str, File]:
    """Return every file of the folder, with its hash and rows."""
    files = {}
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        rows = rows_of(path) if path.suffix == ".parquet" else None
        name = path.relative_to(folder).as_posix()
        files[name] = File(sha256=hash_file(path), size=path.stat().st_size, rows=rows)
    return files


def _deciding(settings: Settings) -> dict[str, Any]:
    """Return the settings that decided about rows and splits."""
    return {
        "release": settings.release.model_dump(mode="json"),
        "verification": settings.verification.deciding_values(),
        "judging": settings.judging.deciding_values(),
        "thresholds": f"{settings.verification.thresholds_id}/{settings.judging.thresholds_id}",
        "near_duplicate_similarity": NEAR_DUPLICATE_SIMILARITY,
        "masking": settings.documents.masking.action,
    }
