"""The stages that check, as one sees them from outside: claims, refusals, contradictions, canaries, verdicts.

What belongs here: one function a stage, a few lines long. What does not: what a stage does, and the stages
before and after (`pipeline.py`).
"""

from collections.abc import Mapping

import polars as pl

from qa_pipeline.calibration.changes import record_deciding
from qa_pipeline.canaries.material import gather
from qa_pipeline.canaries.outcomes import canary_rows
from qa_pipeline.canaries.seeding import canary_pairs, seed_canaries
from qa_pipeline.curation.decisions import overrule_claims
from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.judging.judge import assess_pairs
from qa_pipeline.neighbours import neighbour_chunks
from qa_pipeline.parts import Parts
from qa_pipeline.pipeline import make_index
from qa_pipeline.progress import Notify, silent
from qa_pipeline.tables import CANARIES
from qa_pipeline.verification.asking import verify_claims
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.contradictions.finding import Found, find_contradictions
from qa_pipeline.verification.entailment.claims import fill_entailment
from qa_pipeline.verification.entailment.span_claims import fill_spans
from qa_pipeline.verification.finer.asking import finer_claims
from qa_pipeline.verification.refusals import judge_refusals
from qa_pipeline.verification.splitting import Claim


def make_claims(
    parts: Parts,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Split the answers into claims, find the evidence of each and compute every local score.

    A model that verifies cuts answers finer, where the settings want it and there is one.
    """
    settings, model = parts.settings, parts.reviewer("verifier")
    finer = (
        None
        if model is None
        else finer_claims(pairs, chunks, model, settings.verification, settings.llm, notify=notify)
    )
    return score_claims(parts, pairs, documents, chunks, embeddings, notify, finer=finer)


def score_claims(
    parts: Parts,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    notify: Notify = silent,
    *,
    finer: Mapping[str, list[Claim]] | None = None,
) -> pl.DataFrame:
    """Every local score of every claim; answers without `finer` claims are cut by the rules.

    No language model is asked.
    """
    settings = parts.settings.verification
    claims = find_claims(
        pairs, documents, chunks, parts.embedder, settings, embeddings=embeddings, finer=finer
    )
    read = fill_entailment(claims, pairs, chunks, parts.entailment, settings.entailment, notify)
    return fill_spans(read, pairs, chunks, parts.spans)


def make_refusals(
    parts: Parts, pairs: pl.DataFrame, chunks: pl.DataFrame, embeddings: pl.DataFrame
) -> pl.DataFrame:
    """Weigh for each refusal whether the batch could have answered."""
    settings = parts.settings.verification
    return judge_refusals(pairs, chunks, parts.embedder, settings, embeddings=embeddings)


def make_contradictions(
    parts: Parts, documents: pl.DataFrame, chunks: pl.DataFrame, embeddings: pl.DataFrame
) -> Found:
    """Look for what the documents of the batch say against each other."""
    settings = parts.settings.verification
    owners = dict(chunks.select("chunk_id", "document_id").iter_rows())
    near = neighbour_chunks(make_index(parts, embeddings), owners, settings.contradiction_neighbours)
    return find_contradictions(documents, chunks, near, parts.embedder, settings)


def make_claim_verdicts(
    parts: Parts,
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    chunks: pl.DataFrame,
    decisions: pl.DataFrame,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Decide each claim; a model, where there is one, decides the borderline band, and a person anything."""
    settings = parts.settings
    decided = verify_claims(
        claims,
        pairs,
        chunks,
        settings.verification,
        model=parts.reviewer("verifier"),
        llm=settings.llm,
        notify=notify,
    )
    return overrule_claims(decided, claims, pairs, decisions)


def make_canaries(
    parts: Parts,
    batch: str,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Seed the batch with claims whose right verdict is known, and verify them as pairs are verified."""
    settings = parts.settings
    if not settings.canaries.enabled:
        return CANARIES.empty()
    material = gather(chunks, settings.canaries.seed)
    drawn = seed_canaries(material, settings.canaries.per_kind)
    pairs = canary_pairs(drawn, material, batch)
    claims = score_claims(parts, pairs, documents, chunks, embeddings)
    verdicts = verify_claims(
        claims,
        pairs,
        chunks,
        settings.verification,
        model=parts.reviewer("verifier") if settings.canaries.ask_model else None,
        llm=settings.llm,
        notify=notify,
    )
    return canary_rows(drawn, batch, claims, verdicts)


def make_assessments(
    parts: Parts,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    chunks: pl.DataFrame,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Have the pairs that passed source verification judged."""
    settings = parts.settings
    return assess_pairs(
        pairs=pairs,
        claims=claims,
        claim_verdicts=claim_verdicts,
        chunks=chunks,
        model=parts.reviewer("judge"),
        settings=settings.judging,
        accept_grounding=settings.verification.accept_grounding,
        workers=settings.llm.workers,
        seed=settings.llm.seed,
        notify=notify,
    )


def make_verdicts(
    parts: Parts,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    refusals: pl.DataFrame,
    assessments: pl.DataFrame,
    contradictions: pl.DataFrame,
    decisions: pl.DataFrame,
) -> pl.DataFrame:
    """Give every pair its verdict, and record the settings that decided."""
    record_deciding(parts.layout, parts.settings.verification, parts.settings.judging)
    return build_verdicts(
        pairs=pairs,
        claims=claims,
        claim_verdicts=claim_verdicts,
        refusals=refusals,
        assessments=assessments,
        contradictions=contradictions,
        decisions=decisions,
        verification=parts.settings.verification,
        judging=parts.settings.judging,
    )
