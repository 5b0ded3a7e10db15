"""People's decisions, put into the stored tables of a batch: no file is read anew and no model is asked.

A run does the same and more. Here documents, questions and drafts stay as stored, and so do the scores and
replies of every pair that nobody edited.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import EDITED, PERSON, overrule_claims
from qa_pipeline.curation.ledger import build_verdicts, recorded_deciding
from qa_pipeline.errors import InputError
from qa_pipeline.generation.deduplication import find_twins
from qa_pipeline.generation.edits import with_edited_pairs
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import BatchOutcome, StageObserver, no_observer, run_batch
from qa_pipeline.pipeline.stages import StageRun, score_claims
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_columns, read_table
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CANARIES,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DECISIONS,
    DOCUMENTS,
    EMBEDDINGS,
    LINKS,
    PAIRS,
    QUESTIONS,
    REFUSALS,
    ROUND_TRIPS,
    VERDICTS,
)
from qa_pipeline.verification.judging import assess_pairs
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.refusals import judge_refusals

_UNCHANGED = (DOCUMENTS, CHUNKS, EMBEDDINGS, LINKS, QUESTIONS, CANARIES)
"""Tables in which no decision of a person changes anything."""
_READ = (*_UNCHANGED, PAIRS, CLAIMS, CLAIM_VERDICTS, REFUSALS, ROUND_TRIPS, ASSESSMENTS)


def recorded_resources(layout: Layout, batch: str, earlier: Resources | None = None) -> Resources:
    """Return models and settings: those in force, but those that decided about a batch, and its corpus.

    The embedding model is that of `earlier`, where there are such: settings of a process do not change.

    Raises:
        InputError: the batch was embedded by another model.
        TableError: its tables cannot be read.
        SettingsError: the settings cannot be used.
    """
    ids = read_columns(layout.table(VERDICTS.name, batch), VERDICTS, ["thresholds_id"])["thresholds_id"]
    recorded: dict[str, Any] = (recorded_deciding(layout, ids[0]) if ids.len() else None) or {}
    origin = layout.origin(batch)
    if origin.is_file():
        recorded["corpus"] = origin.read_text(encoding="utf-8")
    embedder = earlier.embedder.inner if earlier else None
    resources = Resources(load_settings(out=layout.out, **recorded), embedder=embedder)
    names = read_columns(layout.table(EMBEDDINGS.name, batch), EMBEDDINGS, ["model"])["model"].unique()
    if names.len() and resources.embedder.model not in names:
        raise InputError(
            f"batch {batch} was embedded by {names[0]}, and the settings name {resources.embedder.model}; "
            "start this command with the settings of the run (embedding.model)"
        )
    return resources


@dataclass(frozen=True, slots=True)
class VerifiedEdit:
    """A pair as a person's edit makes it, verified by the local steps: a row of pairs and of verdicts."""

    pair: pl.DataFrame
    claims: pl.DataFrame
    claim_verdicts: pl.DataFrame
    verdict: pl.DataFrame


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
    settings = resources.settings
    claims = score_claims(resources, pair, documents, chunks, embeddings)
    claim_verdicts = verify_claims(claims, pair, documents, chunks, settings.verification)
    proofs = {"pairs": pair, "claims": claims, "claim_verdicts": claim_verdicts}
    verdict = build_verdicts(
        **proofs,
        twins=find_twins(pair),
        refusals=judge_refusals(pair, chunks, resources.embedder, embeddings=embeddings),
        assessments=_unjudged(resources, {**proofs, CHUNKS.name: chunks}),
        round_trips=ROUND_TRIPS.empty(),
        canaries=CANARIES.empty(),
        decisions=DECISIONS.empty(),
        verification=settings.verification,
        judging=settings.judging,
    )
    return VerifiedEdit(pair, claims, claim_verdicts, verdict)


def apply_decisions(resources: Resources, batch: str, watch: StageObserver = no_observer) -> BatchOutcome:
    """Take the decisions recorded about a batch into its tables, and write what follows from them.

    A claim that a person decided before and decides no more is decided by the local steps again; a model that
    had decided it is asked by the next run.

    Raises:
        QAPipelineError: tables cannot be read or written, or the corpus of the batch is gone or not known.
    """
    layout = resources.layout
    if not layout.origin(batch).is_file():
        raise InputError(
            f"the decisions about {batch} cannot be applied here: qa-pipeline validate made its tables, and "
            "does not record where its documents are; run it again as before, which takes them in"
        )
    stored = {table.name: read_table(layout.table(table.name, batch), table) for table in _READ}
    replaced: dict[str, Callable[[StageRun], Any]] = {"index": lambda _: None}
    replaced |= {table.name: functools.partial(_unchanged, stored[table.name]) for table in _UNCHANGED}
    replaced |= {name: functools.partial(step, stored) for name, step in _STEPS.items()}
    return run_batch(resources, batch, watch, replaced=replaced)


Stored = Mapping[str, pl.DataFrame]
"""Tables by name as the last run left them."""


def _unchanged(frame: pl.DataFrame, _: StageRun) -> pl.DataFrame:
    return frame


def _pairs(stored: Stored, run: StageRun) -> pl.DataFrame:
    unedited = stored[PAIRS.name].filter(pl.col("origin") != EDITED)
    return with_edited_pairs(unedited, run["decisions"], run["documents"], run["chunks"], run.batch)


def _new_pairs(stored: Stored, run: StageRun) -> pl.DataFrame:
    pairs: pl.DataFrame = run["pairs"]
    return pairs.join(stored[PAIRS.name], on="pair_id", how="anti")


def _claims(stored: Stored, run: StageRun) -> pl.DataFrame:
    new = _new_pairs(stored, run)
    scored = score_claims(run.resources, new, run["documents"], run["chunks"], run["embeddings"], run.notify)
    return _extended(stored[CLAIMS.name], scored, run["pairs"])


def _refusals(stored: Stored, run: StageRun) -> pl.DataFrame:
    resources, new = run.resources, _new_pairs(stored, run)
    judged = judge_refusals(new, run["chunks"], resources.embedder, embeddings=run["embeddings"])
    return _extended(stored[REFUSALS.name], judged, run["pairs"])


def _claim_verdicts(stored: Stored, run: StageRun) -> pl.DataFrame:
    """Decide the claims that are new or that a person decided; then let people overrule."""
    claims, pairs = run["claims"], run["pairs"]
    decided = stored[CLAIM_VERDICTS.name].filter(pl.col("decided_by") != PERSON)
    undecided = claims.join(decided, on="claim_id", how="anti")
    local = verify_claims(
        undecided, pairs, run["documents"], run["chunks"], run.resources.settings.verification
    )
    verdicts = pl.concat([decided, local])
    ordered = claims.select("claim_id").join(verdicts, on="claim_id", maintain_order="left")
    return overrule_claims(ordered.select(verdicts.columns), claims, pairs, run["decisions"])


def _round_trips(stored: Stored, run: StageRun) -> pl.DataFrame:
    grounding = run.resources.settings.verification.accept_grounding
    made = make_round_trips(**run.inputs, accept_grounding=grounding)
    return _as_stored(made, stored[ROUND_TRIPS.name])


def _assessments(stored: Stored, run: StageRun) -> pl.DataFrame:
    return _as_stored(_unjudged(run.resources, run.inputs), stored[ASSESSMENTS.name])


def _unjudged(resources: Resources, inputs: Mapping[str, Any]) -> pl.DataFrame:
    """Return the assessments of the pairs that pass source verification, without a judge."""
    settings = resources.settings
    return assess_pairs(
        **inputs,
        model=None,
        settings=settings.judging,
        accept_grounding=settings.verification.accept_grounding,
        llm=settings.llm,
    )


def _extended(stored: pl.DataFrame, new: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of both that are about pairs, in the order of these."""
    rows = pl.concat([stored, new])
    return pairs.select("pair_id").join(rows, on="pair_id", maintain_order="left_right").select(rows.columns)


def _as_stored(made: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return the rows made without a model, those replaced that were made with it before."""
    rows = pl.concat([stored, made.join(stored, on="pair_id", how="anti")])
    return made.select("pair_id").join(rows, on="pair_id", maintain_order="left").select(rows.columns)


_STEPS: Mapping[str, Callable[[Stored, StageRun], pl.DataFrame]] = {
    PAIRS.name: _pairs,
    CLAIMS.name: _claims,
    CLAIM_VERDICTS.name: _claim_verdicts,
    REFUSALS.name: _refusals,
    ROUND_TRIPS.name: _round_trips,
    ASSESSMENTS.name: _assessments,
}
"""Stages whose rows stay as stored, but for those of edited pairs and of what people decided."""
