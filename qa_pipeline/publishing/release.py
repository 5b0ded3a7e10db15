"""Publish a release: the accepted rows of all batches that pass their gates, split without leakage.

It is written to a temporary folder and then renamed, so that readers never see a part of it. Batches are
read twice, first to select rows and then to write them. Only a few bytes per row stay in memory.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.publishing import rows, splits
from qa_pipeline.publishing.card import CardFacts, write_manifest
from qa_pipeline.publishing.manifest import (
    DATA,
    FORMAT,
    LEFT_OUT,
    MANIFEST,
    SOURCES,
    SPLIT_KEYS,
    Manifest,
    file_of,
    highest_version,
    point_to,
    publisher_lock,
)
from qa_pipeline.publishing.selection import Candidates, Selection, gather, read_earlier_release, select_rows
from qa_pipeline.publishing.verify import release_problems
from qa_pipeline.retrieval.near_duplicates import NEAR_DUPLICATE_SIMILARITY
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import prepare_folder, publish_folder, work_folder
from qa_pipeline.storage.parquet import appended_parquet
from qa_pipeline.storage.tables import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Release:
    """A published release; `made` is False if it equals the last release."""

    folder: Path
    manifest: Manifest
    made: bool


def publish_release(resources: Resources) -> Release:
    """Publish the accepted rows of all batches; if they are unchanged, return the last release.

    Raises:
        ReleaseError: there are no rows, an earlier release is damaged, a batch changes meanwhile, or the new
            release fails verification.
        StorageError: it cannot be written. Existing releases are unchanged.
    """
    releases = resources.layout.releases
    prepare_folder(releases)
    with publisher_lock(releases):
        try:
            with work_folder(releases) as folder:
                return _publish(resources, folder)
        except OSError as error:
            raise StorageError(
                f"cannot write {releases}: {error.strerror or error}; free space or rights, then run again"
            ) from error


def _publish(resources: Resources, folder: Path) -> Release:
    """Write a release into a temporary folder, verify it, and publish the folder."""
    settings, releases = resources.settings, resources.layout.releases
    candidates = gather(resources)
    if candidates.rows.is_empty():
        why = "; ".join(f"{name}: {reason}" for name, reason in candidates.left_out.items())
        raise ReleaseError(
            f"{resources.layout.out} has no accepted row to release{f' ({why})' if why else ''}"
        )
    earlier = read_earlier_release(releases)
    version = 1 + highest_version(releases)
    selection = select_rows(candidates, earlier, settings.release)
    rows_left_out = dict(Counter(sorted(selection.rows["reason"].drop_nulls())))
    if not selection.split_names:
        raise ReleaseError(f"{resources.layout.out} has no row to release: all are left out {rows_left_out}")
    selection.key_splits.write_parquet(folder / SPLIT_KEYS)
    counts, facts = _write_rows(folder, resources, candidates, selection)
    files = sorted(folder.rglob("*.*"))  # names of folders have no dot
    for path in files:  # a crash after `publish_folder` must not lose contents
        with path.open("rb") as file:
            os.fsync(file.fileno())
    # rows by main document, whatever their batch
    by_document = counts.group_by("split", "sha256", path="document").agg(pl.col("rows").sum())
    manifest = Manifest(
        format=FORMAT,
        version=version,
        previous=None if earlier.manifest is None else earlier.manifest.version,
        schema_version=SCHEMA_VERSION,
        splits=dict.fromkeys(selection.split_names, 0) | _summed(counts, "split"),
        files={path.relative_to(folder).as_posix(): file_of(path) for path in files},
        batches=_summed(counts, "batch"),
        batches_left_out=candidates.left_out,
        rows_left_out=rows_left_out,
        unsatisfied=splits.shortcomings(by_document, settings.release.splits),
        settings=_deciding_settings(settings),
        facts=facts.document() | {"lacking": candidates.lacking},
    )
    if (last := earlier.manifest) is not None and last.content == manifest.content:
        return Release(releases / str(last.version), last, made=False)
    manifest = write_manifest(folder, manifest)
    if problems := release_problems(folder):
        raise ReleaseError(
            f"the release fails its own checks and is not published: {problems[0]} "
            f"({len(problems)} problems); run the batch of that row again"
        )
    publish_folder(folder, releases / str(version), MANIFEST)
    point_to(releases, version)
    return Release(releases / str(version), manifest, made=True)


def _summed(counts: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(counts.group_by(column).agg(pl.col("rows").sum()).sort(column).iter_rows())


def _write_rows(
    folder: Path, resources: Resources, candidates: Candidates, selection: Selection
) -> tuple[pl.DataFrame, CardFacts]:
    """Write the rows of each split, their documents and the rows left out.

    Returns:
        The number of rows by split, batch and main document: split, batch, document (its path), sha256 and
        rows. Also the facts for the card.

    Raises:
        ReleaseError: a batch has changed since its rows were selected.
    """
    settings = resources.settings.release
    table, split_map = rows.released_table(candidates.lacking), splits.SplitMap(selection.key_splits)
    counts, facts = [], CardFacts()
    seen = set[int]()  # keys of the documents of earlier batches
    for name in (DATA, *settings.formats):
        (folder / name).mkdir()
    with ExitStack() as opened:
        write_split = {
            split: opened.enter_context(appended_parquet(folder / DATA / f"{split}.parquet", table.schema))
            for split in selection.split_names
        }
        trainer_files = {
            (name, split): opened.enter_context((folder / name / f"{split}.jsonl").open("xb"))
            for name in settings.formats
            for split in selection.split_names
        }
        write_sources = opened.enter_context(appended_parquet(folder / SOURCES, rows.SOURCE_SCHEMA))
        write_left_out = opened.enter_context(appended_parquet(folder / LEFT_OUT, rows.LEFT_OUT_SCHEMA))
        for tables, remaining, left_out in _accepted_rows(resources, candidates, selection):
            write_left_out(left_out)
            released = rows.finished_rows(remaining, tables, split_map, table)
            for (split,), part in released.partition_by("split", as_dict=True).items():
                write_split[str(split)](part)
                for name in settings.formats:
                    examples = rows.with_worse_drafts(part, tables) if name == rows.PREFERENCE else part
                    trainer_files[name, str(split)].writelines(rows.trainer_lines(name, examples))
            sources = splits.new_documents(rows.documents_of(released, tables), seen)
            text = pl.col("text") if settings.with_sources else pl.lit(None, pl.String())
            write_sources(sources.with_columns(text.alias("text")))
            facts.add(tables, released, sources)
            main_sha256 = pl.col("documents").list.first()  # of the main document; `document` is its path
            by_document = released.group_by("split", "batch", "document", sha256=main_sha256)
            counts.append(by_document.agg(rows=pl.len()))
    return pl.concat(counts), facts


def _accepted_rows(
    resources: Resources, candidates: Candidates, selection: Selection
) -> Iterator[tuple[dict[str, pl.DataFrame], pl.DataFrame, pl.DataFrame]]:
    """Yield the tables of each batch, its rows with their split, and the rows left out (LEFT_OUT_SCHEMA)."""
    for batch, (start, count) in candidates.batches.items():
        tables = read_tables(resources.layout, batch)
        accepted, selected = rows.candidate_rows(tables), selection.rows.slice(start, count)
        if not splits.codes(accepted["pair_id"]).equals(selected["code"]):
            raise ReleaseError(f"batch {batch} was run while it was released; publish again")
        # `reason` in `selected` says why a row is left out, and in `accepted` why the pair was accepted
        accepted = accepted.hstack(selected.select("split", why_left_out=pl.col("reason")))
        left_out = accepted.drop_nulls("why_left_out")
        remaining = accepted.filter(pl.col("why_left_out").is_null())
        yield tables, remaining, left_out.select("pair_id", "batch", reason=pl.col("why_left_out"))


def _deciding_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that affect rows and splits."""
    return {
        "release": settings.release.model_dump(mode="json"),
        "layout": settings.training.layout,
        "verification": settings.verification.deciding_values(),
        "judging": settings.judging.deciding_values(),
        "thresholds": f"{settings.verification.thresholds_id}/{settings.judging.thresholds_id}",
        "near_duplicate_similarity": NEAR_DUPLICATE_SIMILARITY,
        "masking": settings.documents.masking.action,
    }
