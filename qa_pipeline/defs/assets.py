"""The assets of a batch, in the order in which they are made: one for each stage of `pipeline.stages`."""

import dagster as dg

from qa_pipeline.curation.exports import LEDGER_FILES
from qa_pipeline.defs.base import OWNERS, ResourcesParam, document_batches
from qa_pipeline.defs.checks import refuse_blocked
from qa_pipeline.defs.metadata import (
    canary_metadata,
    content_metadata,
    cost_metadata,
    export_metadata,
    frame_table,
    review_metadata,
    summary_metadata,
    verdict_preview,
)
from qa_pipeline.defs.steps import step_of, table_asset
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.funnel import yield_funnel
from qa_pipeline.retrieval.shard import build_index, embed_chunks
from qa_pipeline.settings.llm import same_model_warning
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CANARIES,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DECISIONS,
    DOCUMENTS,
    EMBEDDINGS,
    LLM_CALLS,
    PAIRS,
    QUESTIONS,
    REFUSALS,
    ROUND_TRIPS,
    TRAINING_EXAMPLES,
    VERDICTS,
)

corpus = dg.AssetSpec(
    "corpus",
    partitions_def=document_batches,
    group_name="ingestion",
    kinds={"file"},
    description="One partition per folder or archive. Its data version is a hash of all files in it.",
)


@dg.asset(deps=[corpus], **table_asset(DOCUMENTS, "ingestion"))
def documents(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Read the files as text with sections and pages; an unreadable file keeps a row with its reason."""
    with step_of(context, resources) as step:
        read = stages.read_batch(step.previous(DOCUMENTS))
        stages.note_documents(step.run, read)
        return step.store(DOCUMENTS, read, **content_metadata(read))


@dg.asset(deps=[documents], **table_asset(CHUNKS, "ingestion"))
def chunks(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Cut the sections into chunks of bounded length, each apart, so that an edit moves no other chunk."""
    with step_of(context, resources) as step:
        return step.store(CHUNKS, stages.cut_documents(resources, step.read(DOCUMENTS)))


@dg.asset(deps=[chunks], **table_asset(EMBEDDINGS, "ingestion", kind="pytorch"))
def embeddings(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Embed the chunks; vectors are cached by text and model, so only new texts are computed."""
    with step_of(context, resources) as step:
        return step.store(EMBEDDINGS, embed_chunks(step.read(CHUNKS), resources.embedder, step.run.notify))


@dg.asset(
    deps=[embeddings],
    group_name="ingestion",
    partitions_def=document_batches,
    kinds={"faiss"},
    owners=OWNERS,
)
def index(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Build the FAISS shard of the batch; no batch changes the shard of another."""
    with step_of(context, resources) as step:
        return step.store_index(build_index(step.read(EMBEDDINGS)))


@dg.asset(deps=[chunks, index], **table_asset(QUESTIONS, "generation", kind="ai", asks_a_model=True))
def questions(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Ask a planned mix of questions about new and changed chunks."""
    with step_of(context, resources) as step:
        run = step.previous(QUESTIONS)
        return step.store(QUESTIONS, stages.ask_questions(run, step.read(CHUNKS), step.read_index()))


@dg.asset(
    deps=[corpus, documents, chunks, questions],
    **table_asset(PAIRS, "generation", kind="ai", asks_a_model=True),
)
def pairs(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Draft cited answers from retrieved passages; add existing pairs, and what people wrote and edited."""
    with step_of(context, resources) as step:
        decisions = step.store_beside(DECISIONS, stages.recorded_decisions(step.run))
        frames = step.read_all(DOCUMENTS, CHUNKS, QUESTIONS)
        answered = stages.answer_questions(step.previous(PAIRS), decisions=decisions, **frames)
        return step.store(PAIRS, answered)


@dg.asset(
    deps=[documents, chunks, embeddings, pairs],
    **table_asset(CLAIMS, "validation", kind="ai", asks_a_model=True),
)
def claims(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Split the answers into claims and find the evidence of each in the cited documents."""
    with step_of(context, resources) as step:
        frames = step.read_all(PAIRS, CHUNKS, EMBEDDINGS)
        step.store_beside(REFUSALS, stages.check_refusals(step.run, **frames))
        return step.store(CLAIMS, stages.split_and_score(step.run, documents=step.read(DOCUMENTS), **frames))


@dg.asset(
    deps=[claims, pairs, documents, chunks],
    **table_asset(CLAIM_VERDICTS, "validation", kind="ai", asks_a_model=True),
)
def claim_verdicts(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Verify the claims: citation and quotation decide, a model the rest, and people overrule both."""
    with step_of(context, resources) as step:
        frames = step.read_all(CLAIMS, PAIRS, DOCUMENTS, CHUNKS, DECISIONS)
        return step.store(CLAIM_VERDICTS, stages.decide_claims(step.run, **frames))


@dg.asset(
    deps=[documents, chunks, embeddings, pairs, claims, claim_verdicts],
    **table_asset(CANARIES, "validation", kind="ai", asks_a_model=True),
)
def canaries(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Test verifier and judge on rows of known verdict; a model that accepts falsehoods decides nothing."""
    with step_of(context, resources) as step:
        frames = step.read_all(DOCUMENTS, CHUNKS, EMBEDDINGS, PAIRS, CLAIMS, CLAIM_VERDICTS)
        checked = stages.check_reviewers(step.run, **frames)
        return step.store(CANARIES, checked, **canary_metadata(checked))


@dg.asset(
    deps=[pairs, claims, claim_verdicts, chunks],
    **table_asset(ASSESSMENTS, "validation", kind="ai", asks_a_model=True),
)
def assessments(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Judge relevance, correctness and completeness of the verified pairs; ask their questions once more."""
    with step_of(context, resources) as step:
        frames = step.read_all(PAIRS, CLAIMS, CLAIM_VERDICTS, CHUNKS)
        step.store_beside(ROUND_TRIPS, stages.ask_again(step.run, **frames))
        settings = resources.settings
        warning = same_model_warning(settings.llm) if settings.judging.enabled else None
        metadata = {"warning": warning} if warning else {}
        return step.store(ASSESSMENTS, stages.judge_pairs(step.run, **frames), **metadata)


@dg.asset(
    deps=[documents, pairs, claims, claim_verdicts, canaries, assessments],
    **table_asset(VERDICTS, "curation"),
)
def verdicts(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Give each pair its verdict, with the reason and the thresholds that decided; best of repeats."""
    with step_of(context, resources) as step:
        frames = step.read_all(
            *(DOCUMENTS, PAIRS, CLAIMS, CLAIM_VERDICTS, REFUSALS, ASSESSMENTS),
            *(ROUND_TRIPS, CANARIES, DECISIONS),
        )
        decided = stages.decide_pairs(step.run, **frames)
        return step.store(
            VERDICTS,
            decided,
            **{
                **(
                    {"preview": verdict_preview(decided, frames["pairs"], frames["claims"])}
                    if decided.height
                    else {}
                ),
                **summary_metadata(decided),
                **review_metadata(resources.settings.review.url, step.batch),
                **export_metadata(resources.layout, step.batch, LEDGER_FILES),
            },
        )


@dg.asset(
    deps=[documents, chunks, questions, pairs, claims, claim_verdicts, assessments, verdicts],
    **table_asset(TRAINING_EXAMPLES, "curation"),
)
def training_examples(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Write the accepted pairs as chat messages, with the proof of each claim and where it comes from."""
    with step_of(context, resources) as step:
        refuse_blocked(resources, step.batch)
        frames = step.read_all(
            *(PAIRS, VERDICTS, CLAIMS, CLAIM_VERDICTS, ASSESSMENTS, ROUND_TRIPS, CHUNKS, DOCUMENTS)
        )
        examples = stages.select_examples(step.run, **frames)
        counted = {**frames, TRAINING_EXAMPLES.name: examples, QUESTIONS.name: step.read(QUESTIONS)}
        stored = step.store(TRAINING_EXAMPLES, examples, **{"yield": frame_table(yield_funnel(counted))})
        if all(check.passed for check in stored.check_results):
            stages.publish(resources.layout, step.batch, examples)
        return stored


@dg.asset(deps=[verdicts], **table_asset(LLM_CALLS, "cost"))
def llm_calls(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """List tokens, times, outcome and cost of each call, as the store of replies noted them."""
    with step_of(context, resources) as step:
        calls = stages.calls_table(resources, step.batch)
        return step.store(LLM_CALLS, calls, **cost_metadata(calls, step.read(VERDICTS)))


BATCH_ASSETS: list[dg.AssetsDefinition] = [
    documents, chunks, embeddings, index, questions, pairs, claims, claim_verdicts, canaries, assessments,
    verdicts, training_examples, llm_calls,
]  # fmt: skip
