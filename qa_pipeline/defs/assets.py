"""The assets: one for each table and the index, each a few lines over the function of its stage.

What belongs here: names, inputs, what a step is shown as. What does not: what a stage does (`pipeline.py`
calls it, here and without Dagster), the assets that check (`checking.py`), when it runs (`automation.py`),
where its output lies (`io_managers.py`).

Each asset returns a hash of its content as data version, so equal content is recognised as nothing new. Those
that ask a model may yield nothing, while their replies are awaited.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from qa_pipeline import stages
from qa_pipeline.curation.withdrawals import end_withdrawal, note_origin, tombstone_of, withdraw_outdated
from qa_pipeline.defs.base import (
    ASKS,
    Frame,
    PartsParam,
    Tables,
    content_version,
    document_batches,
    logged,
    result,
)
from qa_pipeline.defs.corpus import corpus
from qa_pipeline.defs.metadata import (
    canary_metadata,
    content_metadata,
    cost_metadata,
    described,
    export_metadata,
    summary_metadata,
    verdict_preview,
    waterfall_metadata,
)
from qa_pipeline.defs.schedules import unless_pending
from qa_pipeline.defs.versions import code_version
from qa_pipeline.pipeline import write_exports
from qa_pipeline.resources import Parts
from qa_pipeline.retrieval.shard import Shard
from qa_pipeline.retrieval.shard_file import dump_shard
from qa_pipeline.settings.llm import same_model_warning
from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import DOCUMENTS, PAIRS, QUESTIONS, STORED


@dg.asset(
    partitions_def=document_batches,
    group_name="generation",
    kinds={"polars", "parquet"},
    deps=[corpus],  # made with the batch's first tables, so that nothing waits for it
)
def decisions(context: dg.AssetExecutionContext, parts: PartsParam) -> dg.MaterializeResult[Frame]:
    """What `qa-pipeline decide` recorded: it overrules the verdicts, and edits become pairs."""
    return result("decisions", stages.make_decisions(parts, context.partition_key))


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
        lambda: result("claims", stages.make_claims(parts, pairs, documents, chunks, embeddings, notify)),
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
            stages.make_claim_verdicts(parts, claims, pairs, chunks, decisions, notify),
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
        frame = stages.make_canaries(parts, batch, documents, chunks, embeddings, notify)
        return result("canaries", frame, **canary_metadata(frame))

    yield from unless_pending(context, seeded)


@dg.asset(partitions_def=document_batches, group_name="validation", kinds={"pytorch", "parquet"})
def refusals(
    parts: PartsParam, pairs: Frame, chunks: Frame, embeddings: Frame
) -> dg.MaterializeResult[Frame]:
    """A refusal is right only if nothing in the batch answers the question."""
    return result("refusals", stages.make_refusals(parts, pairs, chunks, embeddings))


@dg.asset(partitions_def=document_batches, group_name="validation", kinds={"faiss", "parquet"})
def contradictions(
    parts: PartsParam, documents: Frame, chunks: Frame, embeddings: Frame
) -> dg.MaterializeResult[Frame]:
    """What one document says and another denies: an answer that states one side goes to a person."""
    found = stages.make_contradictions(parts, documents, chunks, embeddings)
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
        frame = stages.make_assessments(parts, pairs, claims, claim_verdicts, chunks, notify)
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
    frame = stages.make_verdicts(
        parts, pairs, claims, claim_verdicts, refusals, assessments, contradictions, decisions
    )
    batch = context.partition_key
    withdraw_outdated(parts.layout, batch, frame)
    frames = {"pairs": pairs, "verdicts": frame, "claims": claims, "claim_verdicts": claim_verdicts}
    frames |= {"assessments": assessments, "documents": tables.read(DOCUMENTS, batch)}
    files = stages.make_ledger_exports(frames)
    write_exports(parts.layout, batch, files)  # here, where no failed check can stop it
    calls = stages.make_llm_calls(parts, batch)
    shown = {"preview": verdict_preview(frame, pairs, claims)}
    metadata = summary_metadata(frame) | export_metadata(parts.layout, batch, files)
    return result("verdicts", frame, **shown, **metadata, **cost_metadata(calls, frame))


OWNERS = ["team:training-data"]
OWN_GATES = {"training_rows", "training_examples_schema"}
"""Gates that look at training examples, and can pass only after those have been made again."""


@dg.asset(partitions_def=document_batches, group_name="ingestion", kinds={"polars", "parquet"}, deps=[corpus])
def documents(
    context: dg.AssetExecutionContext, parts: PartsParam, tables: Tables
) -> dg.MaterializeResult[Frame]:
    """Any format becomes canonical text with sections and pages; what cannot be read keeps a row."""
    batch, notify = context.partition_key, logged(context.log, "files")
    previous = tables.previous(DOCUMENTS, batch)
    frame = stages.make_documents(parts, batch, previous, notify)
    parts.note_documents(frame)
    note_origin(parts.layout, batch, parts.settings.corpus)
    return result("documents", frame, **content_metadata(frame))


@dg.asset(partitions_def=document_batches, group_name="ingestion", kinds={"polars", "parquet"})
def chunks(parts: PartsParam, documents: Frame) -> dg.MaterializeResult[Frame]:
    """Sections are cut apart from each other and bounded in tokens, so an edit moves no other chunk."""
    return result("chunks", stages.make_chunks(parts, documents))


@dg.asset(partitions_def=document_batches, group_name="ingestion", kinds={"pytorch", "parquet"})
def embeddings(
    context: dg.AssetExecutionContext, parts: PartsParam, chunks: Frame
) -> dg.MaterializeResult[Frame]:
    """Vectors are cached by text and model: only new texts are computed."""
    notify = logged(context.log, "texts embedded")
    return result("embeddings", stages.make_embeddings(parts, chunks, notify))


@dg.asset(
    partitions_def=document_batches,
    group_name="ingestion",
    kinds={"faiss"},
    io_manager_key="shards",
)
def index(parts: PartsParam, embeddings: Frame) -> dg.MaterializeResult[Shard]:
    """One FAISS shard per batch; large ones are searched approximately. No batch changes another's shard."""
    shard = stages.make_index(parts, embeddings)
    metadata: dict[str, Any] = {
        "vectors": len(shard.chunk_ids),
        "dimension": shard.dimension,
        "model": shard.model,
        "kind": shard.kind,
    }
    choice = shard.choice
    metadata |= {} if choice.recall is None else {"recall of ten nearest, in trial": choice.recall}
    metadata |= {} if choice.note is None else {"note": choice.note}
    version = content_version(dump_shard(shard))
    return dg.MaterializeResult(value=shard, data_version=version, metadata=metadata)


@dg.asset(partitions_def=document_batches, group_name="generation", **ASKS)
def questions(
    context: dg.AssetExecutionContext, parts: PartsParam, tables: Tables, chunks: Frame, index: Shard
) -> Iterator[dg.MaterializeResult[Frame]]:
    """A planned mix of types over the chunks; those of unchanged chunks are kept, not asked for again."""
    batch, notify = context.partition_key, logged(context.log, "chunks asked")
    previous = tables.previous(QUESTIONS, batch)
    yield from unless_pending(
        context,
        lambda: result("questions", stages.make_questions(parts, batch, chunks, index, previous, notify)),
    )


@dg.asset(
    partitions_def=document_batches,
    group_name="generation",
    **ASKS,
    deps=[corpus],  # a pairs file may lie beside the documents
)
def pairs(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    tables: Tables,
    documents: Frame,
    chunks: Frame,
    questions: Frame,
    decisions: Frame,
) -> Iterator[dg.MaterializeResult[Frame]]:
    """Answers drafted from the retrieved passages only, with citations; imported pairs take the same road."""
    batch, notify = context.partition_key, logged(context.log, "answers drafted")
    previous = tables.previous(PAIRS, batch)
    yield from unless_pending(
        context,
        lambda: result(
            "pairs",
            stages.make_pairs(parts, batch, documents, chunks, questions, decisions, previous, notify),
        ),
    )


@dg.asset(
    partitions_def=document_batches,
    group_name="cost",
    kinds={"polars", "parquet"},
    deps=[questions, pairs, claims, claim_verdicts, assessments],  # in whose calls it looks, not their rows
)
def llm_calls(context: dg.AssetExecutionContext, parts: PartsParam) -> dg.MaterializeResult[Frame]:
    """Tokens, times, outcome and cost of each call, as the store of replies noted them."""
    frame = stages.make_llm_calls(parts, context.partition_key)
    return result("llm_calls", frame, **cost_metadata(frame))


@dg.asset(
    partitions_def=document_batches,
    group_name="curation",
    kinds={"polars", "parquet"},
    deps=[canaries],  # whose checks stand before it, not whose rows
)
def training_examples(
    context: dg.AssetExecutionContext,
    parts: PartsParam,
    tables: Tables,
    pairs: Frame,
    verdicts: Frame,
    claims: Frame,
    claim_verdicts: Frame,
    assessments: Frame,
    chunks: Frame,
    documents: Frame,
) -> dg.MaterializeResult[Frame]:
    """Chat messages in three layouts, with the proof of each claim and where all of it comes from."""
    _check_gates(parts, context.partition_key)
    frame = stages.make_training_examples(
        parts, pairs, verdicts, claims, claim_verdicts, assessments, chunks, documents
    )
    counted = {
        "documents": documents,
        "chunks": chunks,
        "questions": tables.read(QUESTIONS, context.partition_key),
        "pairs": pairs,
        "verdicts": verdicts,
        "training_examples": frame,
    }
    return result("training_examples", frame, **waterfall_metadata(counted))


def _check_gates(parts: Parts, batch: str) -> None:
    """A blocking check stops only its own run; this stops the next one too, until the check passes."""
    stone = tombstone_of(parts.layout, batch)
    failing = stone.details if stone and stone.reason == "gate_failed" else {}
    if stone and set(failing) - OWN_GATES:
        told = f"batch {batch} is withdrawn: {stone.told()}; run the whole batch again (job build_batch)"
        raise dg.Failure(told, allow_retries=False)


@dg.asset(partitions_def=document_batches, group_name="curation", kinds={"json"})
def exports(
    context: dg.AssetExecutionContext, parts: PartsParam, training_examples: Frame
) -> dg.MaterializeResult[Any]:
    """One JSONL file of chat messages for each layout; those of the ledger are written with the verdicts."""
    batch = context.partition_key
    files = stages.make_chat_exports(training_examples)
    write_exports(parts.layout, batch, files)
    end_withdrawal(parts.layout, batch)
    metadata = export_metadata(parts.layout, batch, files)
    return dg.MaterializeResult(data_version=content_version(*files.values()), metadata=metadata)


ASSETS = [
    documents,
    chunks,
    embeddings,
    index,
    questions,
    decisions,
    pairs,
    claims,
    claim_verdicts,
    canaries,
    refusals,
    contradictions,
    assessments,
    verdicts,
    llm_calls,
    training_examples,
    exports,
]


def build_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """All assets, each after its inputs, with what all of them have in common."""
    return list(dg.map_asset_specs(lambda spec: _completed(spec, settings), ASSETS))


def _completed(spec: dg.AssetSpec, settings: Settings) -> dg.AssetSpec:
    """Grain and columns come from the table, so that they are written down once."""
    name = spec.key.path[-1]
    table = STORED.get(name)
    return spec.replace_attributes(
        description=" ".join(filter(None, [table.grain if table else None, spec.description])),
        metadata={**spec.metadata, **(described(table) if table else {})},
        owners=OWNERS,
        code_version=code_version(name, settings),
    )
