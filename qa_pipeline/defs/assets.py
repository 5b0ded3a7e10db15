"""The assets: of a batch, in the order of their creation, and the release over all batches.

Most assets of a batch run a stage of `pipeline.stages`.
"""

from hashlib import sha256

import dagster as dg

from qa_pipeline.curation.withdrawals import end_withdrawal
from qa_pipeline.defs.steps import (
    OWNERS,
    ResourcesParam,
    batch_asset,
    cost_metadata,
    document_batches,
    frame_table,
    model_asset,
    plotted,
    refuse_blocked,
    step_of,
    table_asset,
)
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.report import summarise
from qa_pipeline.publishing.release import publish_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.retrieval.search import build_index, dump_index, embed_chunks
from qa_pipeline.storage import tables
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.text.rendering import shorten
from qa_pipeline.verification.canaries import canary_rates
from qa_pipeline.verification.refusals import judge_refusals

corpus = dg.AssetSpec(
    "corpus",
    partitions_def=document_batches,
    group_name="ingestion",
    kinds={"file"},
    description="One partition per folder. Its data version changes with its files and decisions.",
)


@dg.asset(deps=[corpus], **table_asset(tables.DOCUMENTS, "ingestion"))
def documents(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Read the files as text with sections and pages; an unreadable file keeps a row with its reason."""
    with step_of(context, resources) as step:
        read = stages.read_batch(step.run)
        resources.note_documents(step.batch, read)
        return step.store(read)


@dg.asset(deps=[documents], **table_asset(tables.CHUNKS, "ingestion"))
def chunks(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Split the sections into chunks of limited length, each separately, so that edits change few chunks."""
    with step_of(context, resources) as step:
        return step.store(stages.cut_documents(resources, **step.inputs()))


@dg.asset(deps=[chunks], **table_asset(tables.EMBEDDINGS, "ingestion"))
def embeddings(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Embed the chunks; vectors are cached by text and model, so only new texts are computed."""
    with step_of(context, resources) as step:
        return step.store(embed_chunks(**step.inputs(), embedder=resources.embedder, notify=step.run.notify))


@dg.asset(deps=[embeddings], **batch_asset("ingestion", "faiss"))
def index(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Build the FAISS index of the batch, which is independent of other batches."""
    with step_of(context, resources) as step:
        shard = build_index(step.inputs()["embeddings"])
        path, content = resources.layout.index(step.batch), dump_index(shard)
        write_bytes(path, content)
        return dg.MaterializeResult(
            metadata={"vectors": len(shard.chunk_ids), "model": shard.model, "path": str(path)},
            data_version=dg.DataVersion(sha256(content).hexdigest()),
        )


@dg.asset(deps=[chunks, embeddings, index], **model_asset(tables.QUESTIONS, "generation"))
def questions(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Ask a planned mix of questions about new and changed chunks."""
    with step_of(context, resources) as step:
        return step.store(stages.ask_questions(step.run, **step.inputs()))


@dg.asset(deps=[corpus, documents, chunks, questions], **model_asset(tables.PAIRS, "generation"))
def pairs(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Draft cited answers from retrieved passages; add existing pairs, and edits by people."""
    with step_of(context, resources) as step:
        decisions = step.store_table(tables.DECISIONS, stages.recorded_decisions(step.run))
        return step.store(stages.answer_questions(step.run, **step.inputs(), decisions=decisions))


@dg.asset(deps=[documents, chunks, embeddings, pairs], **model_asset(tables.CLAIMS, "validation"))
def claims(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Split the answers into claims, and find evidence for each claim in the cited documents."""
    with step_of(context, resources) as step:
        frames = step.inputs()
        vectors = frames["embeddings"]
        refusals = judge_refusals(frames["pairs"], frames["chunks"], resources.embedder, embeddings=vectors)
        step.store_table(tables.REFUSALS, refusals)
        return step.store(stages.split_and_score(step.run, **frames))


@dg.asset(deps=[claims, pairs, documents, chunks], **model_asset(tables.CLAIM_VERDICTS, "validation"))
def claim_verdicts(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Verify the claims by citation and quotation, then by a model; decisions of people override both."""
    with step_of(context, resources) as step:
        return step.store(stages.decide_claims(step.run, **step.inputs(tables.DECISIONS)))


@dg.asset(
    deps=[documents, chunks, embeddings, pairs, claims, claim_verdicts],
    **model_asset(tables.CANARIES, "validation"),
)
def canaries(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Test verifier and judge on rows with known verdicts; ignore the decisions of a model that fails."""
    with step_of(context, resources) as step:
        checked = stages.check_reviewers(step.run, **step.inputs())
        return step.store(checked, **{"canaries by kind": frame_table(canary_rates(checked))})


@dg.asset(deps=[pairs, claims, claim_verdicts, chunks], **model_asset(tables.ASSESSMENTS, "validation"))
def assessments(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Judge relevance, correctness and completeness of verified pairs, and answer their questions again."""
    with step_of(context, resources) as step:
        frames = step.inputs()
        step.store_table(tables.ROUND_TRIPS, stages.ask_again(step.run, **frames))
        return step.store(stages.judge_pairs(step.run, **frames))


@dg.asset(
    deps=[documents, pairs, claims, claim_verdicts, canaries, assessments],
    **table_asset(tables.VERDICTS, "curation"),
)
def verdicts(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Decide on each pair, with the reason and the thresholds; keep the best of repeated pairs."""
    with step_of(context, resources) as step:
        frames = step.inputs(tables.REFUSALS, tables.ROUND_TRIPS, tables.DECISIONS)
        decided = stages.decide_pairs(step.run, **frames)
        return step.store(decided, **plotted(summarise(decided)))


@dg.asset(
    deps=[documents, chunks, pairs, claims, claim_verdicts, assessments, verdicts],
    **table_asset(tables.TRAINING_EXAMPLES, "curation"),
)
def training_examples(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """Write the accepted pairs as chat messages, with the evidence for each claim and its origin."""
    with step_of(context, resources) as step:
        refuse_blocked(resources, step.batch)
        examples = stages.select_examples(resources, **step.inputs())
        stored = step.store(examples)
        if all(check.passed for check in stored.check_results):
            end_withdrawal(resources.layout, step.batch)
        return stored


@dg.asset(deps=[verdicts], **table_asset(tables.LLM_CALLS, "cost"))
def llm_calls(context: dg.AssetExecutionContext, resources: ResourcesParam) -> dg.MaterializeResult:
    """List tokens, times, outcome and cost of each call, from the store of replies."""
    with step_of(context, resources) as step:
        calls = resources.calls(step.batch)
        return step.store(calls, **cost_metadata(calls, **step.inputs()))


BATCH_ASSETS: list[dg.AssetsDefinition] = [
    documents, chunks, embeddings, index, questions, pairs, claims, claim_verdicts, canaries, assessments,
    verdicts, training_examples, llm_calls,
]  # fmt: skip


@dg.asset(
    group_name="publishing",
    kinds={"parquet"},
    deps=[training_examples],
    pool="release",
    owners=OWNERS,
    check_specs=[
        dg.AssetCheckSpec(
            "release_verifies",
            asset="release",
            blocking=True,
            description="Blocks. The release passes all checks of its own files, as in `qa-pipeline verify`.",
        )
    ],
)
def release(resources: ResourcesParam) -> dg.MaterializeResult:
    """Publish the accepted rows of all batches that pass their gates, in splits without leakage.

    If the rows are unchanged, the last release stays the latest.
    """
    try:
        published = publish_release(resources)
        checks = verify_release(published.folder)
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems]
    manifest = published.manifest
    return dg.MaterializeResult(
        data_version=dg.DataVersion(manifest.content),
        metadata={
            "version": f"{manifest.version}{'' if published.made else ', as before'}",
            "folder": dg.MetadataValue.path(str(published.folder)),
            "dagster/row_count": sum(manifest.splits.values()),
            "rows by split": manifest.splits,
            "rows by batch": manifest.batches,
            "batches left out": manifest.batches_left_out,
            "rows left out": manifest.rows_left_out,
            "not satisfied": "; ".join(manifest.unsatisfied),
        },
        check_results=[
            dg.AssetCheckResult(passed=not problems, description=shorten("; ".join(problems)) or "all hold")
        ],
    )
