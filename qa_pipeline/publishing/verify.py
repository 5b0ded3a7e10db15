"""`verify`: every promise of a release that can be checked from its folder alone, without the pipeline."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.publishing.manifest import MANIFEST, Manifest, hash_file, read_manifest
from qa_pipeline.publishing.release import DATA, LEFT_OUT, LONG_ANSWER, PLACES, SOURCES
from qa_pipeline.tables import SCHEMA_VERSION, TRAINING_EXAMPLES


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: how much was looked at, and what breaks it; `checked` is None where nothing could be."""

    name: str
    checked: int | None
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing breaks it."""
        return not self.problems


def verify_release(folder: Path) -> list[Check]:
    """Check a release; later checks are left out where its files are not those it names.

    Raises:
        ReleaseError: it has no manifest that can be read.
    """
    manifest = read_manifest(folder)
    files = Check("files", len(manifest.files), tuple(_file_problems(folder, manifest)))
    if not files.holds:
        return [files]
    if manifest.schema_version != SCHEMA_VERSION:
        raise ReleaseError(
            f"{folder} holds schema version {manifest.schema_version}, this version checks {SCHEMA_VERSION}"
        )
    rows = pl.concat(
        pl.read_parquet(folder / DATA / f"{name}.parquet").with_columns(split=pl.lit(name))
        for name in manifest.splits
    )
    checks: tuple[tuple[str, Callable[[Path, Manifest, pl.DataFrame], Iterator[str]]], ...] = (
        ("schema", _schema_problems),
        ("counts", _count_problems),
        ("evidence", _evidence_problems),
        ("splits", _split_problems),
        ("left_out", _left_out_problems),
    )
    return [
        files,
        *(Check(name, rows.height, tuple(check(folder, manifest, rows))) for name, check in checks),
    ]


def _file_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Files that are missing, changed, or not named."""
    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    for name, told in manifest.files.items():
        path = folder / name
        if name not in held or path.is_symlink():
            yield f"{name} is missing"
        elif path.stat().st_size != told.size or hash_file(path) != told.sha256:
            yield f"{name} is not the file that was released"
    yield from (f"{name} is not part of the release" for name in sorted(held - {*manifest.files, MANIFEST}))
    needed = {f"{DATA}/{name}.parquet" for name in manifest.splits} | {SOURCES, PLACES, LEFT_OUT}
    yield from (f"{name} is not named in {MANIFEST}" for name in sorted(needed - {*manifest.files}))


def _schema_problems(folder: Path, manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    yield from TRAINING_EXAMPLES.problems(rows.drop("split"))


def _count_problems(folder: Path, manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    for what, told in (("split", manifest.splits), ("batch", manifest.batches)):
        held = dict(rows.group_by(what).len().iter_rows())
        for name in sorted({*told, *held}):
            if told.get(name, 0) != held.get(name, 0):
                yield f"{what} {name} has {held.get(name, 0)} rows, the manifest says {told.get(name, 0)}"


def _evidence_problems(folder: Path, manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    """Quotes that are not at their place in their document, and answers without any."""
    texts = pl.read_parquet(folder / SOURCES).select("content_sha256", "text")
    proofs = rows.select("pair_id", "evidence").explode("evidence", empty_as_null=True).drop_nulls()
    beside = proofs.unnest("evidence").join(texts, on="content_sha256", how="left")
    start, length = pl.col("start"), pl.col("end") - pl.col("start")
    in_place = (start >= 0) & (length > 0) & (pl.col("text").str.slice(start, length) == pl.col("quote"))
    for pair_id, quote in (
        beside.filter(~in_place.fill_null(value=False)).select("pair_id", "quote").iter_rows()
    ):
        yield f"row {pair_id}: the quote {quote[:60]!r} is not at its place"
    bare = rows.filter(pl.col("coverage") != "none", pl.col("evidence").list.len() == 0)
    yield from (f"row {pair_id} has no evidence" for pair_id in bare["pair_id"])


def _split_problems(folder: Path, manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    """What stands in two splits: documents, questions, long answers; and keys recorded elsewhere."""
    proofs = rows.select(
        "split", key=pl.col("evidence").list.eval(pl.element().struct.field("content_sha256"))
    )
    documents = proofs.explode("key", empty_as_null=True).drop_nulls()
    question = rows.select("split", key=normalised(pl.col("question")))
    long = rows.filter(pl.col("coverage") != "none").select("split", key=normalised(pl.col("answer")))
    parts = {
        "document": documents,
        "question": question,
        "answer": long.filter(pl.col("key").str.len_chars() >= LONG_ANSWER),
    }
    placed = pl.read_parquet(folder / PLACES)
    for what, keys in parts.items():
        twice = (
            keys.unique().group_by("key").agg(pl.col("split").sort()).filter(pl.col("split").list.len() > 1)
        )
        for key, splits in twice.sort("key").iter_rows():
            yield f"{what} {key[:60]!r} is in {' and '.join(splits)}"
        named = keys.unique().with_columns(key=pl.format(f"{what}:{{}}", "key"))
        moved = named.join(placed, on="key", how="left", suffix="_told")
        wrong = moved.filter(pl.col("split").ne_missing(pl.col("split_told")))
        yield from (f"{key[:70]!r} is not recorded in {split}" for split, key, _ in wrong.iter_rows())


def _left_out_problems(folder: Path, manifest: Manifest, rows: pl.DataFrame) -> Iterator[str]:
    left_out = pl.read_parquet(folder / LEFT_OUT)
    if dict(left_out.group_by("reason").len().iter_rows()) != manifest.rows_left_out:
        yield f"{LEFT_OUT} and {MANIFEST} count other rows"
    both = left_out.join(rows, on="pair_id", how="semi")
    yield from (f"row {pair_id} is left out and released" for pair_id in both["pair_id"])
    gone = left_out.drop_nulls("instead").join(rows, left_on="instead", right_on="pair_id", how="anti")
    others = gone.join(left_out, left_on="instead", right_on="pair_id", how="anti")
    yield from (f"row {pair_id} stands for nothing that is released" for pair_id in others["pair_id"])
