"""Forget documents: delete the tables, exports and caches of their batches. The next run rebuilds them."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.withdrawals import files_of_batch, forgotten_documents, withdraw_forgotten
from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.reply_database import Database
from qa_pipeline.llm.reply_store import erase as erase_replies
from qa_pipeline.llm.reply_store import versions_of
from qa_pipeline.storage.files import delete, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DOCUMENTS, PAIRS, QUESTIONS
from qa_pipeline.text.rendering import first_names

SHORTEST_NAME = 6
"""Minimum length of a hash prefix that identifies a document. Shorter prefixes are often ambiguous."""
_ID_LENGTH = 32  # hex digits: a document id is a prefix of the content hash
_NAMING = ((CHUNKS, "chunk_id"), (QUESTIONS, "question_id"), (PAIRS, "pair_id"), (CLAIMS, "pair_id"))
"""Tables with rows that may mention a document, and the column by which later tables refer to these rows."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The documents to delete: their rows, the ids of all their versions, and their batches."""

    rows: pl.DataFrame
    ids: list[str]
    batches: list[str]

    @property
    def paths(self) -> list[str]:
        """Return the `batch/path` of each document, sorted."""
        return sorted({f"{batch}/{path}" for batch, path in self.rows.select("batch", "path").iter_rows()})

    @property
    def contents(self) -> list[str]:
        """Return the content hashes, sorted."""
        return sorted(set(self.rows["content_sha256"]))


def find_documents(layout: Layout, name: str, database: Database | None) -> Occurrences:
    """Find the documents that a name refers to, with copies in other batches and earlier versions.

    Args:
        layout: the output folder.
        name: a path, `batch/path`, an id, a hash, or a prefix of an id or hash.
        database: the store of replies, which knows earlier versions; None if there is no store.

    Raises:
        InputError: the name is unknown or ambiguous.
    """
    columns = ("document_id", "content_sha256", "batch", "path", "text", "language")
    tables = [read_table(path, DOCUMENTS) for path in layout.tables(DOCUMENTS.name)]
    documents = pl.concat([DOCUMENTS.empty(), *tables]).select(columns).drop_nulls("content_sha256")
    full_path = pl.concat_str("batch", pl.lit("/"), "path")
    begins = pl.any_horizontal(pl.col("document_id", "content_sha256").str.starts_with(name))
    rows = documents.filter((full_path == name) | (pl.col("document_id") == name))
    if rows.is_empty():
        rows = documents.filter((pl.col("path") == name) | (begins & (len(name) >= SHORTEST_NAME)))
    paths = sorted(set(rows.select(full_path).to_series()))
    if rows["content_sha256"].n_unique() > 1 and len(paths) > 1:
        raise InputError(
            f"{len(paths)} documents are called {name!r}: {first_names(paths)}; give batch and path"
        )
    ids: set[str] = set()
    if database is not None:
        for version in {name, *paths}:
            ids.update(document for document, _, _ in versions_of(database, version))
    if rows.is_empty() and not ids:
        raise unknown_document(documents, name)
    rows = documents.filter(
        full_path.is_in(paths) | pl.col("content_sha256").is_in(rows["content_sha256"].implode())
    )
    # batches with the named document last, so that an interrupted command can find it again
    batches = sorted(set(rows["batch"]), key=lambda batch: any(of.startswith(f"{batch}/") for of in paths))
    ids |= {*rows["document_id"], *rows["content_sha256"].str.head(_ID_LENGTH)}
    return Occurrences(rows, sorted(ids), batches)


def unknown_document(documents: pl.DataFrame, name: str) -> InputError:
    """Build the error for an unknown name. It lists existing names."""
    paths = documents.select(pl.concat_str("batch", pl.lit("/"), "path")).to_series()
    if paths.is_empty():
        advice = "there are no documents; run qa-pipeline run CORPUS first, or name its folder with --out"
    else:
        advice = f"give a path or an id as table documents has it; there are {first_names(paths.to_list())}"
    return InputError(f"no document is called {name!r}; {advice}")


def erase_documents(layout: Layout, occurrences: Occurrences, database: Database | None) -> int:
    """Delete the documents and everything made from them, and return the number of erased replies.

    The order of the steps allows a rerun to finish an interrupted command.

    Raises:
        TableError: a table cannot be read. The files of its batch are not deleted.
        InputError: a file with decisions, added pairs or forgotten documents is damaged.
        ReplyStoreError: the store cannot be used.
        StorageError: a file cannot be written or deleted.
    """
    hashes = sorted({*forgotten_documents(layout), *occurrences.contents})
    lines = (f"{json.dumps({'content_sha256': content_hash})}\n" for content_hash in hashes)
    write_bytes(layout.forgotten, "".join(lines).encode())
    erased = 0 if database is None else erase_replies(database, occurrences.ids)
    for batch in occurrences.batches:
        _drop_decisions(layout, batch, occurrences)
        withdraw_forgotten(layout, batch)
        _delete(path for path in files_of_batch(layout, batch) if path != layout.table(DOCUMENTS.name, batch))
    for path in (
        *layout.uploads.glob("added/*.jsonl"),
        *layout.uploads.glob("documents/*/asked/added/*.jsonl"),
    ):
        _keep_lines(path, lambda line: not any(content in str(line) for content in occurrences.contents))
    for content in occurrences.contents:
        _delete(layout.uploads.glob(f"documents/{content}*"))
    # vectors and logits are keyed by text hashes, so their documents are unknown: delete all
    for store in (layout.vectors, layout.logits):
        _delete(store.with_name(f"{store.name}{end}") for end in ("", "-wal", "-shm"))
    _delete(path for path in layout.out.rglob(".*.tmp") if layout.releases not in path.parents)
    # the documents tables last: a rerun finds the batches in them
    _delete(layout.table(DOCUMENTS.name, batch) for batch in occurrences.batches)
    return erased


def _drop_decisions(layout: Layout, batch: str, occurrences: Occurrences) -> None:
    """Delete decisions about pairs that mention a forgotten document or were removed."""
    words = {*occurrences.contents, *occurrences.ids}
    pair_ids: set[str] | None = None
    for table, key in _NAMING:
        path = layout.table(table.name, batch)
        if not path.is_file():  # an interrupted command deleted the decisions first, then this table
            continue
        rows = read_table(path, table)
        lines = pl.Series(rows.write_ndjson().splitlines(), dtype=pl.String())
        words.update(rows.filter(lines.str.contains_any(sorted(words)))[key])
        pair_ids = set(rows[key]) if table is PAIRS else pair_ids

    def stays(decision: dict[str, Any]) -> bool:
        exists = pair_ids is None or decision["pair_id"] in pair_ids
        return exists and decision["pair_id"] not in words

    _keep_lines(layout.decisions(batch), stays)


def _keep_lines(path: Path, keeps: Callable[[dict[str, Any]], bool]) -> None:
    """Delete the JSON lines of a file for which `keeps` returns False."""
    if not path.is_file():
        return
    lines = path.read_bytes().splitlines(keepends=True)
    try:
        remaining = [line for line in lines if keeps(json.loads(line))]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read; repair it or restore it from a backup") from error
    if len(remaining) < len(lines):
        write_bytes(path, b"".join(remaining))


def _delete(paths: Iterable[Path]) -> None:
    for path in list(paths):
        try:
            delete(path)
        except OSError as error:
            raise StorageError(
                f"cannot delete {path}: {error.strerror or error}; delete it, run again"
            ) from error
