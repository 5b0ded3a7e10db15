"""`verify`: every promise of a release that can be checked from its folder alone, without the pipeline.

The rows are read once, row group by row group; what is kept of them are some bytes for each.
"""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.publishing.candidates import LEFT_OUT_SCHEMA, RELEASED, SOURCE_SCHEMA
from qa_pipeline.publishing.card import card_problems
from qa_pipeline.publishing.facts import FACTS
from qa_pipeline.publishing.formats import FORMATS, SQUAD
from qa_pipeline.publishing.keys import (
    BANDS,
    SHINGLES,
    Places,
    codes,
    document_keys,
    near_duplicates,
    row_keys,
    sketches,
)
from qa_pipeline.publishing.manifest import (
    CARD,
    DATA,
    LEFT_OUT,
    MANIFEST,
    PLACES,
    SOURCES,
    Manifest,
    hash_file,
    read_manifest,
)
from qa_pipeline.publishing.selection import PLACED
from qa_pipeline.storage import appended_parquet, row_groups
from qa_pipeline.tables import LAYOUTS, MESSAGE_COLUMNS, SCHEMA_VERSION
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK

NO_SOURCES = "it holds no texts: neither quotes nor near duplicates can be checked"
_HELD = 4
"""Row groups of documents that are kept in memory."""
_BLOCK = 2**24
"""Bytes of a file of lines that are read at a time."""
_AT_ONCE = 200
"""Documents that are sketched at a time."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: how many rows or files were looked at, and what breaks it.

    `checked` is None where nothing could be looked at, and `problems` is empty then; `why` says the reason.
    """

    name: str
    checked: int | None
    problems: tuple[str, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing breaks it."""
        return not self.problems


def verify_release(folder: Path) -> list[Check]:
    """Check a release; where its files are not those it names, or have other columns, no more is checked.

    Raises:
        ReleaseError: it has no manifest that can be read.
        StorageError: there is no room for what is noted meanwhile.
    """
    manifest = read_manifest(folder)
    files = Check("files", len(manifest.files), tuple(_file_problems(folder, manifest)))
    if not files.holds:
        return [files]
    if manifest.schema_version != SCHEMA_VERSION:
        raise ReleaseError(
            f"{folder} holds schema version {manifest.schema_version}, this version checks {SCHEMA_VERSION}"
        )
    schema = Check("schema", len(manifest.splits), tuple(_schema_problems(folder, manifest)))
    if not schema.holds:
        return [files, schema]
    try:
        with tempfile.TemporaryDirectory() as notes:
            return [files, *_Rows(folder, manifest, Path(notes)).checks()]
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
        if getattr(error, "errno", None) is None:  # as where pages of a table are damaged
            return [files, Check("schema", len(manifest.splits), (f"a table cannot be read: {error}",))]
        raise StorageError(
            f"{folder} was not checked: {error}; free space in {tempfile.gettempdir()}, or set TMPDIR"
        ) from error


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
    needed = {f"{DATA}/{name}.parquet" for name in manifest.splits} | {SOURCES, PLACES, LEFT_OUT, FACTS, CARD}
    yield from (f"{name} is not named in {MANIFEST}" for name in sorted(needed - {*manifest.files}))


def _schema_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Tables that cannot be read, or have other columns than they should."""
    others = {SOURCES: SOURCE_SCHEMA, PLACES: PLACED, LEFT_OUT: LEFT_OUT_SCHEMA}
    for name in (*(f"{DATA}/{split}.parquet" for split in manifest.splits), *others):
        try:
            held = pl.read_parquet_schema(folder / name)
        except pl.exceptions.PolarsError:
            yield f"{name} cannot be read as a table"
            continue
        if name not in others:
            yield from (f"{name}: {one}" for one in RELEASED.problems(pl.DataFrame(schema=held)))
        elif held != others[name]:
            yield f"{name}: its columns are {', '.join(held)}"


class _Sources:
    """The documents of a release, read where they are needed."""

    def __init__(self, file: Path) -> None:
        import pyarrow.parquet as pq

        self._opened = pq.ParquetFile(file)
        self._group_of = {
            key: number
            for number in range(self._opened.num_row_groups)
            for key in document_keys(self._hashes(number))
        }
        self._held: dict[int, pl.DataFrame] = {}

    def _hashes(self, number: int) -> pl.Series:
        read = self._opened.read_row_group(number, columns=["content_sha256"])
        return pl.DataFrame(pl.from_arrow(read))["content_sha256"]

    @cached_property
    def texts_held(self) -> bool:
        """Whether it holds the texts."""
        columns = (
            self._opened.read_row_group(n, columns=["text"]) for n in range(self._opened.num_row_groups)
        )
        return any(one.column("text").null_count < one.num_rows for one in columns)

    def of(self, hashes: pl.Series) -> pl.DataFrame:
        """The documents of these hashes: content_sha256 and text; those it lacks are absent."""
        numbers = {self._group_of[key] for key in document_keys(hashes.unique()) if key in self._group_of}
        for number in sorted(numbers - {*self._held}):
            while len(self._held) >= max(_HELD, len(numbers)):
                self._held.pop(next(iter(self._held)))
            read = self._opened.read_row_group(number, columns=["content_sha256", "text"])
            self._held[number] = pl.DataFrame(pl.from_arrow(read))
        empty = pl.DataFrame(schema={"content_sha256": pl.String(), "text": pl.String()})
        return pl.concat([empty, *(self._held[number] for number in sorted(numbers))])


class _Rows:
    """The checks that look at rows.

    Args:
        folder: the release.
        manifest: what it says of itself.
        notes: an empty folder for what does not fit into memory.
    """

    def __init__(self, folder: Path, manifest: Manifest, notes: Path) -> None:
        self._folder, self._manifest, self._notes = folder, manifest, notes
        self._sources = _Sources(folder / SOURCES)
        self._places = Places(folder / PLACES)
        self._codes: dict[str, list[npt.NDArray[np.uint64]]] = {name: [] for name in manifest.splits}
        self._counts: dict[str, Counter[str]] = {"split": Counter(), "batch": Counter()}
        self._written = {
            f"{name}/{file.name.format(split=split)}": (form, file, split, hashlib.sha256())
            for name, form in FORMATS.items()
            for file in form.files
            for split in manifest.splits
        }
        """The files that formats may have, and the hash of what the rows make of those that are `whole`."""

    def checks(self) -> list[Check]:
        """All of them, in a fixed order."""
        rows = 0
        of_rows: dict[str, Callable[[str, pl.DataFrame], Iterable[str]]] = {
            "schema": self._null_problems,
            "evidence": self._evidence_problems,
            "messages": _message_problems,
            "splits": self._split_problems,
        }
        problems: dict[str, list[str]] = {name: [] for name in of_rows}
        for split in self._manifest.splits:
            for part in row_groups(self._folder / DATA / f"{split}.parquet"):
                rows += part.height
                self._note(split, part)
                for name, check in of_rows.items():
                    problems[name] += check(split, part)
        ids = {name: np.concatenate([np.zeros(0, np.uint64), *own]) for name, own in self._codes.items()}
        together = np.sort(np.concatenate(list(ids.values())))
        repeated = int((together[1:] == together[:-1]).sum())
        problems["schema"] += [f"pair_id repeats in {repeated} rows"] if repeated else []
        problems["splits"] += [*self._place_problems(), *self._near_problems()]
        further = {
            "counts": self._count_problems(),
            "left_out": self._left_out_problems(together),
            "formats": self._format_problems(ids),
            "card": card_problems(self._folder, self._manifest),
        }
        problems |= {name: list(found) for name, found in further.items()}
        unseen = {} if self._sources.texts_held or not rows else {"evidence": NO_SOURCES}
        return [
            Check(name, None if name in unseen else rows, tuple(found), unseen.get(name, ""))
            for name, found in problems.items()
        ]

    def _note(self, split: str, rows: pl.DataFrame) -> None:
        self._codes[split].append(codes(rows["pair_id"]).to_numpy())
        self._counts["split"][split] += rows.height
        self._counts["batch"].update(dict(rows.group_by("batch").len().iter_rows()))
        layout, placed = self._manifest.settings["release"]["layout"], rows.with_columns(split=pl.lit(split))
        for name, (form, _, of, said) in self._written.items():
            if form.whole and of == split and name in self._manifest.files:
                (lines,) = form.rows({}, placed, layout)
                for block in json_lines(lines.drop("split")):
                    said.update(block)

    def _null_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        yield from RELEASED.problems(rows)
        late = rows.filter(~pl.col("version").is_between(1, self._manifest.version))
        yield from (f"row {one} is of a later release" for one in late["pair_id"])
        other = rows.filter(pl.col("licences") != pl.col("provenance").struct.field("licences"))
        yield from (f"row {one} names other licences than its provenance" for one in other["pair_id"])

    def _evidence_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Quotes that are not at their place in their document, and rows that name no or other documents."""
        proofs = rows.select("pair_id", "documents", "evidence").explode("evidence", empty_as_null=True)
        quoted = proofs.drop_nulls("evidence").unnest("evidence")
        foreign = quoted.filter(~pl.col("content_sha256").is_in(pl.col("documents")))
        yield from (f"row {one} does not name the document of a quote" for one in foreign["pair_id"].unique())
        named = rows.select("pair_id", "documents").explode("documents", empty_as_null=True)
        known = self._sources.of(named["documents"].drop_nulls())
        gone = named.join(known, left_on="documents", right_on="content_sha256", how="anti")
        yield from (f"row {one} rests on a document that {SOURCES} lacks" for one in gone["pair_id"].unique())
        bare = rows.filter(pl.col("coverage") != "none", pl.col("evidence").list.len() == 0)
        yield from (f"row {one} has no evidence" for one in bare["pair_id"])
        if not self._sources.texts_held:
            return
        beside = quoted.join(known, on="content_sha256", how="left")
        start, length = pl.col("start"), pl.col("end") - pl.col("start")
        in_place = (start >= 0) & (length > 0) & (pl.col("text").str.slice(start, length) == pl.col("quote"))
        wrong = beside.filter(~in_place.fill_null(value=False)).select("pair_id", "quote")
        for pair_id, quote in wrong.iter_rows():
            yield f"row {pair_id}: the quote {quote[:60]!r} is not at its place"

    def _split_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Keys of rows that are not recorded in their split; each is recorded in one."""
        keys = row_keys(rows)
        wrong = keys.filter(self._places.splits_of(keys["key"]).ne_missing(split))
        for place in wrong["place"].unique().sort():
            yield (
                f"row {rows['pair_id'][place]}: its documents, question or answer are not recorded in {split}"
            )

    def _place_problems(self) -> Iterator[str]:
        if (self._places.keys[1:] <= self._places.keys[:-1]).any():
            yield f"{PLACES} records a key twice, or not in order"

    def _near_problems(self) -> Iterator[str]:
        """Documents of two splits that are nearly the same."""
        limit = float(self._manifest.settings["near_duplicate_similarity"])
        count, bands, sets = 0, self._notes / "bands", self._notes / "shingles"
        with appended_parquet(bands, BANDS) as note_bands, appended_parquet(sets, SHINGLES) as note_sets:
            for part in row_groups(self._folder / SOURCES):
                for some in part.drop_nulls("text").iter_slices(_AT_ONCE):
                    own, shingled = sketches(some, limit)
                    note_bands(own)
                    note_sets(shingled)
                    count += own.height
        joins = near_duplicates(bands, sets, count, limit)
        for one, other in zip(*map(self._places.splits_of, (joins["key"], joins["other_key"])), strict=True):
            if one != other:
                yield f"two documents that are nearly the same are in {one} and {other}"

    def _count_problems(self) -> Iterator[str]:
        for what, told in (("split", self._manifest.splits), ("batch", self._manifest.batches)):
            held = self._counts[what]
            for name in sorted({*told, *held}):
                if told.get(name, 0) != held[name]:
                    yield f"{what} {name} has {held[name]} rows, {MANIFEST} says {told.get(name, 0)}"

    def _left_out_problems(self, released: npt.NDArray[np.uint64]) -> Iterator[str]:
        left_out = pl.read_parquet(self._folder / LEFT_OUT)
        if dict(left_out.group_by("reason").len().iter_rows()) != self._manifest.rows_left_out:
            yield f"{LEFT_OUT} and {MANIFEST} count other rows"
        own = codes(left_out["pair_id"]).to_numpy()
        for pair_id in left_out.filter(pl.Series(np.isin(own, released)))["pair_id"]:
            yield f"row {pair_id} is left out and released"
        repeats = left_out.drop_nulls("instead")
        there = np.isin(codes(repeats["instead"]).to_numpy(), np.concatenate([released, own]))
        for pair_id in repeats.filter(pl.Series(~there))["instead"]:
            yield f"row {pair_id} stands for nothing that is released"

    def _format_problems(self, ids: Mapping[str, npt.NDArray[np.uint64]]) -> Iterator[str]:
        """Files of other formats that say something else than the rows, or hold rows of another split."""
        every = np.concatenate(list(ids.values()))
        for name, told in sorted(self._manifest.files.items()):
            if Path(name).parts[0] not in FORMATS:
                continue
            if name not in self._written:
                yield f"{name} is no file of a format"
                continue
            form, file, split, said = self._written[name]
            if form.whole:
                if said.hexdigest() != told.sha256:
                    yield f"{name} says something else than {DATA}/{split}.parquet"
            elif not file.once:  # which is the corpus, whose passages are of no row
                yield from self._foreign_rows(name, ids[split] if "{split}" in file.name else every)

    def _foreign_rows(self, name: str, known: npt.NDArray[np.uint64]) -> Iterator[str]:
        """Rows of a file about other pairs than these."""
        try:
            found = [codes(part) for part in _pair_ids(self._folder / name)]
        except pl.exceptions.PolarsError:
            yield f"{name} cannot be read"
            return
        if other := sum(int((~np.isin(part, known)).sum()) for part in found):
            yield f"{name} has {other} rows that are not released in this split"


_LINE = pl.Schema({"pair_id": pl.String()})
_DOCUMENT = pl.Schema({"paragraphs": pl.List(pl.Struct({"qas": pl.List(pl.Struct(_LINE))}))})
"""Where a line of SQuAD's file names the rows it is about."""


def _pair_ids(file: Path) -> Iterator[pl.Series]:
    """The ids of the rows of a file of lines, some thousands at a time; "" where one has none."""
    with file.open("rb") as lines:
        while block := lines.read(_BLOCK) + lines.readline():
            if file.suffix == ".tsv":
                found = pl.read_csv(block, separator="\t", has_header=False, columns=[0]).to_series()
                yield found.filter(found != "query-id")
            elif file.suffix == ".json":
                block = block.removeprefix(SQUAD.head).removesuffix(SQUAD.tail).replace(b"},\n", b"}\n")
                paragraphs = pl.read_ndjson(block, schema=_DOCUMENT)["paragraphs"].explode()
                asked = paragraphs.struct.field("qas").explode()
                yield asked.struct.field("pair_id").fill_null("")
            else:
                yield pl.read_ndjson(block, schema=_LINE)["pair_id"].fill_null("")


def _message_problems(split: str, rows: pl.DataFrame) -> Iterator[str]:
    """Messages that say something else than question, answer and quotes."""
    marked = pl.col("answer").str.replace_all(rf"(?i)[ \t]*{SOURCE_MARK.pattern}", "")
    bare = marked.str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", "")
    for layout in LAYOUTS:
        shown = rows.filter(pl.col(MESSAGE_COLUMNS[layout]).is_not_null())
        said = {
            role: pl.col(MESSAGE_COLUMNS[layout]).list.get(place, null_on_oob=True).struct.field("content")
            for place, role in enumerate(("system", "user", "assistant"))
        }
        answers = (said["assistant"] == marked.str.strip_chars()) | (
            said["assistant"] == bare.str.strip_chars()
        )
        right = answers & said["user"].str.ends_with(pl.col("question"))
        wrong = shown.filter(~right.fill_null(value=False))["pair_id"]
        yield from (f"row {one} has other messages ({layout}) than question and answer" for one in wrong)
