"""Forget documents: delete the tables, exports and caches of their batches. The next run rebuilds them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.curation.withdrawals import files_of_batch, forgotten_documents, withdraw
from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.reply_database import Database
from qa_pipeline.llm.reply_store import erase as erase_replies
from qa_pipeline.llm.reply_store import versions_of
from qa_pipeline.storage.files import delete, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DOCUMENTS, PAIRS, QUESTIONS
from qa_pipeline.text.rendering import first_names

_ID_LENGTH = 32  # hex digits: a document id is a prefix of the content hash
_FULL_PATH = pl.concat_str("batch", pl.lit("/"), "path")
_DERIVED = ((CHUNKS, "chunk_id"), (QUESTIONS, "question_id"), (PAIRS, "pair_id"), (CLAIMS, "pair_id"))
"""Tables with rows that may mention a document, and the column by which later tables refer to these rows."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The documents to delete.

    `paths` has `batch/path` of each, `contents` the content hashes, and `ids` the ids of all their versions.
    """

    paths: list[str]
    contents: list[str]
    ids: list[str]
    batches: list[str]


def find_documents(layout: Layout, name: str, database: Database | None) -> Occurrences:
    """Find the documents that a name refers to, with copies in other batches and earlier versions.

    The name is a path, `batch/path`, an id or a content hash. The store of replies knows earlier versions.

    Raises:
        InputError: the name is unknown or ambiguous.
    """
    columns = ("document_id", "content_sha256", "batch", "path")
    tables = [read_table(path, DOCUMENTS, columns) for path in layout.tables(DOCUMENTS.name)]
    documents = pl.concat([DOCUMENTS.empty().select(columns), *tables]).drop_nulls("content_sha256")
    is_called = pl.any_horizontal(pl.col("path", "document_id", "content_sha256") == name)
    named = documents.filter(is_called | (name == _FULL_PATH))
    named_paths = sorted(set(named.select(_FULL_PATH).to_series()))
    if named["content_sha256"].n_unique() > 1 and len(named_paths) > 1:
        raise InputError(f"several documents match {name!r}: {first_names(named_paths)}; give batch and path")
    ids: set[str] = set()
    if database is not None:
        for version in {name, *named_paths}:
            ids.update(document_id for document_id, _, _ in versions_of(database, version))
    if named.is_empty() and not ids:
        raise InputError(f"no document is called {name!r}; name one that qa-pipeline run has read")
    has_same_content = pl.col("content_sha256").is_in(named["content_sha256"].implode())
    rows = documents.filter(_FULL_PATH.is_in(named_paths) | has_same_content)
    contents = sorted(set(rows["content_sha256"]))
    ids |= {*rows["document_id"], *(content[:_ID_LENGTH] for content in contents)}
    # batches with the named document last, so that an interrupted command can find it again
    named_batches = set(named["batch"])
    batches = sorted(set(rows["batch"]), key=lambda batch: (batch in named_batches, batch))
    return Occurrences(sorted(rows.select(_FULL_PATH).to_series()), contents, sorted(ids), batches)


def erase_documents(layout: Layout, occurrences: Occurrences, database: Database | None) -> int:
    """Delete the documents and everything made from them, and return the number of erased replies.

    The order of the steps allows a rerun to finish an interrupted command.

    Raises:
        TableError: a table or the decisions cannot be read. The files of its batch are not deleted.
        InputError: the list of forgotten documents is damaged.
        StorageError: the store cannot be used.
        StorageError: a file cannot be written or deleted.
    """
    hashes = sorted({*forgotten_documents(layout), *occurrences.contents})
    lines = (f"{json.dumps({'content_sha256': content_hash})}\n" for content_hash in hashes)
    write_bytes(layout.forgotten, "".join(lines).encode())
    erased = 0 if database is None else erase_replies(database, occurrences.ids)
    for batch in occurrences.batches:
        _delete_decisions(layout, batch, occurrences)
        withdraw(layout, batch, "document_forgotten", {})
        _delete(path for path in files_of_batch(layout, batch) if path != layout.table(DOCUMENTS.name, batch))
    for content in occurrences.contents:
        _delete(layout.uploads.glob(f"documents/{content}*"))
    # vectors and logits are keyed by text hashes, so their documents are unknown: delete all
    vectors = layout.vectors
    _delete(vectors.with_name(f"{vectors.name}{end}") for end in ("", "-wal", "-shm"))
    _delete(path for path in layout.out.rglob(".*.tmp") if layout.releases not in path.parents)
    # the documents tables last: a rerun finds the batches in them
    _delete(layout.table(DOCUMENTS.name, batch) for batch in occurrences.batches)
    return erased


def _delete_decisions(layout: Layout, batch: str, occurrences: Occurrences) -> None:
    """Delete decisions about pairs that mention a forgotten document or were removed.

    A pair mentions it indirectly too: by the ids of its chunks, or of questions about them.
    """
    if not layout.table(PAIRS.name, batch).is_file():  # an interrupted command has deleted the decisions
        return
    forgotten = {*occurrences.contents, *occurrences.ids}
    for table, key in _DERIVED:
        path = layout.table(table.name, batch)
        if path.is_file():
            rows = read_table(path, table)
            # a row may mention a forgotten id in any column
            lines = pl.Series(rows.write_ndjson().splitlines(), dtype=pl.String())
            forgotten.update(rows.filter(lines.str.contains_any(sorted(forgotten)))[key])
    pair_ids = set(read_table(layout.table(PAIRS.name, batch), PAIRS, ["pair_id"])["pair_id"]) - forgotten
    decisions = read_decisions(layout.decisions(batch))
    remaining = decisions.filter(pl.col("pair_id").is_in(pair_ids))
    if remaining.height < decisions.height:
        write_bytes(layout.decisions(batch), remaining.write_ndjson().encode())


def _delete(paths: Iterable[Path]) -> None:
    for path in list(paths):
        try:
            delete(path)
        except OSError as error:
            raise StorageError(
                f"cannot delete {path}: {error.strerror or error}; delete it, run again"
            ) from error
