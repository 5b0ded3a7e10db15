"""The assets that check: claims, refusals, contradictions, canaries, assessments and verdicts.

What belongs here: names, inputs, what a step is shown as. What does not: what a stage does
(`qa_pipeline.checking`), and the assets before and after (`assets.py`).
"""

from collections.abc import Iterator

import dagster as dg

from qa_pipeline import checking, pipeline
from qa_pipeline.batch import write_exports
from qa_pipeline.defs.corpus import corpus
from qa_pipeline.defs.deliveries import unless_pending
from qa_pipeline.defs.metadata import (
    canary_metadata,
    cost_metadata,
    export_metadata,
    summary_metadata,
    verdict_preview,
)
from qa_pipeline.defs.parameters import PartsParam, Tables
from qa_pipeline.defs.partitions import document_batches
from qa_pipeline.defs.progress import logged
from qa_pipeline.defs.results import ASKS, Frame, result
from qa_pipeline.publishing.withdrawals import withdraw_outdated
from qa_pipeline.settings.models import same_model_warning
from qa_pipeline.tables import DOCUMENTS


@dg.asset(
    partitions_def=document_batches,
    group_name="generation",
    kinds={"polars", "parquet"},
    deps=[corpus],  # made with the batch's first tables, so that nothing waits for it
)
def decisions(context: dg.AssetExecutionContext, parts: PartsParam) -> dg.MaterializeResult[Frame]:
    """What `qa-pipeline decide` recorded: it overrules the verdicts, and edits become pairs."""
    return result("decisions", pipeline.make_decisions(parts, context.partition_key))


@dg.asset(partitions_def=document_batches, group_name="validation", **ASKS)
def claims(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    pairs: Frame,
    documents: Frame,
    chunks: Frame,
    embeddings: Frame,
) -> Iterator[dg.MaterializeResult[Frame]]:
    """Every claim with the span of the source that speaks for it most; no score decides anything yet."""
    notify = logged(context.log, "answers and claims read")
    yield from unless_pending(
        context,
        lambda: result("claims", checking.make_claims(parts, pairs, documents, chunks, embeddings, notify)),
    )


@dg.asset(partitions_def=document_batches, group_name="validation", **ASKS)
def claim_verdicts(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    claims: Frame,
    pairs: Frame,
    chunks: Frame,
    decisions: Frame,
) -> Iterator[dg.MaterializeResult[Frame]]:
    """Source verification: citations, similarity and consistency decide, a model only the rest."""
    notify = logged(context.log, "borderline claims asked")
    yield from unless_pending(
        context,
        lambda: result(
            "claim_verdicts",
            checking.make_claim_verdicts(parts, claims, pairs, chunks, decisions, notify),
        ),
    )


@dg.asset(partitions_def=document_batches, group_name="validation", **ASKS, deps=[claim_verdicts])
def canaries(
    context: dg.AssetExecutionContext, parts: PartsParam, documents: Frame, chunks: Frame, embeddings: Frame
) -> Iterator[dg.MaterializeResult[Frame]]:
    """A tripwire for a broken or drifting verifier, and no estimate of the errors in a release.

    Sentences of the batch are changed so that the right verdict is known: true ones in other words, false
    ones by one number, unit, date, name, negation and the like.
    """
    batch, notify = context.partition_key, logged(context.log, "borderline canaries asked")

    def seeded() -> dg.MaterializeResult[Frame]:
        frame = checking.make_canaries(parts, batch, documents, chunks, embeddings, notify)
        return result("canaries", frame, **canary_metadata(frame))

    yield from unless_pending(context, seeded)


@dg.asset(partitions_def=document_batches, group_name="validation", kinds={"pytorch", "parquet"})
def refusals(
    parts: PartsParam, pairs: Frame, chunks: Frame, embeddings: Frame
) -> dg.MaterializeResult[Frame]:
    """A refusal is right only if nothing in the batch answers the question."""
    return result("refusals", checking.make_refusals(parts, pairs, chunks, embeddings))


@dg.asset(partitions_def=document_batches, group_name="validation", kinds={"faiss", "parquet"})
def contradictions(
    parts: PartsParam, documents: Frame, chunks: Frame, embeddings: Frame
) -> dg.MaterializeResult[Frame]:
    """What one document says and another denies: an answer that states one side goes to a person."""
    found = checking.make_contradictions(parts, documents, chunks, embeddings)
    return result("contradictions", found.table, **found.counts)


@dg.asset(partitions_def=document_batches, group_name="validation", **ASKS)
def assessments(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    pairs: Frame,
    claims: Frame,
    claim_verdicts: Frame,
    chunks: Frame,
) -> Iterator[dg.MaterializeResult[Frame]]:
    """Relevance, correctness and completeness from a judge; without one a row says not judged."""
    notify = logged(context.log, "pairs judged")
    warning = same_model_warning(parts.settings.llm) if parts.settings.judging.enabled else None
    if warning is not None:
        context.log.warning(warning)

    def judged() -> dg.MaterializeResult[Frame]:
        frame = checking.make_assessments(parts, pairs, claims, claim_verdicts, chunks, notify)
        return result("assessments", frame, **({"warning": warning} if warning else {}))

    yield from unless_pending(context, judged)


@dg.asset(partitions_def=document_batches, group_name="curation", kinds={"polars", "parquet"})
def verdicts(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    tables: Tables,
    pairs: Frame,
    claims: Frame,
    claim_verdicts: Frame,
    refusals: Frame,
    assessments: Frame,
    contradictions: Frame,
    decisions: Frame,
) -> dg.MaterializeResult[Frame]:
    """Accepted, rejected, needs review or failed, with the reason and the thresholds that decided."""
    frame = checking.make_verdicts(
        parts, pairs, claims, claim_verdicts, refusals, assessments, contradictions, decisions
    )
    batch = context.partition_key
    withdraw_outdated(parts.layout, batch, frame)
    frames = {"pairs": pairs, "verdicts": frame, "claims": claims, "claim_verdicts": claim_verdicts}
    frames |= {"assessments": assessments, "documents": tables.read(DOCUMENTS, batch)}
    files = pipeline.make_ledger_exports(frames)
    write_exports(parts.layout, batch, files)  # here, where no failed check can stop it
    calls = pipeline.make_llm_calls(parts, batch)
    shown = {"preview": verdict_preview(frame, pairs, claims)}
    metadata = summary_metadata(frame) | export_metadata(parts.layout, batch, files)
    return result("verdicts", frame, **shown, **metadata, **cost_metadata(calls, frame))
