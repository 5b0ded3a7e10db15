"""The stages of a batch, in order: functions from tables to a table.

`qa_pipeline.defs.assets` makes an asset of each stage. The work is done in other folders; this module passes
the settings, models and files to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import WRITTEN, overrule_claims, read_decisions
from qa_pipeline.curation.exports import ledger_files, ledger_rows, write_exports
from qa_pipeline.curation.ledger import build_verdicts, judged_verdicts
from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.curation.withdrawals import forgotten_documents, withdraw_outdated
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import BatchFiles
from qa_pipeline.documents.masking import reference_mask, texts_mask
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.generation.answer_quality import mark_flawed, mark_not_worth_asking
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.guard import guard_questions, select_passages
from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.pair_entries import RawPair, read_pairs, read_pairs_beside
from qa_pipeline.generation.pair_import import import_pairs, mask_pairs, with_edited_pairs
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import ProgressCallback, no_progress, passages_by_id
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.retrieval.packing import mark_repeated_blocks
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import load_index
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import ASSESSMENTS, CANARIES, DECISIONS, DOCUMENTS, PAIRS, QUESTIONS
from qa_pipeline.verification.canaries import (
    Canary,
    canary_pairs,
    draw_canaries,
    draw_for_model,
    draw_judge_pairs,
    judged_rows,
    verified_rows,
)
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.entailment import fill_entailment
from qa_pipeline.verification.judging import assess_pairs, judge_rows, with_evidence
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.outcomes import grounded_pairs
from qa_pipeline.verification.sources import sources_of
from qa_pipeline.verification.splitting import Claim, split_answers


@dataclass(frozen=True, slots=True)
class StageRun:
    """Context of a stage of a batch; `notify` is called with its progress."""

    resources: Resources
    batch: str
    notify: ProgressCallback = no_progress

    @property
    def settings(self) -> Settings:
        """Return all settings."""
        return self.resources.settings

    def previous(self, table: Table) -> pl.DataFrame | None:
        """Return a table of the previous run, if it exists."""
        return read_earlier(self.resources.layout.table(table.name, self.batch), table)


def batch_files(resources: Resources, batch: str) -> BatchFiles:
    """Return the files of a batch.

    Raises:
        CorpusError: the batch does not exist.
    """
    return open_corpus(resources.settings.corpus).batch(batch)


def read_batch(run: StageRun) -> pl.DataFrame:
    """Read the files of a batch; unchanged files are copied from the previous table."""
    resources = run.resources
    return read_documents(
        run.batch,
        batch_files(resources, run.batch),
        run.settings.documents,
        resources.parse,
        run.previous(DOCUMENTS),
        run.notify,
        forgotten_documents(resources.layout),
    )


def cut_documents(resources: Resources, documents: pl.DataFrame) -> pl.DataFrame:
    """Split the parsed documents into chunks, and mark chunks that are repeated or not worth asking about."""
    chunks = chunk_documents(documents, resources.counter, resources.settings.chunking)
    return mark_not_worth_asking(mark_repeated_blocks(chunks, documents))


def ask_questions(run: StageRun, chunks: pl.DataFrame, embeddings: pl.DataFrame) -> pl.DataFrame:
    """Write questions about the chunks; empty without a generator, or if a file of pairs is checked."""
    resources, settings = run.resources, run.settings
    if resources.generator is None or resources.pairs_file is not None:
        return QUESTIONS.empty()
    index = resources.layout.index(run.batch)
    shard = load_index(index.read_bytes(), embeddings, resources.embedder, str(index))
    retriever = Retriever(chunks, shard, resources.embedder, settings.retrieval)
    return write_questions(
        chunks,
        resources.generator,
        retriever.retrieve,
        settings.generation,
        settings.llm,
        batch=run.batch,
        links=link_chunks(chunks),
        previous=run.previous(QUESTIONS),
        notify=run.notify,
    )


def answer_questions(
    run: StageRun,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    questions: pl.DataFrame,
    decisions: pl.DataFrame,
) -> pl.DataFrame:
    """Draft an answer to each kept question; add existing pairs, and edits by people.

    Existing pairs come from `resources.pairs_file`, or else from files next to the documents.
    """
    resources, settings = run.resources, run.settings
    if resources.pairs_file is not None:
        existing = read_pairs(resources.pairs_file)
    elif settings.generation.max_chunks is not None:  # a limited run leaves existing pairs out
        existing = []
    else:
        existing = read_pairs_beside(batch_files(resources, run.batch))
    pairs = [_imported_pairs(run, existing, documents, chunks)]
    if resources.generator is not None and questions.height:
        drafted = draft_answers(
            questions,
            chunks,
            resources.generator,
            settings.generation,
            settings.llm,
            **drafting_rules(resources),
            previous=run.previous(PAIRS),
            notify=run.notify,
        )
        pairs.insert(0, mark_flawed(drafted, chunks))
    return with_edited_pairs(pl.concat(pairs), decisions, documents, chunks, run.batch)


def drafting_rules(resources: Resources) -> dict[str, Any]:
    """Return the arguments of `draft_answers` that select passages and guard questions."""
    settings, generation = resources.settings, resources.settings.generation
    guard = partial(
        guard_questions,
        settings=generation.guard,
        model=resources.reviewer("verifier"),
        encoder=resources.embedder,
        llm=settings.llm,
    )
    if not generation.enable_reference_validation:
        return {"guard": guard}
    validating = resources.reviewer("verifier", generation.validation_model)
    select = partial(select_passages, settings=generation, model=validating, llm=settings.llm)
    return {"guard": guard, "select": select}


def _imported_pairs(
    run: StageRun, raw: list[RawPair], documents: pl.DataFrame, chunks: pl.DataFrame
) -> pl.DataFrame:
    """Resolve the citations of existing pairs; a pair in two files gives two rows.

    Pairs are masked like the batch's documents, so that their quotes still match.
    """
    if not raw:
        return PAIRS.empty()
    masking = _masking(run)
    if masking is not None:
        raw = mask_pairs(raw, texts_mask(masking), reference_mask(masking))
    imported = import_pairs(raw, documents, chunks, run.batch)
    return mark_flawed(imported, chunks)


def _masking(run: StageRun) -> MaskingSettings | None:
    """Return the masking of the batch's texts, if it changes them."""
    masking = run.settings.documents.masking
    return masking if masking.action in ("mask", "drop") else None


def recorded_decisions(run: StageRun) -> pl.DataFrame:
    """Return the decisions of people about the batch, with texts masked like its documents."""
    decisions = read_decisions(run.resources.layout.decisions(run.batch))
    masking = _masking(run) if decisions.height else None
    if masking is None:
        return decisions
    mask = texts_mask(masking)
    rows = decisions.to_dicts()
    for row in rows:
        written = [name for name in WRITTEN if row[name]]
        row.update(zip(written, mask([row[name] for name in written]), strict=True))
    return DECISIONS.frame(rows)


def split_and_score(
    run: StageRun,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
) -> pl.DataFrame:
    """Split the answers into claims, find evidence for each claim and compute all local scores.

    The verifying model splits answers if the settings ask for it and the model is available.
    """
    settings, model = run.settings, run.resources.reviewer("verifier")
    claims = None
    if model is not None:
        passages, verification = passages_by_id(chunks), settings.verification
        claims = split_answers(pairs, passages, model, verification, settings.llm, notify=run.notify)
    return score_claims(run.resources, pairs, documents, chunks, embeddings, run.notify, model_claims=claims)


def score_claims(
    resources: Resources,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    notify: ProgressCallback = no_progress,
    *,
    model_claims: Mapping[str, list[Claim]] | None = None,
    similarity: bool = True,
) -> pl.DataFrame:
    """Return all local scores of all claims; answers without `model_claims` are split by rules.

    Language models are not called. Without `similarity` the embedding model is not used either.
    """
    claims = find_claims(
        pairs,
        documents,
        chunks,
        resources.embedder if similarity else None,
        notify if resources.entailment is None else no_progress,  # show the slower count only
        embeddings=embeddings,
        model_claims=model_claims,
    )
    return fill_entailment(claims, pairs, passages_by_id(chunks), resources.entailment, notify)


def decide_claims(
    run: StageRun, claims: pl.DataFrame, pairs: pl.DataFrame, decisions: pl.DataFrame, **frames: pl.DataFrame
) -> pl.DataFrame:
    """Decide each claim by its quotation, or else by the verifying model; people overrule both."""
    decided = _verified_claims(run, run.resources.reviewer("verifier"), claims, pairs, **frames)
    return overrule_claims(decided, claims, pairs, decisions)


def _verified_claims(
    run: StageRun,
    model: LanguageModel | None,
    claims: pl.DataFrame,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
) -> pl.DataFrame:
    sources = {} if model is None else sources_of(documents, chunks)
    verification, llm = run.settings.verification, run.settings.llm
    return verify_claims(claims, pairs, sources, verification, model=model, llm=llm, notify=run.notify)


def ask_again(run: StageRun, **frames: pl.DataFrame) -> pl.DataFrame:
    """Ask the questions of verified pairs again: of two-hop pairs always, of others by setting."""
    verification = run.settings.verification
    return make_round_trips(
        **frames,
        accept_grounding=verification.accept_grounding,
        only_hops=not verification.round_trip,
        model=run.resources.reviewer("verifier"),
        llm=run.settings.llm,
        notify=run.notify,
    )


def check_reviewers(
    run: StageRun,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    **frames: pl.DataFrame,
) -> pl.DataFrame:
    """Create rows with known verdicts, and verify and judge them exactly like pairs."""
    if not run.settings.canaries.enabled:
        return CANARIES.empty()
    verifier, judge = run.resources.reviewer("verifier"), run.resources.reviewer("judge")
    drawn: list[tuple[list[Canary], LanguageModel | None]] = [(draw_canaries(chunks), None)]
    decided_by_model = frames["claim_verdicts"]["llm_decision"].is_in(["accept", "reject"]).any()
    if verifier is not None and decided_by_model:  # otherwise no verdict depends on it
        drawn.append((draw_for_model(chunks), verifier))
    # with other policies vectors only order the evidence, and do not change verdicts of canaries
    similarity = run.settings.verification.policy == "similarity_only"
    rows = []
    for canaries, model in drawn:
        pairs = canary_pairs(canaries, run.batch)
        claims = score_claims(run.resources, pairs, documents, chunks, embeddings, similarity=similarity)
        decided = _verified_claims(run, model, claims, pairs, documents, chunks)
        rows.append(verified_rows(canaries, run.batch, claims, decided))
    if judge is not None and run.settings.judging.enabled:
        rows.append(_judged_canaries(run, judge, chunks, **frames))
    return pl.concat(rows)


def _judged_canaries(
    run: StageRun,
    judge: LanguageModel,
    chunks: pl.DataFrame,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
) -> pl.DataFrame:
    """Judge rows with known verdicts, which are drawn from grounded pairs."""
    settings = run.settings
    # canaries that should pass need all claims supported, even if accept_grounding is lower
    grounded = grounded_pairs(pairs, claims, claim_verdicts, accept_grounding=1.0)
    canaries = draw_judge_pairs(with_evidence(grounded, claims, claim_verdicts), chunks)
    pairs_to_judge = [canary.pair for canary in canaries if canary.pair is not None]
    passages = passages_by_id(chunks)
    assessed = judge_rows(
        pairs_to_judge, passages, judge, settings.judging, llm=settings.llm, notify=run.notify
    )
    decided = judged_verdicts(ASSESSMENTS.frame(assessed), settings.judging)
    return judged_rows(canaries, run.batch, decided)


def judge_pairs(run: StageRun, **frames: pl.DataFrame) -> pl.DataFrame:
    """Judge the pairs that passed source verification."""
    return assess_pairs(
        **frames,
        model=run.resources.reviewer("judge"),
        settings=run.settings.judging,
        accept_grounding=run.settings.verification.accept_grounding,
        llm=run.settings.llm,
        notify=run.notify,
    )


def decide_pairs(run: StageRun, documents: pl.DataFrame, **frames: pl.DataFrame) -> pl.DataFrame:
    """Decide on every pair, and write the JSONL files of the ledger.

    The files are written even if a gate fails; the batch may be withdrawn later.
    """
    layout, settings = run.resources.layout, run.settings
    verdicts = build_verdicts(verification=settings.verification, judging=settings.judging, **frames)
    withdraw_outdated(layout, run.batch, verdicts)
    decided_from = {name: frames[name] for name in ("pairs", "claims", "claim_verdicts", "assessments")}
    rows = ledger_rows(verdicts=verdicts, documents=documents, **decided_from)
    write_exports(layout, run.batch, ledger_files(rows))
    return verdicts


def select_examples(resources: Resources, **frames: pl.DataFrame) -> pl.DataFrame:
    """Select the accepted pairs, and return them as training examples."""
    count = resources.counter.count
    return build_training_examples(count_tokens=count, settings=resources.settings.training, **frames)
