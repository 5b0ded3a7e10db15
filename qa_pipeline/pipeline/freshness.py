"""Is a batch as its last run left it? The facts that need no records of Dagster.

`run_batches` notes what each finished batch was made from and the files it came to, and leaves out a batch of
which neither has changed. `qa_pipeline.defs.staleness` asks the tables for work that is left to do.
"""

import json
from collections.abc import Collection
from functools import cache
from hashlib import sha256
from pathlib import Path

import polars as pl
import polars.selectors as cs
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.curation.forgetting import forgotten_documents
from qa_pipeline.curation.withdrawals import files_of_batch, tombstone_of
from qa_pipeline.errors import TableError, TransientModelError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import STAGES, batch_files
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file, hash_json
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import DECISIONS, PAIRS, SCHEMA_VERSION, STORED


class Finished(BaseModel):
    """The state of a batch when its last run ended.

    Args:
        basis: hash of all that it was made from.
        files: hash of each file that was made, by its path below the output folder.
        error: what the batch waits for.
        failed_gates: the warnings of its gates, or what blocks it.
        blocked: a gate blocks it.
    """

    basis: str
    files: dict[str, str] = {}
    error: str | None = None
    failed_gates: tuple[str, ...] = ()
    blocked: bool = False


def batch_basis(resources: Resources, batch: str) -> str:
    """Return a hash of all that decides what a run makes of a batch; every file of it is read.

    Raises:
        CorpusError: there is no such batch, or it cannot be read as a whole.
        InputError: the list of forgotten documents is damaged.
        SettingsError: a file that the settings name cannot be used.
    """
    settings, layout = resources.settings, resources.layout
    facts = {
        "documents": batch_files(resources, batch).fingerprint(),
        "forgotten": sorted(forgotten_documents(layout)),
        "people": [_hash_of(layout.decisions(batch)), _hash_of(layout.added_pairs(batch))],
        "settings": [code_version(step, settings) for step in (*STAGES, "gates")],
        "keep_prompts": settings.llm.store.keep_prompts,
        "code": _hash_code(),
        "schema": SCHEMA_VERSION,
    }
    return hash_json(facts)


def read_finished(layout: Layout, batch: str, basis: str) -> Finished | None:
    """Return the state of a batch that was made from `basis`, where all its files still are what they were.

    A file is compared by its content, so none has to be read as a table.
    """
    try:
        finished = Finished.model_validate_json(layout.finished(batch).read_bytes())
        is_same = finished.basis == basis and finished.files == _files(layout, batch)
    except (OSError, ValidationError):  # the batch is run, which reports what is wrong with a table
        return None
    stone = tombstone_of(layout, batch)
    is_as_noted = stone and stone.reason == "gate_failed" if finished.blocked else stone is None
    return finished if is_same and is_as_noted else None


def note_finished(resources: Resources, batch: str, finished: Finished) -> None:
    """Note the state of a batch with the files it came to, unless its next run has something left to do.

    Raises:
        StorageError: it cannot be written.
    """
    layout = resources.layout
    if unanswered(layout, batch, STAGES):
        return
    noted = finished.model_copy(update={"files": _files(layout, batch)})
    write_bytes(layout.finished(batch), noted.model_dump_json().encode())


def _files(layout: Layout, batch: str) -> dict[str, str]:
    files = [path for path in files_of_batch(layout, batch) if path.is_file()]
    return {path.relative_to(layout.out).as_posix(): hash_file(path) for path in files}


def _hash_of(path: Path) -> str | None:
    return hash_file(path) if path.is_file() else None


@cache
def _hash_code() -> str:
    """Hash the package: in a checkout, code changes while its version stays."""
    package = Path(__file__).parents[1]
    total = sha256()
    for file in sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        total.update(f"{file.relative_to(package)} {hash_file(file)}\n".encode())
    return total.hexdigest()


def lost_file(layout: Layout, batch: str, names: Collection[str]) -> str | None:
    """Return which file of the stages `names` is gone; None where all are there."""
    files = [layout.table(name, batch) for name in STORED if name in names]
    if "index" in names:
        files.append(layout.index(batch))
    return next((f"{file} is gone" for file in files if not file.is_file()), None)


def added_pairs(layout: Layout, batch: str) -> str | None:
    """Return how many pairs people added in the review app since the last run; None without any."""
    path = layout.added_pairs(batch)
    if not path.is_file():
        return None
    try:
        made = read_table(layout.table(PAIRS.name, batch), PAIRS)["source_id"]
    except TableError as error:
        return str(error)
    ids = [json.loads(line)["id"] for line in path.read_bytes().splitlines()]
    new = len(set(ids) - set(made.drop_nulls()))
    return f"pairs added since its last run: {new}" if new else None


def new_decisions(layout: Layout, batch: str) -> str | None:
    """Return how many decisions people recorded since the last run; None without any.

    The file itself is compared, for nobody reports it.
    """
    try:
        decided = read_table(layout.table(DECISIONS.name, batch), DECISIONS)
        recorded = read_decisions(layout.decisions(batch))
    except TableError as error:
        return str(error)
    new = recorded.join(decided, on="decision_id", how="anti").height
    return f"decisions recorded since its last run: {new}" if new else None


def unanswered(layout: Layout, batch: str, names: Collection[str]) -> str | None:
    """Return why rows are worth another run: the model could not be reached; None for other failures.

    Every stage of `names` that asks a model counts, whichever column of its table tells the reason.
    """
    asking = [stage.name for stage in STAGES.values() if stage.asks_a_model and stage.name in names]
    for table in (STORED[name] for name in asking):
        try:
            rows = read_table(layout.table(table.name, batch), table)
        except TableError as error:
            return str(error)
        unreached = cs.matches("^(.*_)?reason$") == TransientModelError.reason
        count = rows.filter(pl.any_horizontal(unreached)).height
        if count:
            return f"{count} rows of {table.name} wait for a model that could not be reached"
    return None
