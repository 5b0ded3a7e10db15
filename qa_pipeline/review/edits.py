"""An edit of a pair, verified by the local steps before it is saved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.ledger import recorded_deciding
from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_import import with_edited_pairs
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import score_claims
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import (
    CHUNKS,
    DECISIONS,
    DOCUMENTS,
    EMBEDDINGS,
    PAIRS,
    VERDICTS,
)
from qa_pipeline.verification.llm_verifier import verify_claims


def recorded_resources(layout: Layout, batch: str, earlier: Resources | None = None) -> Resources:
    """Return models and settings: those in force, but those that decided about a batch, and its corpus.

    The embedding model is that of `earlier`, where there are such: settings of a process do not change.

    Raises:
        InputError: the batch was embedded by another model.
        TableError: its tables cannot be read.
        SettingsError: the settings cannot be used.
    """
    ids = read_table(layout.table(VERDICTS.name, batch), VERDICTS, ["thresholds_id"])["thresholds_id"]
    recorded: dict[str, Any] = recorded_deciding(layout, ids[0]) if ids.len() else {}
    origin = layout.origin(batch)
    if origin.is_file():
        recorded["corpus"] = origin.read_text(encoding="utf-8")
    embedder = earlier.embedder.inner if earlier else None
    resources = Resources(load_settings(out=layout.out, **recorded), embedder=embedder)
    names = read_table(layout.table(EMBEDDINGS.name, batch), EMBEDDINGS, ["model"])["model"].unique()
    if names.len() and resources.embedder.model not in names:
        raise InputError(
            f"batch {batch} was embedded by {names[0]}, and the settings name {resources.embedder.model}; "
            "start this command with the settings of the run (embedding.model)"
        )
    return resources


@dataclass(frozen=True, slots=True)
class VerifiedEdit:
    """A pair as a person's edit makes it, with its claims as the local steps decide them."""

    pair: pl.DataFrame
    claims: pl.DataFrame
    claim_verdicts: pl.DataFrame


def verify_edit(
    resources: Resources, frames: Callable[[str], pl.DataFrame], decision: Mapping[str, Any]
) -> VerifiedEdit:
    """Verify the pair that an edit would become; nothing is written.

    Args:
        resources: settings and local models.
        frames: returns a table of the batch by its name.
        decision: the edit, a row of decisions.

    Raises:
        TableError: tables cannot be read.
    """
    documents, chunks, embeddings = (frames(table.name) for table in (DOCUMENTS, CHUNKS, EMBEDDINGS))
    old = frames(PAIRS.name).filter(pl.col("pair_id") == decision["pair_id"])
    edit = DECISIONS.frame([decision])
    pair = with_edited_pairs(old, edit, documents, chunks, decision["batch"]).tail(1)
    claims = score_claims(resources, pair, documents, chunks, embeddings)
    decided = verify_claims(claims, pair, documents, chunks, resources.settings.verification)
    return VerifiedEdit(pair, claims, decided)
