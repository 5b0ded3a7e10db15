"""Withdraw invalid training data, and forget documents.

Consumers train on the table training_examples. It exists only if it was built from the current verdicts of
its batch and the blocking gates pass. It is deleted before changed verdicts are written, and when a gate
fails; a tombstone records the reason. If a batch is removed from its corpus, its tables, index and exports
are deleted. The next run that passes writes them again from stored replies. Decisions of people are deleted
only if they are about a forgotten document.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.curation.exports import LEDGER_FILES, VALIDATED
from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.reply_database import Database
from qa_pipeline.llm.reply_store import documents_named
from qa_pipeline.llm.reply_store import erase as erase_replies
from qa_pipeline.settings.base import is_remote, location_of
from qa_pipeline.storage import tables
from qa_pipeline.storage.files import delete, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, table_bytes
from qa_pipeline.text.rendering import first_names

Reason = Literal["gate_failed", "batch_gone", "being_rebuilt", "document_forgotten"]

MESSAGES: Mapping[Reason, str] = {
    "gate_failed": "a blocking gate failed",
    "batch_gone": "the corpus no longer holds this batch",
    "being_rebuilt": "its training examples have not been built yet from its present verdicts",
    "document_forgotten": "a document of it was forgotten; run the batch again",
}


class Tombstone(BaseModel):
    """The reason why a batch is withdrawn.

    `details` has the message of each failed gate by name, or the corpus of a removed batch.
    """

    reason: Reason
    details: dict[str, str] = {}

    def message(self) -> str:
        """Return the reason in words."""
        details = [f"{name}: {detail}" for name, detail in self.details.items()]
        return "; ".join([MESSAGES[self.reason], *details])


def withdrawn_batches(layout: Layout) -> dict[str, Tombstone]:
    """Return the tombstones of withdrawn batches, by batch name."""
    folder = layout.tombstone("any").parent  # the same for all batches
    return {path.stem: _read(path) for path in sorted(folder.glob("*.json"))}


def tombstone_of(layout: Layout, batch: str) -> Tombstone | None:
    """Return the tombstone of a batch; None if it is not withdrawn."""
    path = layout.tombstone(batch)
    return _read(path) if path.is_file() else None


def note_gate(layout: Layout, batch: str, gate: str, problem: str | None) -> None:
    """Record the result of a blocking gate. A failure withdraws the batch until its examples are rebuilt.

    `problem` is the message of the gate, or None if it passes.
    """
    before = tombstone_of(layout, batch)
    failing = dict(before.details) if before and before.reason == "gate_failed" else {}  # messages by gate
    if problem is not None:
        withdraw(layout, batch, "gate_failed", {**failing, gate: problem})
    elif gate in failing:  # the gate failed before, and passes now
        del failing[gate]
        withdraw(layout, batch, "gate_failed" if failing else "being_rebuilt", failing)


def withdraw_outdated(layout: Layout, batch: str, verdicts: pl.DataFrame) -> None:
    """Delete the training examples of a batch if its new verdicts differ from the stored verdicts."""
    path = layout.table(tables.VERDICTS.name, batch)
    is_published = layout.table(tables.TRAINING_EXAMPLES.name, batch).is_file()
    if is_published and not (path.is_file() and path.read_bytes() == table_bytes(verdicts, tables.VERDICTS)):
        withdraw(layout, batch, "being_rebuilt", {})


def forgotten_documents(layout: Layout) -> frozenset[str]:
    """Return the content hashes of forgotten documents, which must not return to tables or releases.

    Raises:
        InputError: the list is damaged. It is never treated as empty.
    """
    if not layout.forgotten.is_file():
        return frozenset()
    try:
        lines = layout.forgotten.read_text(encoding="utf-8").splitlines()
        return frozenset(str(json.loads(line)["content_sha256"]) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{layout.forgotten} is damaged; restore it, or write one line "
            f'{{"content_sha256": "..."}} for each document that must not come back'
        ) from error


def withdraw_missing(layout: Layout, corpus: str | Path, present: Collection[str]) -> None:
    """Delete all files of batches that were removed from this corpus.

    Batches of another corpus and batches whose pairs were only validated are kept. The corpus must have been
    listed successfully. `present` has all its batches, including those with unusable names.
    """
    address = _address(corpus)
    folder = layout.origin("any").parent  # has a file for each batch, with the address of its corpus
    for origin in sorted(folder.glob("*.txt")):
        batch = origin.stem
        if batch in present or origin.read_text(encoding="utf-8") != address:
            continue
        files = [file for file in files_of_batch(layout, batch) if file.is_file()]
        tombstone = tombstone_of(layout, batch)
        # withdrawn before for another reason, such as a failed gate; now it gets this reason
        has_outdated_reason = tombstone is not None and tombstone.reason != "batch_gone"
        if files or has_outdated_reason:
            withdraw(layout, batch, "batch_gone", {"corpus": address})
            for file in files:
                delete(file)
            layout.finished(batch).unlink(missing_ok=True)  # the batch runs again if it comes back


def note_origin(layout: Layout, batch: str, corpus: str | Path | None) -> None:
    """Record the corpus of a batch, or delete the record if `corpus` is None (only pairs were validated)."""
    path = layout.origin(batch)
    if corpus is None:
        path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_text(encoding="utf-8") != _address(corpus):
        write_bytes(path, _address(corpus).encode())


def end_withdrawal(layout: Layout, batch: str) -> None:
    """Delete the tombstone of a batch whose training examples were just written."""
    delete(layout.tombstone(batch))


def withdraw(layout: Layout, batch: str, reason: Reason, details: Mapping[str, str]) -> None:
    """Write the tombstone, then delete the training examples.

    In this order, every withdrawn batch has a reason, even after an interruption.
    """
    stone = Tombstone(reason=reason, details=dict(details))
    if stone != tombstone_of(layout, batch):
        write_bytes(layout.tombstone(batch), stone.model_dump_json(indent=2).encode() + b"\n")
    delete(layout.table(tables.TRAINING_EXAMPLES.name, batch))


def files_of_batch(layout: Layout, batch: str) -> list[Path]:
    """Return all files that a run of the batch writes, the training examples first."""
    names = dict.fromkeys([tables.TRAINING_EXAMPLES.name, *tables.STORED])
    exports = [layout.export(name, batch) for name in (*LEDGER_FILES, VALIDATED)]
    return [*(layout.table(name, batch) for name in names), *exports, layout.index(batch)]


def _address(corpus: str | Path) -> str:
    location = location_of(corpus)
    return location if is_remote(location) else str(Path(location).resolve())


def _read(path: Path) -> Tombstone:
    try:
        return Tombstone.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # an empty or damaged file withdraws too
        return Tombstone(reason="being_rebuilt")


_ID_LENGTH = 32  # hex digits: a document id is a prefix of the content hash
_KEYS = {"chunks": "chunk_id", "questions": "question_id", "pairs": "pair_id", "claims": "pair_id"}
"""Tables whose rows may mention a document, in their order, and the column by which later tables refer to
the rows: a forgotten document makes its chunks forgotten, these their questions, and so on."""


@dataclass(frozen=True, slots=True)
class DocumentsToDelete:
    """The documents to delete.

    `paths` has `batch/path` of each, `contents` the content hashes, and `ids` the ids of all their versions.
    """

    paths: list[str]
    contents: list[str]
    ids: list[str]
    batches: list[str]


def find_documents(layout: Layout, name: str, database: Database | None) -> DocumentsToDelete:
    """Find the documents that a name refers to, with copies in other batches and earlier versions.

    The name is a path, `batch/path`, an id or a content hash. The store of replies knows earlier versions.

    Raises:
        InputError: the name is unknown or ambiguous.
    """
    documents = _all_documents(layout)
    named = _documents_called(name, documents)
    named_paths = set(named["full_path"])
    stored_ids: set[str] = set()  # of all versions that the store of replies knows
    if database is not None:
        for known_name in {name, *named_paths}:
            stored_ids |= {document_id for document_id, _, _ in documents_named(database, known_name)}
    if named.is_empty() and not stored_ids:
        raise InputError(f"no document is called {name!r}; name one that qa-pipeline run has read")
    is_copy = pl.col("content_sha256").is_in(named["content_sha256"].implode())
    matches = documents.filter(pl.col("full_path").is_in(named_paths) | is_copy)
    contents = sorted(set(matches["content_sha256"]))
    ids = {*stored_ids, *matches["document_id"], *(sha256[:_ID_LENGTH] for sha256 in contents)}
    # `erase_documents` deletes tables in this order: those with the name last, so that a rerun can find it
    named_batches = set(named["batch"])
    batches = sorted(set(matches["batch"]), key=lambda batch: (batch in named_batches, batch))
    return DocumentsToDelete(sorted(matches["full_path"]), contents, sorted(ids), batches)


def _documents_called(name: str, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents with this path, batch/path, id or content hash; raises InputError for several."""
    names = pl.col("path", "full_path", "document_id", "content_sha256")
    called = documents.filter(pl.any_horizontal(names == name))
    paths = sorted(set(called["full_path"]))
    # several paths with a single content are copies, and a single path is one document
    if len(paths) > 1 and called["content_sha256"].n_unique() > 1:
        raise InputError(f"several documents match {name!r}: {first_names(paths)}; give batch and path")
    return called


def _all_documents(layout: Layout) -> pl.DataFrame:
    """Return id, content hash, batch, path and full_path (batch/path) of all documents that could be read."""
    columns = ("document_id", "content_sha256", "batch", "path")
    stored = [read_table(path, tables.DOCUMENTS, columns) for path in layout.tables(tables.DOCUMENTS.name)]
    documents = pl.concat([tables.DOCUMENTS.empty().select(columns), *stored]).drop_nulls("content_sha256")
    return documents.with_columns(full_path=pl.concat_str("batch", pl.lit("/"), "path"))


def erase_documents(layout: Layout, documents: DocumentsToDelete, database: Database | None) -> int:
    """Delete the documents and everything made from them, and return the number of erased replies.

    The order of the steps allows a rerun to finish an interrupted command.

    Raises:
        TableError: a table or the decisions cannot be read. The files of its batch are not deleted.
        InputError: the list of forgotten documents is damaged.
        StorageError: the store cannot be used, or a file cannot be written or deleted.
    """
    hashes = sorted({*forgotten_documents(layout), *documents.contents})
    lines = (f"{json.dumps({'content_sha256': content_hash})}\n" for content_hash in hashes)
    write_bytes(layout.forgotten, "".join(lines).encode())
    erased = 0 if database is None else erase_replies(database, documents.ids)
    for batch in documents.batches:
        _delete_decisions(layout, batch, documents)
        withdraw(layout, batch, "document_forgotten", {})
        documents_table = layout.table(tables.DOCUMENTS.name, batch)  # it is deleted last
        _delete(path for path in files_of_batch(layout, batch) if path != documents_table)
    for content_hash in documents.contents:
        _delete(layout.uploads.glob(f"documents/{content_hash}*"))
    # delete all vectors and logits, in files of SQLite: keyed by text hashes, they do not name documents
    _delete(layout.vectors.with_name(f"{layout.vectors.name}{suffix}") for suffix in ("", "-wal", "-shm"))
    # drafts of files that an interrupted writer left may contain text of a document; releases never change
    _delete(path for path in layout.out.rglob(".*.tmp") if layout.releases not in path.parents)
    # last, since a rerun after an interruption finds the batches in these tables
    _delete(layout.table(tables.DOCUMENTS.name, batch) for batch in documents.batches)
    return erased


def _delete_decisions(layout: Layout, batch: str, documents: DocumentsToDelete) -> None:
    """Delete decisions about pairs that mention a forgotten document or were removed.

    A pair mentions it indirectly too: by the ids of its chunks, or of questions about them.
    """
    pairs_path = layout.table(tables.PAIRS.name, batch)
    if not pairs_path.is_file():  # an interrupted command has deleted the decisions
        return
    forgotten = {*documents.contents, *documents.ids}  # each table adds the ids of its matching rows
    for name, key in _KEYS.items():
        path = layout.table(name, batch)
        if path.is_file():
            rows = read_table(path, tables.STORED[name])
            # a row may mention a forgotten id in any column
            lines = pl.Series(rows.write_ndjson().splitlines(), dtype=pl.String())
            forgotten.update(rows.filter(lines.str.contains_any(sorted(forgotten)))[key])
    kept_pairs = set(read_table(pairs_path, tables.PAIRS, ["pair_id"])["pair_id"]) - forgotten
    decisions = read_decisions(layout.decisions(batch))
    remaining = decisions.filter(pl.col("pair_id").is_in(kept_pairs))
    if remaining.height < decisions.height:
        write_bytes(layout.decisions(batch), remaining.write_ndjson().encode())


def _delete(paths: Iterable[Path]) -> None:
    for path in list(paths):
        try:
            delete(path)
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"cannot delete {path}: {reason}; delete it, run again") from error
