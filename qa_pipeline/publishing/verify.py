"""`verify`: what a release promises, checked from its folder alone, without the pipeline.

The rows are read once, row group by row group; what is kept of them are some bytes for each.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from qa_pipeline.curation.training import user_message
from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.publishing.candidates import (
    LEFT_OUT_SCHEMA,
    PASSAGE_SCHEMA,
    RELEASED,
    SOURCE_SCHEMA,
    PassageRow,
    named_passages,
)
from qa_pipeline.publishing.card import headline
from qa_pipeline.publishing.keys import (
    BANDS,
    SHINGLES,
    Places,
    codes,
    near_duplicates,
    row_keys,
    rows_of,
    sketches,
)
from qa_pipeline.publishing.manifest import (
    CARD,
    DATA,
    FORMAT,
    LEFT_OUT,
    MANIFEST,
    PASSAGES,
    PLACES,
    SOURCES,
    Manifest,
    read_manifest,
)
from qa_pipeline.publishing.selection import PLACED
from qa_pipeline.records import Passage
from qa_pipeline.retrieval.chunks import chunk_hash
from qa_pipeline.storage.files import local_copy
from qa_pipeline.storage.hashes import hash_file, hash_text
from qa_pipeline.storage.parquet import appended_parquet, row_groups
from qa_pipeline.storage.rows import MessageStruct, TrainingExampleRow
from qa_pipeline.storage.tables import SCHEMA_VERSION
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK
from qa_pipeline.verification.outcomes import SUPPORTED

NO_SOURCES = "it holds no texts: neither quotes nor near duplicates can be checked"
_MOST_BLOCKS = 4
"""Row groups of documents that are kept in memory: neighbouring rows rest on neighbouring documents."""
_AT_ONCE = 200
"""Documents that are sketched at a time; their sets of shingles are several times as large as their texts."""


@dataclass(frozen=True, slots=True)
class Check:
    """A promise: how many rows or files were looked at, and what breaks it.

    `checked` is None where nothing could be looked at, and `problems` is empty then; `why` says the reason.
    """

    name: str
    checked: int | None
    problems: tuple[str, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        """Return whether no problem breaks the promise."""
        return not self.problems


def verify_release(folder: Path) -> list[Check]:
    """Check a release; where its files are not those it names, or have other columns, no more is checked.

    Raises:
        ReleaseError: it has no manifest that can be read.
        StorageError: there is no room for what is noted meanwhile.
    """
    with local_copy(folder) as copy:
        return _checks(copy, read_manifest(folder))


def _checks(folder: Path, manifest: Manifest) -> list[Check]:
    if (manifest.format, manifest.schema_version) != (FORMAT, SCHEMA_VERSION):
        raise ReleaseError(
            f"{folder} holds schema version {manifest.schema_version} in format {manifest.format}, this "
            f"version checks {SCHEMA_VERSION} in {FORMAT}; verify it with the version that published it"
        )
    files = Check("files", len(manifest.files), tuple(_file_problems(folder, manifest)))
    if not files.holds:
        return [files]
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


def release_problems(folder: Path) -> list[str]:
    """Return what breaks a promise of a release, with the name of its check."""
    return [f"{check.name}: {problem}" for check in verify_release(folder) for problem in check.problems]


def _file_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield files that are missing, changed, not named, or links and pipes instead of files."""
    present = set()
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            yield f"{name} is a link or no regular file, and is not read"
        elif path.is_file():
            present.add(name)
    for name, file in manifest.files.items():
        if name not in present:
            yield f"{name} is missing"
        elif (folder / name).stat().st_size != file.size or hash_file(folder / name) != file.sha256:
            yield f"{name} is not the file that was released"
    listed = {*manifest.files, MANIFEST}
    yield from (f"{name} is not part of the release" for name in sorted(present - listed))
    needed = {*_tables(manifest), CARD}
    yield from (f"{name} is not named in {MANIFEST}" for name in sorted(needed - {*manifest.files}))


def _tables(manifest: Manifest) -> dict[str, pl.Schema]:
    """Return the tables a release has, by file, with their columns."""
    schemas = {f"{DATA}/{split}.parquet": RELEASED.schema for split in manifest.splits}
    return schemas | {
        SOURCES: SOURCE_SCHEMA, PASSAGES: PASSAGE_SCHEMA, PLACES: PLACED, LEFT_OUT: LEFT_OUT_SCHEMA,
    }  # fmt: skip


def _schema_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield tables that cannot be read, or have other columns than they should."""
    for name, schema in _tables(manifest).items():
        try:
            actual = pl.read_parquet_schema(folder / name)
        except (OSError, pl.exceptions.PolarsError, pa.ArrowException):
            yield f"{name} cannot be read as a table"
            continue
        if schema == RELEASED.schema:
            yield from (f"{name}: {problem}" for problem in RELEASED.problems(pl.DataFrame(schema=actual)))
        elif actual != schema:
            yield f"{name}: its columns are {', '.join(actual)}"


class _Table:
    """A table of a release of which only some row groups are in memory.

    Args:
        file: of the table.
        key: the columns that identify a row.
        columns: all that are read.
    """

    def __init__(self, file: Path, key: Sequence[str], columns: Sequence[str]) -> None:
        import pyarrow.parquet as pq

        self._opened, self._key, self._columns = pq.ParquetFile(file), list(key), list(columns)
        self._read = lru_cache(_MOST_BLOCKS)(self._read_group)
        self._no_rows = pl.DataFrame(schema={name: pl.read_parquet_schema(file)[name] for name in columns})
        codes_of_groups = [self._codes(part) for part in row_groups(file, self._key)]
        sizes = [len(of_group) for of_group in codes_of_groups]
        self._codes_of_rows = np.concatenate([np.zeros(0, np.uint64), *codes_of_groups])
        self._groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    def _codes(self, rows: pl.DataFrame) -> npt.NDArray[np.uint64]:
        keys = rows.select(pl.concat_str(self._key, separator="\x1f").fill_null("")).to_series()
        return codes(keys).to_numpy()

    def _read_group(self, number: int) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(self._opened.read_row_group(number, columns=self._columns)))

    def rows(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that have these keys; those that are not in the table are absent."""
        groups = np.unique(self._groups[np.isin(self._codes_of_rows, self._codes(keys))]).tolist()
        parts = [self._read(number).join(keys, on=self._key, how="semi") for number in groups]
        return pl.concat([self._no_rows, *parts])


class _Rows:
    """The checks that look at rows.

    Args:
        folder: the release.
        manifest: what it says of itself.
        notes: an empty folder for what does not fit into memory.
    """

    def __init__(self, folder: Path, manifest: Manifest, notes: Path) -> None:
        self._folder, self._manifest, self._notes = folder, manifest, notes
        self._sources = _Table(folder / SOURCES, ["content_sha256"], ["content_sha256", "text"])
        self._passages = _Table(folder / PASSAGES, ["batch", "chunk_id"], PASSAGE_SCHEMA.names())
        self._texts_held = bool(
            pl.scan_parquet(folder / SOURCES).select(pl.col("text").is_not_null().any()).collect().item()
        )
        self._places = Places(folder / PLACES)
        self._codes = [np.zeros(0, np.uint64)]
        self._counts: dict[str, Counter[str]] = {"split": Counter(), "batch": Counter()}

    def checks(self) -> list[Check]:
        """Return all checks, in a fixed order."""
        of_rows: dict[str, Callable[[str, pl.DataFrame], Iterable[str]]] = {
            "schema": lambda _, rows: RELEASED.problems(rows),
            "evidence": self._evidence_problems,
            "messages": self._message_problems,
            "splits": self._split_problems,
        }
        problems: dict[str, list[str]] = {name: [] for name in of_rows}
        for split in self._manifest.splits:
            for part in row_groups(self._folder / DATA / f"{split}.parquet"):
                self._codes.append(codes(part["pair_id"]).to_numpy())
                self._counts["split"][split] += part.height
                self._counts["batch"].update(part["batch"])
                for name, check in of_rows.items():
                    problems[name] += check(split, part)
        rows = self._counts["split"].total()
        if repeated := rows - len(np.unique(np.concatenate(self._codes))):
            problems["schema"].append(f"pair_id repeats in {repeated} rows")
        problems["splits"] += [*self._place_problems(), *self._near_problems()]
        problems["passages"] = [*self._passage_problems()]
        problems["counts"] = [*self._count_problems()]
        unseen = {"evidence": NO_SOURCES} if rows and not self._texts_held else {}
        return [
            Check(name, None if name in unseen else rows, tuple(of_check), unseen.get(name, ""))
            for name, of_check in problems.items()
        ]

    def _evidence_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield quotes that are not at their place, and rows that name no or other documents."""
        proofs = rows.select("pair_id", "documents", "evidence").explode("evidence", empty_as_null=True)
        quoted = proofs.drop_nulls("evidence").unnest("evidence")
        foreign = quoted.filter(~pl.col("content_sha256").is_in(pl.col("documents")))["pair_id"]
        yield from (f"row {pair} does not name the document of a quote" for pair in foreign.unique().sort())
        documents = rows.select("pair_id", "documents").explode("documents", empty_as_null=True)
        sources = self._documents_of(rows)
        missing = documents.join(sources, left_on="documents", right_on="content_sha256", how="anti")
        ids = missing["pair_id"].unique().sort()
        yield from (f"row {pair} rests on a document that {SOURCES} lacks" for pair in ids)
        claim = pl.element().struct
        supported = pl.col("claims").list.filter(claim.field("verdict") == SUPPORTED)
        supported_texts = supported.list.eval(claim.field("text")).list.unique().list.sort()
        proved_texts = pl.col("evidence").list.eval(claim.field("claim")).list.unique().list.sort()
        is_refusal, has_evidence = pl.col("coverage") == "none", pl.col("evidence").list.len() > 0
        unproved = rows.filter((is_refusal == has_evidence) | (supported_texts != proved_texts))
        yield from (f"row {pair} has claims without evidence" for pair in unproved["pair_id"])
        if not self._texts_held:
            return
        quoted_sources = quoted.join(sources, on="content_sha256", how="left")
        start, length = pl.col("start"), pl.col("end") - pl.col("start")
        in_place = (start >= 0) & (length > 0) & (pl.col("text").str.slice(start, length) == pl.col("quote"))
        wrong = quoted_sources.filter(~in_place.fill_null(value=False)).select("pair_id", "quote")
        for pair_id, quote in wrong.iter_rows():
            yield f"row {pair_id}: the quote {quote[:60]!r} is not at its place"

    def _documents_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the documents that rows rest on, as far as they are present."""
        hashes = rows.select(content_sha256=pl.col("documents").explode(empty_as_null=True))
        return self._sources.rows(hashes.drop_nulls().unique())

    def _passages_of(self, rows: pl.DataFrame) -> dict[str, dict[str, Passage]]:
        """Return the passages of rows that have a text, by batch and chunk id."""
        passages: dict[str, dict[str, Passage]] = {}
        for row in self._with_texts(self._passages.rows(named_passages(rows))):
            passage = Passage(
                row["chunk_id"], row["title"], tuple(row["section_path"]), row["text"], row["language"]
            )
            passages.setdefault(row["batch"], {})[row["chunk_id"]] = passage
        return passages

    def _with_texts(self, passages: pl.DataFrame) -> Iterator[PassageRow]:
        """Return the passages with their texts, from the documents where they have none of their own."""
        sources = self._sources.rows(passages.select("content_sha256").drop_nulls().unique())
        complete = passages.join(
            sources.select("content_sha256", document="text"),
            on="content_sha256",
            how="left",
            maintain_order="left",
        )
        start, length = pl.col("start"), pl.col("end") - pl.col("start")
        in_place = (start >= 0) & (length >= 0)
        cut = pl.when(in_place).then(pl.col("document").str.slice(start, pl.when(in_place).then(length)))
        readable = complete.with_columns(text=pl.coalesce("text", cut)).drop_nulls("text")
        return cast("Iterator[PassageRow]", readable.iter_rows(named=True))

    def _message_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield messages that are not what row, passages and system prompt make of them."""
        passages = self._passages_of(rows)
        marked = pl.col("answer").str.replace_all(rf"(?i)[ \t]*{SOURCE_MARK.pattern}", "")
        bare = marked.str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", "")
        answers = rows.select(marked.str.strip_chars().alias("marked"), bare.str.strip_chars().alias("bare"))
        released = cast("Iterator[TrainingExampleRow]", rows.iter_rows(named=True))
        for row, answers_of_row in zip(released, answers.iter_rows(), strict=True):
            layouts = {
                "closed_book": (row["messages"], []),
                "with_context": (row["messages_with_context"], row["passages"]["with_context"]),
                "with_distractors": (row["messages_with_distractors"], row["passages"]["with_distractors"]),
            }
            of_batch = passages.get(row["batch"], {})
            for layout, (messages, ids) in layouts.items():
                problem = _other_messages(row["question"], answers_of_row, messages, ids, of_batch)
                if problem:
                    yield f"row {row['pair_id']} ({layout}) {problem}"

    def _passage_problems(self) -> Iterator[str]:
        """Yield passages and documents whose hash is not that of their text."""
        for part in row_groups(self._folder / SOURCES):
            for sha256, text, text_sha256 in part.select("content_sha256", "text", "text_sha256").iter_rows():
                if text is not None and hash_text(text) != text_sha256:
                    yield f"the text of document {sha256} is not that of its hash"
        for part in row_groups(self._folder / PASSAGES):
            for row in self._with_texts(part):
                if chunk_hash(row["section_path"], row["text"], row["repeat"]) != row["chunk_id"]:
                    yield f"passage {row['chunk_id']} is not the one of its id"

    def _split_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield keys of rows that are not recorded in their split; each is recorded in one."""
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
        """Yield documents of two splits that are nearly the same."""
        limit = float(self._manifest.settings["near_duplicate_similarity"])
        count, bands, sets = 0, self._notes / "bands", self._notes / "shingles"
        with appended_parquet(bands, BANDS) as note_bands, appended_parquet(sets, SHINGLES) as note_sets:
            for part in row_groups(self._folder / SOURCES):
                for some in part.drop_nulls("text").iter_slices(_AT_ONCE):
                    sketched, shingled = sketches(some, limit)
                    note_bands(sketched)
                    note_sets(shingled)
                    count += sketched.height
        joins = near_duplicates(bands, sets, count, limit)
        for first, second in zip(
            *map(self._places.splits_of, (joins["key"], joins["other_key"])), strict=True
        ):
            if first != second:
                yield f"two documents that are nearly the same are in {first} and {second}"

    def _count_problems(self) -> Iterator[str]:
        sentence = headline(self._counts["split"].total(), rows_of(self._folder / SOURCES))
        if sentence not in (self._folder / CARD).read_text(encoding="utf-8"):
            yield f"{CARD} counts other rows or documents than {sentence}"
        left_out = pl.read_parquet(self._folder / LEFT_OUT, columns=["reason"])
        if dict(left_out.group_by("reason").len().iter_rows()) != self._manifest.rows_left_out:
            yield f"{LEFT_OUT} and {MANIFEST} count other rows"
        for name in _tables(self._manifest):
            rows, told_rows = rows_of(self._folder / name), self._manifest.files[name].rows
            if rows != told_rows:
                yield f"{name} has {rows} rows, {MANIFEST} says {told_rows}"
        for what, stated in (("split", self._manifest.splits), ("batch", self._manifest.batches)):
            counted = self._counts[what]
            for name in sorted({*stated, *counted}):
                if stated.get(name, 0) != counted[name]:
                    yield f"{what} {name} has {counted[name]} rows, {MANIFEST} says {stated.get(name, 0)}"


def _other_messages(
    question: str,
    answers: Collection[str],
    messages: Sequence[MessageStruct] | None,
    chunk_ids: Sequence[str] | None,
    passages: Mapping[str, Passage],
) -> str | None:
    """Return what messages have that question, answers and passages do not give."""
    if messages is None or chunk_ids is None:
        alone = (messages is None) != (chunk_ids is None)
        return "has messages without passages, or passages alone" if alone else None
    if [message["role"] for message in messages] != ["system", "user", "assistant"]:
        return f"has other messages than system, user and assistant: {len(messages)}"
    _, user, assistant = (message["content"] for message in messages)
    if assistant not in answers:
        return "has another answer in its messages"
    if all(chunk_id in passages for chunk_id in chunk_ids):
        expected = user_message([passages[chunk_id] for chunk_id in chunk_ids], question)
        return None if user == expected else "asks something else than its question and passages"
    # without the texts: the head of each passage cannot be known either
    return None if user.endswith(f"\n\n{question}") else "asks something else than its question"
