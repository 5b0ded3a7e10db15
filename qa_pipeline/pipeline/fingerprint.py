"""Outcomes and fingerprints of batches, and code versions of assets, to find outdated results.

Unchanged batches are skipped before models or Dagster are loaded. The UI marks an asset as outdated when its
code version changes. Settings that only affect speed or duration (workers, time limits, caps) are excluded.
Otherwise raising a cap would mark everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Literal, cast

import polars as pl
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.batch_gates import unjudged_pairs
from qa_pipeline.curation.withdrawals import files_of_batch, forgotten_documents, note_origin, tombstone_of
from qa_pipeline.documents.parsing import ONLY_SPEED
from qa_pipeline.errors import QAPipelineError, ServerUnavailableError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import batch_files
from qa_pipeline.prompts.loading import SYSTEM_PROMPTS, PromptName, load_prompt, part_text
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.hashes import hash_file, hash_json
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import SCHEMA_VERSION, STORED
from qa_pipeline.text.lexicon.languages import LANGUAGES

_WITHOUT_EFFECT = {
    "documents": set(ONLY_SPEED),
    "llm": {
        *("workers", "timeout_seconds", "max_tries", "wait_minutes", "requests_per_minute"),
        *("budget", "store"),
        "prompts",  # the text of each prompt counts, not its folder
    },
}
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "documents": ("documents",),
    "chunks": ("chunking", "embedding"),
    "embeddings": ("embedding",),
    "index": (),
    "questions": ("generation", "retrieval", "embedding", "llm"),
    "pairs": ("generation", "llm", "embedding", "documents.masking"),
    "claims": ("embedding", "verification", "llm"),
    "claim_verdicts": ("verification", "llm"),
    "canaries": ("canaries", "embedding", "verification", "judging", "llm"),
    "assessments": ("judging", "verification", "llm"),
    "verdicts": ("verification", "judging"),
    "training_examples": ("training", "embedding", "quality"),  # a gate may pass with another limit
    "llm_calls": (),
    "gates": ("quality",),
    "release": ("quality", "release"),
    "production_quality": ("embedding", "verification"),
}
"""Groups of settings that affect an asset."""
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "questions": ("questions", "questions_quoted", "standalone"),
    "pairs": ("validate_reference", "guard", "answer"),
    "claims": ("split",),
    "claim_verdicts": ("verify",),
    "canaries": ("verify", "judge"),
    "assessments": ("judge", "answer", "compare"),
    "training_examples": SYSTEM_PROMPTS,
}
"""Prompts that affect an asset."""


def code_version(asset: str, settings: Settings) -> str:
    """Return the package version and a hash of the settings and prompts that an asset depends on."""
    inputs = {
        "settings": {group: _group_values(settings, group) for group in SETTINGS[asset]},
        "prompts": {
            f"{language}/{name}": _prompt_version(language, name, settings)
            for name in PROMPTS.get(asset, ())
            for language in LANGUAGES
        },
    }
    try:
        version = metadata.version("qa-pipeline")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        version = "checkout"
    return f"{version}-{hash_json(inputs)[:12]}"


def _prompt_version(language: str, name: str, settings: Settings) -> str:
    if name in SYSTEM_PROMPTS:
        return part_text(language, name)
    return load_prompt(language, cast("PromptName", name), settings.llm).hash


def _group_values(settings: Settings, group: str) -> dict[str, object]:
    values: dict[str, object]
    values = attrgetter(group)(settings).model_dump(mode="json", exclude=_WITHOUT_EFFECT.get(group))
    if group == "verification":  # the content of a thresholds file counts, not its path
        values["thresholds"] = settings.verification.fitted.full_id
    return values


BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"
NO_ROWS = "no pair was accepted"
WARNING = "warning: "  # prefix of a message about a gate that does not block


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of a batch's run.

    Args:
        batch: its name.
        outcome: succeeded, failed, or empty (all pairs were rejected). An unchanged batch was skipped, and a
            waiting batch has verified pairs that still need a decision by people or a judge.
        error: the reason for a failure, or for waiting.
        failed_gates: messages of failed gates, warnings included.
    """

    batch: str
    outcome: Literal["succeeded", "empty", "failed", "unchanged", "waiting"]
    error: str | None = None
    failed_gates: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return True unless the batch failed: its tables are complete and its blocking gates pass."""
        return self.outcome != "failed"


def passed_outcome(batch: str, verdicts: pl.DataFrame, warnings: tuple[str, ...]) -> BatchOutcome:
    """Return the outcome of a batch that passes its blocking gates."""
    if unjudged := unjudged_pairs(verdicts):
        pairs = "1 verified pair waits" if unjudged == 1 else f"{unjudged} verified pairs wait"
        advice = "record what people decide with qa-pipeline decide, and run again"
        return BatchOutcome(batch, "waiting", f"{pairs} for a judge; {advice}", warnings)
    gives_row = (pl.col("verdict") == "accepted") & pl.col("expected_verdict").is_null()
    if not verdicts.filter(gives_row).height:
        return BatchOutcome(batch, "empty", NO_ROWS, warnings)
    return BatchOutcome(batch, "succeeded", failed_gates=warnings)


class Finished(BaseModel):
    """The state of a batch after its last run: fingerprint of its inputs, and hash of each output file."""

    fingerprint: str
    files: dict[str, str]
    outcome: BatchOutcome


def batch_fingerprint(resources: Resources, batch: str) -> str:
    """Return a hash of everything that affects a batch's results; all its files are read.

    Raises a CorpusError if the batch is missing or unreadable, an InputError if the list of forgotten
    documents is damaged, and a SettingsError if a file named by the settings is unusable.
    """
    settings, layout = resources.settings, resources.layout
    decisions = layout.decisions(batch)
    facts = {
        "documents": batch_files(resources, batch).fingerprint(),
        "forgotten": sorted(forgotten_documents(layout)),
        "decisions": hash_file(decisions) if decisions.is_file() else None,
        "settings": [code_version(name, settings) for name in SETTINGS],
        "code": _hash_code(),
        "schema": SCHEMA_VERSION,
    }
    return hash_json(facts)


def unchanged_outcomes(resources: Resources, batches: Sequence[str]) -> dict[str, BatchOutcome]:
    """Return the outcomes of batches that a run would not change, by the hashes of files, or cannot read."""
    outcomes = {}
    for batch in batches:
        try:
            fingerprint = batch_fingerprint(resources, batch)
        except QAPipelineError as error:
            outcomes[batch] = BatchOutcome(batch, "failed", str(error))
            continue
        outcome = _noted_outcome(resources.layout, batch, fingerprint)
        if outcome is not None:
            note_origin(resources.layout, batch, resources.settings.corpus)  # the corpus may have moved
            outcomes[batch] = outcome
    return outcomes


def _noted_outcome(layout: Layout, batch: str, fingerprint: str) -> BatchOutcome | None:
    """Return the recorded outcome of a batch, if another run with this fingerprint would not change it.

    A batch that passed is unchanged unless it was withdrawn since then. A failed batch is recorded only if a
    gate blocks it, and keeps this outcome while it is withdrawn for this reason.
    """
    try:
        finished = Finished.model_validate_json(layout.finished(batch).read_bytes())
        is_same = finished.fingerprint == fingerprint and finished.files == _file_hashes(layout, batch)
    except (OSError, ValidationError):  # the run reports damaged tables
        return None
    if not is_same:
        return None
    outcome, tombstone = finished.outcome, tombstone_of(layout, batch)
    if outcome.passed:
        return replace(outcome, outcome="unchanged") if tombstone is None else None
    is_still_blocked = tombstone is not None and tombstone.reason == "gate_failed"
    return outcome if is_still_blocked else None


def note_finished(layout: Layout, outcome: BatchOutcome, fingerprint: str) -> None:
    """Record the state of a batch, unless another run may change it.

    A failed batch is recorded only if a gate blocks it, and no batch with rows of an unavailable model.
    """
    batch = outcome.batch
    if (outcome.passed or outcome.error == BLOCKED) and not _is_unanswered(layout, batch):
        finished = Finished(fingerprint=fingerprint, files=_file_hashes(layout, batch), outcome=outcome)
        write_bytes(layout.finished(batch), finished.model_dump_json().encode())


def _file_hashes(layout: Layout, batch: str) -> dict[str, str]:
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
        reason_columns = [name for name in table.schema if name == "reason" or name.endswith("_reason")]
        path = layout.table(table.name, batch)
        if reason_columns and path.is_file():
            rows = read_table(path, table, reason_columns)
            unreached = pl.any_horizontal(pl.col(reason_columns) == ServerUnavailableError.reason)
            if rows.filter(unreached).height:
                return True
    return False
