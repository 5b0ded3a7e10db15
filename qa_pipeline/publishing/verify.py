"""`verify`: check the promises of a release from its folder alone, without the pipeline.

Rows are read once, row group by row group. Only a few bytes per row stay in memory.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import TemplateError

from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.publishing import splits
from qa_pipeline.publishing.card import data_card
from qa_pipeline.publishing.manifest import (
    CARD,
    DATA,
    FORMAT,
    LEFT_OUT,
    MANIFEST,
    SOURCES,
    SPLIT_KEYS,
    Manifest,
    read_manifest,
)
from qa_pipeline.publishing.rows import (
    LEFT_OUT_SCHEMA,
    PREFERENCE,
    SOURCE_SCHEMA,
    named_documents,
    rebuilt_user_message,
    released_table,
    row_ids,
    trainer_lines,
)
from qa_pipeline.storage.files import local_copy
from qa_pipeline.storage.hashes import hash_file, hash_text
from qa_pipeline.storage.parquet import row_groups
from qa_pipeline.storage.tables import SCHEMA_VERSION
from qa_pipeline.text import references

NO_SOURCES = "it has no texts: neither quotes nor near duplicates can be checked"
_MOST_BLOCKS = 4
"""Row groups of documents that are kept in memory; neighbouring rows tend to cite neighbouring documents."""


@dataclass(frozen=True, slots=True)
class Check:
    """A promise of a release: the number of rows or files that were checked, and the problems found.

    `checked` is None if the promise could not be checked. Then `problems` is empty and `why` has the reason.
    """

    name: str
    checked: int | None
    problems: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_valid(self) -> bool:
        """Return True if there are no problems."""
        return not self.problems


def verify_release(folder: Path) -> list[Check]:
    """Check a release; if its files or columns are wrong, later checks are skipped.

    Raises:
        ReleaseError: its manifest cannot be read.
        StorageError: there is too little disk space for temporary files.
    """
    manifest = read_manifest(folder)
    if (manifest.format, manifest.schema_version) != (FORMAT, SCHEMA_VERSION):
        raise ReleaseError(
            f"{folder} has schema version {manifest.schema_version} in format {manifest.format}, this "
            f"version checks {SCHEMA_VERSION} in {FORMAT}; verify it with the version that published it"
        )
    try:
        with local_copy(folder) as copy:
            return _checks(copy, manifest)
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
        if getattr(error, "errno", None) is None:  # not from the system: a table has a damaged page
            return [Check("schema", len(manifest.splits), (f"a table cannot be read: {error}",))]
        raise StorageError(
            f"{folder} was not checked: {error}; free space in {tempfile.gettempdir()}, or set TMPDIR"
        ) from error
    # `read_manifest` does not check the fields of facts and settings, which the checks and the card read
    except (LookupError, TypeError, ValueError, AttributeError, TemplateError) as error:
        raise ReleaseError(f"{folder / MANIFEST} lacks facts or settings of a release") from error


def _checks(folder: Path, manifest: Manifest) -> list[Check]:
    """Run the checks in order; wrong files or columns end them. The schema is checked for each split."""
    files = Check("files", len(manifest.files), tuple(_file_problems(folder, manifest)))
    if not files.is_valid:
        return [files]
    schema = Check("schema", len(manifest.splits), tuple(_schema_problems(folder, manifest)))
    return [files, *_Rows(folder, manifest).checks()] if schema.is_valid else [files, schema]


def release_problems(folder: Path) -> list[str]:
    """Return all problems of a release, each with the name of its check."""
    return [f"{check.name}: {problem}" for check in verify_release(folder) for problem in check.problems]


def _file_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield files that are missing, changed or unlisted, and links or pipes."""
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
    """Return the schema of each table of a release, by file name."""
    released = released_table(manifest.facts["lacking"]).schema
    schemas = {f"{DATA}/{split}.parquet": released for split in manifest.splits}
    return schemas | {SOURCES: SOURCE_SCHEMA, SPLIT_KEYS: splits.KEY_SPLITS, LEFT_OUT: LEFT_OUT_SCHEMA}


def _schema_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield tables that cannot be read, or have wrong columns."""
    for name, schema in _tables(manifest).items():
        try:
            actual = pl.read_parquet_schema(folder / name)
        except (OSError, pl.exceptions.PolarsError, pa.ArrowException):
            yield f"{name} cannot be read as a table"
            continue
        if actual != schema:
            different = {column for column, _ in {*actual.items()} ^ {*schema.items()}}  # in name or type
            yield f"{name}: its columns differ in {', '.join(sorted(different)) or 'their order'}"


class _Texts:
    """The document texts of `SOURCES`, with a few row groups in memory."""

    def __init__(self, file: Path) -> None:
        # a key per row of the file, and the row group of each
        groups = [splits.document_keys(part.to_series()) for part in row_groups(file, ["content_sha256"])]
        self.document_keys = pl.concat([pl.Series([], dtype=pl.UInt64()), *groups]).to_numpy()
        self._groups = np.repeat(np.arange(len(groups), dtype=np.int32), [len(keys) for keys in groups])
        self._opened = pq.ParquetFile(file)
        self._read = lru_cache(_MOST_BLOCKS)(self._read_group)

    def _read_group(self, number: int) -> dict[str, str | None]:
        group = self._opened.read_row_group(number, columns=["content_sha256", "text"])
        return dict(pl.DataFrame(pl.from_arrow(group)).iter_rows())

    def by_hash(self, hashes: pl.Series) -> dict[str, str | None]:
        """Return the texts of documents by hash; missing documents are omitted."""
        groups = np.unique(self._groups[np.isin(self.document_keys, splits.document_keys(hashes).to_numpy())])
        texts = {sha256: text for number in groups.tolist() for sha256, text in self._read(number).items()}
        return {sha256: texts[sha256] for sha256 in hashes if sha256 in texts}


class _Rows:
    """The checks of the rows of a release."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest
        self._table = released_table(manifest.facts["lacking"])  # its schema, without the omitted columns
        self._texts = _Texts(folder / SOURCES)
        self._has_texts = bool(manifest.settings["release"]["with_sources"])
        self._split_map = splits.SplitMap(pl.read_parquet(folder / SPLIT_KEYS))
        self._prompts = {*manifest.facts["system_prompts"]}
        # rows by split and by batch, as they are found
        self._counts: dict[str, Counter[str]] = {"split": Counter(), "batch": Counter()}

    def checks(self) -> list[Check]:
        """Run all checks, in a fixed order."""
        row_checks: dict[str, Callable[[str, pl.DataFrame], Iterable[str]]] = {
            "schema": self._schema_problems,
            "ids": self._id_problems,
            "evidence": self._evidence_problems,
            "messages": self._message_problems,
            "splits": self._split_problems,
        }
        names = (*row_checks, "formats", "sources", "counts")
        problems: dict[str, list[str]] = {name: [] for name in names}
        pair_codes = [np.zeros(0, np.uint64)]
        for split in self._manifest.splits:
            for part in row_groups(self._folder / DATA / f"{split}.parquet"):
                pair_codes.append(splits.codes(part["pair_id"]).to_numpy())
                self._counts["split"][split] += part.height
                self._counts["batch"].update(part["batch"])
                for name, check in row_checks.items():
                    problems[name] += check(split, part)
            problems["formats"] += self._format_problems(split)
        rows = self._counts["split"].total()
        if repeated := rows - len(np.unique(np.concatenate(pair_codes))):
            problems["ids"].append(f"pair_id repeats in {repeated} rows")
        problems["splits"] += self._near_problems()
        problems["sources"] += self._source_problems()
        problems["counts"] += self._count_problems()
        # without texts, the splits are still checked by their keys
        unchecked = {"evidence": NO_SOURCES} if rows and not self._has_texts else {}
        return [
            Check(name, None if name in unchecked else rows, tuple(messages), unchecked.get(name, ""))
            for name, messages in problems.items()
        ]

    def _schema_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        yield from self._table.problems(rows)
        if (rows["split"] != split).any():
            yield f"rows of {split} name another split"

    def _id_problems(self, _split: str, rows: pl.DataFrame) -> Iterator[str]:
        wrong = rows.filter(rows["row_id"] != row_ids(rows))["pair_id"]
        yield from (f"row {pair_id} is not the row of its row_id" for pair_id in wrong)

    def _evidence_problems(self, _split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield quotes that differ from their source, and rows that cite missing or wrong documents."""
        texts = self._texts.by_hash(named_documents(rows))  # each is None in a release without texts
        columns = ("pair_id", "coverage", "documents", "evidence")
        for pair_id, coverage, documents, evidence in rows.select(columns).iter_rows():
            # an answer needs evidence for its claims; a refusal must have none, since it makes no claims
            needs_evidence, has_evidence = coverage != "none", bool(evidence)
            if needs_evidence != has_evidence:
                yield f"row {pair_id} has claims without evidence"
            if not documents or any(sha256 not in texts for sha256 in documents):
                yield f"row {pair_id} rests on a document that {SOURCES} lacks"
            for proof in evidence:
                sha256, quote = proof["content_sha256"], proof["quote"]
                text, start, end = texts.get(sha256), proof["start"], proof["end"]
                if sha256 not in documents:
                    yield f"row {pair_id} does not name the document of a quote"
                elif self._has_texts and not (text and 0 <= start < end and text[start:end] == quote):
                    yield f"row {pair_id}: the quote {quote[:60]!r} is not at its offsets"

    def _message_problems(self, _split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield messages that differ from a rendering of row, texts and system prompts."""
        sources = self._texts.by_hash(named_documents(rows))
        texts = {sha256: text for sha256, text in sources.items() if text is not None}
        # of "It opens [1] [source: a.md]" the message may have "It opens [1]", or "It opens"
        with_numbers = pl.col("answer").str.replace_all(rf"(?i)[ \t]*{references.SOURCE_MARK.pattern}", "")
        plain = with_numbers.str.replace_all(rf"[ \t]*{references.NUMBER_MARK.pattern}", "")
        allowed = rows.select(with_numbers=with_numbers.str.strip_chars(), plain=plain.str.strip_chars())
        for row, allowed_answers in zip(rows.iter_rows(named=True), allowed.iter_rows(), strict=True):
            if [message["role"] for message in row["messages"]] != ["system", "user", "assistant"]:
                yield f"row {row['pair_id']} has other messages than system, user and assistant"
                continue
            system, user, assistant = (message["content"] for message in row["messages"])
            expected = rebuilt_user_message(row, texts)
            # without the texts only the question can be checked
            is_expected = user.endswith(f"\n\n{row['question']}") if expected is None else user == expected
            if not is_expected:
                yield f"row {row['pair_id']} asks something else than its question and passages"
            if assistant not in allowed_answers:
                yield f"row {row['pair_id']} has another answer in its messages"
            if system not in self._prompts:
                yield f"row {row['pair_id']} has a system prompt that {MANIFEST} does not name"

    def _format_problems(self, split: str) -> Iterator[str]:
        """Yield trainer files whose lines differ from the rows."""
        for name in sorted({*self._manifest.settings["release"]["formats"]} - {PREFERENCE}):
            path = self._folder / name / f"{split}.jsonl"
            with path.open("rb") as file:
                has_lines = all(  # in the order of the rows
                    file.read(len(block)) == block
                    for part in row_groups(self._folder / DATA / f"{split}.parquet")
                    for block in trainer_lines(name, part)
                )
                if not has_lines or file.read(1):  # further lines follow
                    yield f"{name}/{split}.jsonl has other lines than the rows of {split}"

    def _split_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield rows and documents whose keys are not recorded in their split."""
        keys = splits.row_keys(rows)
        wrong = keys.filter(self._split_map.splits_of(keys["key"]).ne_missing(split))
        for index in wrong["row"].unique().sort():
            pair_id = rows["pair_id"][index]
            yield f"row {pair_id}: its documents, question or answer are not recorded in {split}"
        hashes = named_documents(rows)
        document_splits = self._split_map.splits_of(splits.document_keys(hashes))
        for sha256 in hashes.filter(document_splits.ne_missing(split)):
            yield f"document {sha256} is shown in {split} and not recorded there"

    def _near_problems(self) -> Iterator[str]:
        """Yield near-duplicate documents in different splits, and unsorted keys."""
        keys = self._split_map.keys
        if (keys[1:] <= keys[:-1]).any():  # a key is not greater than the key before it
            yield f"{SPLIT_KEYS} records a key twice, or not in order"
        parts = row_groups(self._folder / SOURCES, ["content_sha256", "text"])
        groups = splits.near_duplicates(part.drop_nulls("text") for part in parts)
        member_splits, head_splits = (self._split_map.splits_of(groups[name]) for name in ("key", "head"))
        for member_split, head_split in zip(member_splits, head_splits, strict=True):
            if member_split != head_split:
                yield f"two documents that are nearly the same are in {member_split} and {head_split}"

    def _source_problems(self) -> Iterator[str]:
        """Yield repeated documents, and documents whose text does not match its hash."""
        if len(np.unique(self._texts.document_keys)) < len(self._texts.document_keys):
            yield f"{SOURCES} has a document twice"
        for part in row_groups(self._folder / SOURCES):
            for sha256, text, text_sha256 in part.select("content_sha256", "text", "text_sha256").iter_rows():
                if text is not None and hash_text(text) != text_sha256:
                    yield f"the text of document {sha256} is not that of its hash"

    def _count_problems(self) -> Iterator[str]:
        """Yield counts of the manifest that differ from the files, and a card that differs from it."""
        manifest = self._manifest
        if data_card(manifest) != (self._folder / CARD).read_text(encoding="utf-8"):
            yield f"{CARD} does not say what {MANIFEST} does"
        stated = (manifest.facts["rows"], manifest.facts["documents"])
        if stated != (self._counts["split"].total(), len(self._texts.document_keys)):
            yield f"{MANIFEST} counts other rows or documents than there are"
        left_out = pl.read_parquet(self._folder / LEFT_OUT, columns=["reason"])
        if dict(left_out.group_by("reason").len().iter_rows()) != manifest.rows_left_out:
            yield f"{LEFT_OUT} and {MANIFEST} count other rows"
        for column, stated_rows in (("split", manifest.splits), ("batch", manifest.batches)):
            counted = self._counts[column]
            for name in sorted({*stated_rows, *counted}):
                stated_count = stated_rows.get(name, 0)
                if stated_count != counted[name]:
                    yield f"{column} {name} has {counted[name]} rows, {MANIFEST} says {stated_count}"
