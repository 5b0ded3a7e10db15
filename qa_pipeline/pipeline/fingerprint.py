"""Fingerprints of batches, to skip unchanged batches before models or Dagster are loaded."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.withdrawals import files_of_batch, forgotten_documents, note_origin, tombstone_of
from qa_pipeline.errors import QAPipelineError, TransientModelError
from qa_pipeline.pipeline.outcomes import BLOCKED, BatchOutcome
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import batch_files
from qa_pipeline.pipeline.versions import SETTINGS, code_version
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file, hash_json
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import SCHEMA_VERSION, STORED


class Finished(BaseModel):
    """The state of a batch after its last run: fingerprint of its inputs, and hash of each output file."""

    fingerprint: str
    files: dict[str, str]
    outcome: BatchOutcome


def batch_fingerprint(resources: Resources, batch: str) -> str:
    """Return a hash of everything that affects a batch's results; all its files are read.

    Raises:
        CorpusError: the batch does not exist, or cannot be read completely.
        InputError: the list of forgotten documents is damaged.
        SettingsError: a file named by the settings is unusable.
    """
    settings, layout = resources.settings, resources.layout
    people = (layout.decisions(batch), layout.added_pairs(batch))
    facts = {
        "documents": batch_files(resources, batch).fingerprint(),
        "forgotten": sorted(forgotten_documents(layout)),
        "people": [hash_file(path) for path in people if path.is_file()],
        "settings": [code_version(name, settings) for name in SETTINGS],
        "code": _hash_code(),
        "schema": SCHEMA_VERSION,
    }
    return hash_json(facts)


def unchanged_outcomes(resources: Resources, batches: Sequence[str]) -> dict[str, BatchOutcome]:
    """Return the outcomes of batches that a run would not change, or that are unreadable.

    Output files are compared by their hash, without reading them as tables.
    """
    outcomes = {}
    for batch in batches:
        try:
            fingerprint = batch_fingerprint(resources, batch)
        except QAPipelineError as error:
            outcomes[batch] = BatchOutcome(batch, "failed", str(error))
            continue
        outcome = _noted_outcome(resources.layout, batch, fingerprint)
        if outcome is not None:
            note_origin(resources.layout, batch, resources.settings.corpus)
            outcomes[batch] = outcome
    return outcomes


def _noted_outcome(layout: Layout, batch: str, fingerprint: str) -> BatchOutcome | None:
    """Return the recorded outcome of a batch, if its inputs, output files and withdrawal are unchanged."""
    try:
        finished = Finished.model_validate_json(layout.finished(batch).read_bytes())
        is_same = finished.fingerprint == fingerprint and finished.files == _files(layout, batch)
    except (OSError, ValidationError):  # the run reports damaged tables
        return None
    if not is_same:
        return None
    tombstone = tombstone_of(layout, batch)
    if tombstone is None:
        return replace(finished.outcome, outcome="unchanged") if finished.outcome.passed else None
    is_blocked = tombstone.reason == "gate_failed" and not finished.outcome.passed
    return finished.outcome if is_blocked else None


def note_finished(layout: Layout, outcome: BatchOutcome, fingerprint: str) -> None:
    """Record the state of a batch, unless another run may change it.

    A failed batch is recorded only if a gate blocks it. A batch with rows whose model was unavailable is not
    recorded.
    """
    batch = outcome.batch
    if (outcome.passed or outcome.error == BLOCKED) and not _is_unanswered(layout, batch):
        finished = Finished(fingerprint=fingerprint, files=_files(layout, batch), outcome=outcome)
        write_bytes(layout.finished(batch), finished.model_dump_json().encode())


def _files(layout: Layout, batch: str) -> dict[str, str]:
    files = [path for path in files_of_batch(layout, batch) if path.is_file()]
    return {path.relative_to(layout.out).as_posix(): hash_file(path) for path in files}


@cache
def _hash_code() -> str:
    """Hash the package's files, since the version of a checkout does not change with its code."""
    package = Path(__file__).parents[1]
    total = sha256()
    for file in sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        total.update(f"{file.relative_to(package)} {hash_file(file)}\n".encode())
    return total.hexdigest()


def _is_unanswered(layout: Layout, batch: str) -> bool:
    """Return True if a table has rows whose model was unavailable."""
    for table in STORED.values():
        reasons = [name for name in table.schema if name == "reason" or name.endswith("_reason")]
        path = layout.table(table.name, batch)
        if reasons and path.is_file():
            rows = read_table(path, table, reasons)
            unreached = pl.any_horizontal(pl.col(reasons) == TransientModelError.reason)
            if rows.filter(unreached).height:
                return True
    return False
