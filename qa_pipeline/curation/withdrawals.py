"""Withdraw invalid training data, and record the reason in a tombstone.

Consumers train on the table training_examples. It exists only if it was built from the current verdicts of
its batch and the blocking gates pass. It is deleted before changed verdicts are written, and when a gate
fails. If a batch is removed from its corpus, its tables, index and exports are deleted. The next run that
passes writes them again from stored replies. Decisions of people are never deleted here.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.exports import LEDGER_FILES, VALIDATED
from qa_pipeline.errors import InputError
from qa_pipeline.settings.base import is_remote, location_of
from qa_pipeline.storage.files import delete, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import table_bytes
from qa_pipeline.storage.tables import STORED, TRAINING_EXAMPLES, VERDICTS

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
    return {path.stem: _read(path) for path in sorted(layout.tombstone("batch").parent.glob("*.json"))}


def tombstone_of(layout: Layout, batch: str) -> Tombstone | None:
    """Return the tombstone of a batch; None if it is not withdrawn."""
    path = layout.tombstone(batch)
    return _read(path) if path.is_file() else None


def note_gate(layout: Layout, batch: str, gate: str, problem: str | None) -> None:
    """Record the result of a blocking gate. A failure deletes the training examples of the batch.

    `problem` is the message of the gate, or None if it passes.
    """
    before = tombstone_of(layout, batch)
    failing = dict(before.details) if before and before.reason == "gate_failed" else {}
    if problem is not None:
        withdraw(layout, batch, "gate_failed", {**failing, gate: problem})
    elif failing.pop(gate, None) is not None:
        withdraw(layout, batch, "gate_failed" if failing else "being_rebuilt", failing)


def withdraw_outdated(layout: Layout, batch: str, verdicts: pl.DataFrame) -> None:
    """Delete the training examples of a batch if its new verdicts differ from the stored verdicts."""
    path = layout.table(VERDICTS.name, batch)
    is_published = layout.table(TRAINING_EXAMPLES.name, batch).is_file()
    if is_published and not (path.is_file() and path.read_bytes() == table_bytes(verdicts, VERDICTS)):
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
    for origin in sorted(layout.origin("batch").parent.glob("*.txt")):
        batch = origin.stem
        if batch in present or origin.read_text(encoding="utf-8") != _address(corpus):
            continue
        files = [file for file in files_of_batch(layout, batch) if file.is_file()]
        before = tombstone_of(layout, batch)
        if files or (before and before.reason != "batch_gone"):
            withdraw(layout, batch, "batch_gone", {"corpus": _address(corpus)})
            for file in files:
                delete(file)
            layout.finished(batch).unlink(missing_ok=True)


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
    delete(layout.table(TRAINING_EXAMPLES.name, batch))


def files_of_batch(layout: Layout, batch: str) -> list[Path]:
    """Return all files that a run of the batch writes, the training examples first."""
    tables = [TRAINING_EXAMPLES.name, *(name for name in STORED if name != TRAINING_EXAMPLES.name)]
    exports = [layout.export(name, batch) for name in (*LEDGER_FILES, VALIDATED)]
    return [*(layout.table(name, batch) for name in tables), *exports, layout.index(batch)]


def _address(corpus: str | Path) -> str:
    location = location_of(corpus)
    return location if is_remote(location) else str(Path(location).resolve())


def _read(path: Path) -> Tombstone:
    try:
        return Tombstone.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # an empty or damaged file withdraws too
        return Tombstone(reason="being_rebuilt")
