"""`verify`: every promise of a release that can be checked from its folder alone, without the pipeline.

The rows are read once, row group by row group; what is kept of them are some bytes for each.
"""

import hashlib
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

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.curation.training import user_message
from qa_pipeline.errors import InputError, ReleaseError, StorageError
from qa_pipeline.publishing.candidates import (
    LEFT_OUT_SCHEMA,
    PASSAGE_SCHEMA,
    RELEASED,
    SOURCE_SCHEMA,
    PassageRow,
    ReleasedRow,
    named_passages,
)
from qa_pipeline.publishing.card import card_problems
from qa_pipeline.publishing.certificate import AUDITED_COLUMNS, LABELLED, certificate_of
from qa_pipeline.publishing.facts import (
    FACTS,
    REFUSAL,
    content_hashes,
    deciding_groups,
    read_facts,
    settings_problems,
)
from qa_pipeline.publishing.formats import FORMATS, SQUAD
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
    AUDIT,
    CARD,
    DATA,
    FORMAT,
    LEFT_OUT,
    MANIFEST,
    PASSAGES,
    PLACES,
    SIGNATURE,
    SOURCES,
    Manifest,
    read_manifest,
    row_groups_of,
)
from qa_pipeline.publishing.proofs import proof_problems
from qa_pipeline.publishing.selection import PLACED
from qa_pipeline.publishing.signature import signature_problem
from qa_pipeline.records import Passage
from qa_pipeline.retrieval.chunks import chunk_hash
from qa_pipeline.storage.files import local_copy
from qa_pipeline.storage.hashes import hash_file, hash_text
from qa_pipeline.storage.parquet import appended_parquet, row_groups
from qa_pipeline.storage.rows import EvidenceStruct, MessageStruct
from qa_pipeline.storage.tables import SCHEMA_VERSION
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK
from qa_pipeline.verification.deciding import ALIGNMENT

NO_SOURCES = "it holds no texts: neither quotes nor near duplicates can be checked"
_MOST_BLOCKS = 4
"""Row groups of documents that are kept in memory: neighbouring rows rest on neighbouring documents."""
_BLOCK = 2**24
"""Bytes of a file of lines that are read at a time; more takes memory, less takes calls."""
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


def verify_release(folder: Path, public_key: str | None = None) -> list[Check]:
    """Check a release; where its files are not those it names, or have other columns, no more is checked.

    Args:
        folder: of the release.
        public_key: of who signed it, a file or its text; None looks at no signature.

    Raises:
        InputError: the public key cannot be used.
        ReleaseError: it has no manifest that can be read.
        StorageError: there is no room for what is noted meanwhile.
    """
    with local_copy(folder) as copy:
        return _checks(copy, read_manifest(folder), public_key)


def _checks(folder: Path, manifest: Manifest, public_key: str | None) -> list[Check]:
    first = [_signature(folder, public_key)]
    if (manifest.format, manifest.schema_version) != (FORMAT, SCHEMA_VERSION):
        raise ReleaseError(
            f"{folder} holds schema version {manifest.schema_version} in format {manifest.format}, this "
            f"version checks {SCHEMA_VERSION} in {FORMAT}; verify it with the version that published it"
        )
    first.append(Check("files", len(manifest.files), tuple(_file_problems(folder, manifest))))
    if not first[-1].holds:
        return first
    schema = Check("schema", len(manifest.splits), tuple(_schema_problems(folder, manifest)))
    if not schema.holds:
        return [*first, schema]
    try:
        deciding_groups(manifest)
    except ReleaseError as error:
        return [*first, schema, Check("settings", 1, (str(error),))]
    try:
        with tempfile.TemporaryDirectory() as notes:
            return [*first, *_Rows(folder, manifest, Path(notes)).checks()]
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
        if getattr(error, "errno", None) is None:  # as where pages of a table are damaged
            return [*first, Check("schema", len(manifest.splits), (f"a table cannot be read: {error}",))]
        raise StorageError(
            f"{folder} was not checked: {error}; free space in {tempfile.gettempdir()}, or set TMPDIR"
        ) from error


def release_problems(folder: Path) -> list[str]:
    """Return what breaks a promise of a release, with the name of its check."""
    return [f"{check.name}: {problem}" for check in verify_release(folder) for problem in check.problems]


def _signature(folder: Path, public_key: str | None) -> Check:
    if public_key is not None:
        problem = signature_problem(folder, public_key)
        return Check("signature", 1, () if problem is None else (problem,))
    why = "name --public-key to have it checked" if (folder / SIGNATURE).is_file() else "it is not signed"
    return Check("signature", None, why=why)


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
    listed = {*manifest.files, MANIFEST, SIGNATURE}
    yield from (f"{name} is not part of the release" for name in sorted(present - listed))
    needed = {*_tables(manifest), FACTS, CARD}
    yield from (f"{name} is not named in {MANIFEST}" for name in sorted(needed - {*manifest.files}))
    if manifest.certificate is None and AUDIT in manifest.files:
        yield f"{AUDIT} has labels, and {MANIFEST} no certificate"


def _tables(manifest: Manifest) -> dict[str, pl.Schema]:
    """Return the tables a release has, by file, with their columns."""
    schemas = {f"{DATA}/{split}.parquet": RELEASED.schema for split in manifest.splits}
    schemas |= {SOURCES: SOURCE_SCHEMA, PASSAGES: PASSAGE_SCHEMA, PLACES: PLACED, LEFT_OUT: LEFT_OUT_SCHEMA}
    return schemas if manifest.certificate is None else schemas | {AUDIT: LABELLED}


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
        self._sources = _Table(
            folder / SOURCES, ["content_sha256"], ["content_sha256", "batch", "path", "licence", "text"]
        )
        self._passages = _Table(folder / PASSAGES, ["batch", "chunk_id"], PASSAGE_SCHEMA.names())
        self._texts_held = bool(
            pl.scan_parquet(folder / SOURCES).select(pl.col("text").is_not_null().any()).collect().item()
        )
        self._steps: Counter[tuple[str, str]] = Counter()
        self._unproved: Counter[str] = Counter()
        self._last: dict[str, tuple[str, str]] = {}
        self._places = Places(folder / PLACES)
        self._codes: dict[str, list[npt.NDArray[np.uint64]]] = {name: [] for name in manifest.splits}
        self._counts: dict[str, Counter[str]] = {"split": Counter(), "batch": Counter()}
        splits = tuple(manifest.splits)
        self._written = {
            f"{name}/{path}": (form, file, split, hashlib.sha256(file.index(splits) if file.index else b""))
            for name, form in FORMATS.items()
            for file, path, split in form.paths(splits)
        }
        """The files that formats may have, and the hash of indexes and of what rows make of `whole` ones."""

    def checks(self) -> list[Check]:
        """Return all checks, in a fixed order."""
        of_rows: dict[str, Callable[[str, pl.DataFrame], Iterable[str]]] = {
            "schema": self._null_problems,
            "evidence": self._evidence_problems,
            "proof": self._proof_problems,
            "messages": self._message_problems,
            "origin": self._origin_problems,
            "order": self._order_problems,
            "splits": self._split_problems,
        }
        problems: dict[str, list[str]] = {name: [] for name in of_rows}
        for split in self._manifest.splits:
            for part in row_groups(self._folder / DATA / f"{split}.parquet"):
                self._note(split, part)
                for name, check in of_rows.items():
                    problems[name] += check(split, part)
        rows = self._counts["split"].total()
        ids = {
            name: np.concatenate([np.zeros(0, np.uint64), *codes_of_name])
            for name, codes_of_name in self._codes.items()
        }
        every = np.concatenate(list(ids.values()))
        if repeated := rows - len(np.unique(every)):
            problems["schema"].append(f"pair_id repeats in {repeated} rows")
        problems["splits"] += [*self._place_problems(), *self._near_problems()]
        problems["passages"] = [*self._passage_problems()]
        problems["counts"] = [*self._count_problems()]
        problems["left_out"] = [*self._left_out_problems(every)]
        problems["formats"] = [*self._format_problems(ids)]
        problems["settings"] = [*settings_problems(self._folder, self._manifest)]
        problems["card"] = [*card_problems(self._folder, self._manifest)]
        problems["audit"] = [*self._audit_problems()]
        unseen = dict.fromkeys(("evidence", "proof"), NO_SOURCES) if rows and not self._texts_held else {}
        if self._manifest.certificate is None:
            unseen["audit"] = "nobody has audited it"
        reasons = {"proof": self._not_proved(), **unseen}
        return [
            Check(name, None if name in unseen else rows, tuple(problems_of_check), reasons.get(name, ""))
            for name, problems_of_check in problems.items()
        ]

    def _not_proved(self) -> str:
        """Return what the rows rest on that cannot be proved again here."""
        counted = ", ".join(f"{count} on {step}" for step, count in sorted((+self._unproved).items()))
        return f"holds; rows that rest on what cannot be decided again: {counted}" if counted else ""

    def _note(self, split: str, rows: pl.DataFrame) -> None:
        """Count rows, and what decided of their claims; make the lines again that formats have of them."""
        self._codes[split].append(codes(rows["pair_id"]).to_numpy())
        self._counts["split"][split] += rows.height
        self._counts["batch"].update(rows["batch"])
        for claims, coverage in rows.select("claims", "coverage").iter_rows():
            steps = [(claim["verdict"], claim["decided_by"]) for claim in claims or () if claim]
            self._steps.update(steps)
            self._unproved.update({step for _, step in steps} - {ALIGNMENT, None})
            self._unproved[REFUSAL] += coverage == "none"
        layout, placed = self._manifest.settings["release"]["layout"], rows.with_columns(split=pl.lit(split))
        for name, (form, _, of, expected_rows) in self._written.items():
            if form.is_whole and of == split and name in self._manifest.files:
                (lines,) = form.rows({}, placed, layout)
                for block in json_lines(lines.drop("split")):
                    expected_rows.update(block)

    def _null_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        yield from RELEASED.problems(rows)
        late = rows.filter(~pl.col("version").is_between(1, self._manifest.version))
        yield from (f"row {pair_id} is of a later release" for pair_id in late["pair_id"])
        evaluated = bool(self._manifest.settings["evaluation"])
        flagged = rows.filter(
            pl.col("in_evaluation").is_null() if evaluated else pl.col("in_evaluation").is_not_null()
        )
        yield from (
            f"row {pair_id} says wrongly whether an evaluation was looked at"
            for pair_id in flagged["pair_id"]
        )

    def _order_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield rows that are not batch by batch in the order of their ids."""
        for batch, pair_id in rows.select("batch", "pair_id").iter_rows():
            last_batch, last_id = self._last.get(split, ("", ""))
            if batch != last_batch and f"{batch}.parquet" < f"{last_batch}.parquet" and last_batch:
                yield f"row {pair_id}: its batch {batch} stands behind {last_batch}"
            elif batch == last_batch and pair_id <= last_id:
                yield f"row {pair_id} stands behind {last_id}"
            self._last[split] = batch, pair_id

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
        bare = rows.filter(pl.col("coverage") != "none", pl.col("evidence").list.len() == 0)
        yield from (f"row {pair} has no evidence" for pair in bare["pair_id"])
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

    def _proof_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield rows whose claims are not proved by their evidence, or not those of their answer."""
        if not self._texts_held:
            return
        passages = self._passages_of(rows)
        settings = self._manifest.settings
        least = float(settings["verification"].get("accept_grounding", 1.0))
        for row in _released(rows):
            is_same = row["provenance"]["thresholds_id"] == settings["thresholds"]
            passages_of_batch = passages.get(row["batch"], {})
            for problem in proof_problems(row, passages_of_batch, least if is_same else 0.0):
                yield f"row {row['pair_id']} {problem}"

    def _message_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield messages that are not what row, passages and system prompt make of them."""
        passages = self._passages_of(rows)
        prompts = self._manifest.system_prompts
        marked = pl.col("answer").str.replace_all(rf"(?i)[ \t]*{SOURCE_MARK.pattern}", "")
        bare = marked.str.replace_all(rf"[ \t]*{NUMBER_MARK.pattern}", "")
        answers = rows.select(marked.str.strip_chars().alias("marked"), bare.str.strip_chars().alias("bare"))
        for row, answers_of_row in zip(_released(rows), answers.iter_rows(), strict=True):
            layouts = {
                "closed_book": (row["messages"], []),
                "with_context": (row["messages_with_context"], row["passages"]["with_context"]),
                "with_distractors": (row["messages_with_distractors"], row["passages"]["with_distractors"]),
            }
            of_batch, system_prompts = passages.get(row["batch"], {}), prompts.get(row["language"], [])
            for layout, (messages, ids) in layouts.items():
                problem = _other_messages(
                    row["question"], answers_of_row, messages, ids, of_batch, system_prompts
                )
                if problem:
                    yield f"row {row['pair_id']} ({layout}) {problem}"
            proving = list(dict.fromkeys(evidence["chunk_id"] for evidence in row["evidence"]))
            chunk_ids = row["passages"]["with_context"]
            if row["coverage"] != "none" and chunk_ids is not None and chunk_ids != proving:
                yield f"row {row['pair_id']} shows other passages than those of its evidence"
            further = row["passages"]["with_distractors"]
            if further is not None and not {*(chunk_ids or ())} <= {*further}:
                yield f"row {row['pair_id']} shows its distractors without its evidence"

    def _origin_problems(self, split: str, rows: pl.DataFrame) -> Iterator[str]:
        """Yield rows whose licences, paths or ids of documents are not those of their documents."""
        other = rows.filter(pl.col("licences") != pl.col("provenance").struct.field("licences"))
        yield from (f"row {pair_id} names other licences than its provenance" for pair_id in other["pair_id"])
        origins = {
            (batch, sha256): (path, licence)
            for sha256, batch, path, licence in self._documents_of(rows).drop("text").iter_rows()
        }
        for row in _released(rows):
            provenance = {
                document: origins[row["batch"], document]
                for document in row["documents"]
                if (row["batch"], document) in origins
            }
            licences = {licence for _, licence in provenance.values()} - {None}
            # a text that another batch has too is recorded with what that batch says of it
            if not licences <= {*row["licences"]} or (
                len(provenance) == len(row["documents"]) and licences != {*row["licences"]}
            ):
                yield f"row {row['pair_id']} names other licences than its documents have"
            for piece in row["evidence"]:
                path = provenance.get(piece["content_sha256"] or "", (piece["path"], None))[0]
                if piece["path"] != path or not _is_document_id(piece):
                    yield f"row {row['pair_id']} names its document otherwise than {SOURCES}"

    def _passage_problems(self) -> Iterator[str]:
        """Yield passages and documents whose hash is not that of their text, and changed contents."""
        for part in row_groups(self._folder / SOURCES):
            for sha256, text, text_sha256 in part.select("content_sha256", "text", "text_sha256").iter_rows():
                if text is not None and hash_text(text) != text_sha256:
                    yield f"the text of document {sha256} is not that of its hash"
        for part in row_groups(self._folder / PASSAGES):
            for row in self._with_texts(part):
                if chunk_hash(row["section_path"], row["text"], row["repeat"]) != row["chunk_id"]:
                    yield f"passage {row['chunk_id']} is not the one of its id"
        hashes = content_hashes(self._folder, self._manifest.splits)
        for name in sorted({*hashes, *self._manifest.contents}):
            if hashes.get(name) != self._manifest.contents.get(name):
                yield f"what {name} says is not what was released"

    def _audit_problems(self) -> Iterator[str]:
        """Yield problems of a certificate that is not what the labels show."""
        if self._manifest.certificate is None:
            return
        rows = row_groups_of(self._folder, self._manifest.splits, AUDITED_COLUMNS)
        try:
            certificate = certificate_of(pl.read_parquet(self._folder / AUDIT), rows)
        except InputError as error:
            yield str(error)
            return
        if certificate != self._manifest.certificate:
            yield f"the certificate is not what the labels in {AUDIT} show"

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
        facts: Counter[tuple[str, str]] = Counter()
        try:
            released = [claim for claim in read_facts(self._folder)["claims"] if claim["released"]]
            facts.update({(claims["verdict"], claims["decided_by"]): claims["count"] for claims in released})
        except (ReleaseError, LookupError, TypeError, ValueError):
            yield f"{FACTS} cannot be read"
        if facts != self._steps:
            yield f"{FACTS} counts other steps that decided of claims than the rows name"
        for name in _tables(self._manifest):
            rows, told_rows = rows_of(self._folder / name), self._manifest.files[name].rows
            if rows != told_rows:
                yield f"{name} has {rows} rows, {MANIFEST} says {told_rows}"
        for what, stated in (("split", self._manifest.splits), ("batch", self._manifest.batches)):
            counted = self._counts[what]
            for name in sorted({*stated, *counted}):
                if stated.get(name, 0) != counted[name]:
                    yield f"{what} {name} has {counted[name]} rows, {MANIFEST} says {stated.get(name, 0)}"

    def _left_out_problems(self, released: npt.NDArray[np.uint64]) -> Iterator[str]:
        left_out = pl.read_parquet(self._folder / LEFT_OUT)
        if dict(left_out.group_by("reason").len().iter_rows()) != self._manifest.rows_left_out:
            yield f"{LEFT_OUT} and {MANIFEST} count other rows"
        left_out_codes = codes(left_out["pair_id"]).to_numpy()
        for pair_id in left_out.filter(pl.Series(np.isin(left_out_codes, released)))["pair_id"]:
            yield f"row {pair_id} is left out and released"
        repeats = left_out.drop_nulls("instead")
        is_present = np.isin(codes(repeats["instead"]).to_numpy(), np.concatenate([released, left_out_codes]))
        for pair_id in repeats.filter(pl.Series(~is_present))["instead"]:
            yield f"row {pair_id} stands for nothing that is released"

    def _format_problems(self, ids: Mapping[str, npt.NDArray[np.uint64]]) -> Iterator[str]:
        """Yield files of other formats that differ from the rows, or hold rows of another split."""
        every = np.concatenate(list(ids.values()))
        for name, file_entry in sorted(self._manifest.files.items()):
            if Path(name).parts[0] not in FORMATS:
                continue
            if name not in self._written:
                yield f"{name} is no file of a format"
                continue
            form, file, split, expected = self._written[name]
            if form.is_whole or file.index:
                if expected.hexdigest() != file_entry.sha256:
                    yield f"{name} says something else than {DATA}/{split or '*'}.parquet"
            elif file.names_pairs:
                yield from self._foreign_rows(name, every if split is None else ids[split])

    def _foreign_rows(self, name: str, released: npt.NDArray[np.uint64]) -> Iterator[str]:
        """Yield rows of a file about other pairs than these."""
        try:
            codes_found = [codes(part) for part in _pair_ids(self._folder / name)]
        except pl.exceptions.PolarsError:
            yield f"{name} cannot be read"
            return
        if other := sum(int((~np.isin(part, released)).sum()) for part in codes_found):
            yield f"{name} has {other} rows that are not released in this split"


def _released(rows: pl.DataFrame) -> Iterator[ReleasedRow]:
    return cast("Iterator[ReleasedRow]", rows.iter_rows(named=True))


_LINE = pl.Schema({"pair_id": pl.String()})
_DOCUMENT = pl.Schema({"paragraphs": pl.List(pl.Struct({"qas": pl.List(pl.Struct(_LINE))}))})
"""The fields in which a line of SQuAD's file names the rows it is about."""


def _pair_ids(file: Path) -> Iterator[pl.Series]:
    """Yield the ids of the rows of a file of lines, some thousands at a time; "" where one has none."""
    with file.open("rb") as lines:
        while block := lines.read(_BLOCK) + lines.readline():
            if file.suffix == ".tsv":
                ids = pl.read_csv(block, separator="\t", has_header=False, columns=[0]).to_series()
                yield ids.filter(ids != "query-id")
            elif file.suffix == ".json":
                block = block.removeprefix(SQUAD.head).removesuffix(SQUAD.tail).replace(b"},\n", b"}\n")
                paragraphs = pl.read_ndjson(block, schema=_DOCUMENT)["paragraphs"].explode()
                questions = paragraphs.struct.field("qas").explode()
                yield questions.struct.field("pair_id").fill_null("")
            else:
                yield pl.read_ndjson(block, schema=_LINE)["pair_id"].fill_null("")


def _other_messages(
    question: str,
    answers: Collection[str],
    messages: Sequence[MessageStruct] | None,
    chunk_ids: Sequence[str] | None,
    passages: Mapping[str, Passage],
    system_prompts: Sequence[str],
) -> str | None:
    """Return what messages have that question, answers, passages and system prompts do not give."""
    if messages is None or chunk_ids is None:
        alone = (messages is None) != (chunk_ids is None)
        return "has messages without passages, or passages alone" if alone else None
    if [message["role"] for message in messages] != ["system", "user", "assistant"]:
        return f"has other messages than system, user and assistant: {len(messages)}"
    system, user, assistant = (message["content"] for message in messages)
    if system not in system_prompts:
        return f"has a system message that {MANIFEST} does not name"
    if assistant not in answers:
        return "has another answer in its messages"
    if all(chunk_id in passages for chunk_id in chunk_ids):
        expected = user_message([passages[chunk_id] for chunk_id in chunk_ids], question)
        return None if user == expected else "asks something else than its question and passages"
    # without the texts: the head of each passage cannot be known either
    return None if user.endswith(f"\n\n{question}") else "asks something else than its question"


def _is_document_id(piece: EvidenceStruct) -> bool:
    """Return whether the id of a document is that of its bytes, or of bytes and path."""
    sha256, path = piece["content_sha256"] or "", piece["path"] or ""
    with_path = hash_text(f"{sha256}\0{path}")
    # a path that is no UTF-8 is shown with a mark, and its id is made of its bytes
    return piece["document_id"] in (sha256[:32], with_path[:32]) or "\ufffd" in path
