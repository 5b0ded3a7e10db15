"""The stages of a batch, in order: functions from tables to a table.

`qa_pipeline.defs.assets` makes an asset of each stage. The work is done in other folders; this module passes
the settings, models and files to them. `**frames` are the other tables that the called function takes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from qa_pipeline import records
from qa_pipeline.curation import exports, ledger, withdrawals
from qa_pipeline.curation.decisions import WRITTEN, overrule_claims, read_decisions
from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.documents import masking
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import BatchFiles
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.generation import answer_quality, guard, pair_entries, pair_import
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.retrieval import search
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.retrieval.packing import mark_repeated_blocks
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage import tables
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.verification import canaries, judging, splitting
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.outcomes import grounded_pairs
from qa_pipeline.verification.sources import sources_of


@dataclass(frozen=True, slots=True)
class StageRun:
    """Context of a stage of a batch; `notify` is called with its progress."""

    resources: Resources
    batch: str
    notify: records.ProgressCallback = records.no_progress

    @property
    def settings(self) -> Settings:
        """Return all settings."""
        return self.resources.settings

    def previous(self, table: Table) -> pl.DataFrame | None:
        """Return a table of the previous run, if it exists."""
        return read_earlier(self.resources.layout.table(table.name, self.batch), table)


def batch_files(resources: Resources, batch: str) -> BatchFiles:
    """Return the files of a batch; raises a CorpusError if the batch does not exist."""
    return open_corpus(resources.settings.corpus).batch(batch)


def read_batch(run: StageRun) -> pl.DataFrame:
    """Read the files of a batch; unchanged files are copied from the previous table."""
    resources = run.resources
    return read_documents(
        run.batch,
        batch_files(resources, run.batch),
        run.settings.documents,
        resources.parse,
        run.previous(tables.DOCUMENTS),
        run.notify,
        withdrawals.forgotten_documents(resources.layout),
    )


def cut_documents(resources: Resources, documents: pl.DataFrame) -> pl.DataFrame:
    """Split the parsed documents into chunks, and mark chunks that are repeated or not worth asking about."""
    chunks = chunk_documents(documents, resources.counter, resources.settings.chunking)
    return answer_quality.mark_not_worth_asking(mark_repeated_blocks(chunks, documents))


def ask_questions(run: StageRun, chunks: pl.DataFrame, embeddings: pl.DataFrame) -> pl.DataFrame:
    """Write questions about the chunks; empty without a generator, or if the run only checks given pairs."""
    resources, settings = run.resources, run.settings
    if resources.generator is None or resources.pairs_file is not None:
        return tables.QUESTIONS.empty()
    index = resources.layout.index(run.batch)
    shard = search.load_index(index.read_bytes(), embeddings, resources.embedder, str(index))
    retriever = search.Retriever(chunks, shard, resources.embedder, settings.retrieval)
    return write_questions(
        chunks,
        resources.generator,
        retriever.retrieve,
        settings.generation,
        settings.llm,
        batch=run.batch,
        links=link_chunks(chunks),
        previous=run.previous(tables.QUESTIONS),
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
        existing = pair_entries.read_pairs(resources.pairs_file)
    elif settings.generation.max_chunks is not None:  # a limited run leaves existing pairs out
        existing = []
    else:
        existing = pair_entries.read_pairs_beside(batch_files(resources, run.batch))
    pairs = [_imported_pairs(run, existing, documents, chunks)]
    if resources.generator is not None and questions.height:
        drafted = draft_answers(
            questions,
            chunks,
            resources.generator,
            settings.generation,
            settings.llm,
            **drafting_rules(resources),
            previous=run.previous(tables.PAIRS),
            notify=run.notify,
        )
        pairs.insert(0, answer_quality.mark_flawed(drafted, chunks))  # before the imported pairs
    return pair_import.with_edited_pairs(pl.concat(pairs), decisions, documents, chunks, run.batch)


def drafting_rules(resources: Resources) -> dict[str, Any]:
    """Return the arguments of `draft_answers` that select passages and guard questions."""
    settings, generation = resources.settings, resources.settings.generation
    verifier, encoder, llm = resources.reviewer("verifier"), resources.embedder, settings.llm
    rules: dict[str, Any] = {
        "guard": partial(
            guard.guard_questions, settings=generation.guard, model=verifier, encoder=encoder, llm=llm
        )
    }
    if generation.enable_reference_validation:
        model = resources.reviewer("verifier", generation.validation_model)
        rules["select"] = partial(guard.select_passages, settings=generation, model=model, llm=llm)
    return rules


def _imported_pairs(
    run: StageRun, raw: list[pair_entries.RawPair], documents: pl.DataFrame, chunks: pl.DataFrame
) -> pl.DataFrame:
    """Resolve the citations of existing pairs; a pair in two files gives two rows.

    Pairs are masked like the batch's documents, so that their quotes still match.
    """
    if not raw:
        return tables.PAIRS.empty()
    if _masks_texts(run):
        rules = run.settings.documents.masking
        raw = pair_import.mask_pairs(raw, masking.texts_mask(rules), masking.reference_mask(rules))
    return answer_quality.mark_flawed(pair_import.import_pairs(raw, documents, chunks, run.batch), chunks)


def _masks_texts(run: StageRun) -> bool:
    return run.settings.documents.masking.action in ("mask", "drop")


def recorded_decisions(run: StageRun) -> pl.DataFrame:
    """Return the decisions of people about the batch, with texts masked like its documents."""
    decisions = read_decisions(run.resources.layout.decisions(run.batch))
    if not decisions.height or not _masks_texts(run):
        return decisions
    mask = masking.texts_mask(run.settings.documents.masking)
    rows = decisions.to_dicts()
    for row in rows:
        written = [name for name in WRITTEN if row[name]]
        row.update(zip(written, mask([row[name] for name in written]), strict=True))
    return tables.DECISIONS.frame(rows)


def split_and_score(
    run: StageRun,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
) -> pl.DataFrame:
    """Split the answers into claims, find evidence for each claim and compute all local scores."""
    settings, model = run.settings, run.resources.reviewer("verifier")
    claims = None
    if model is not None:
        passages, verification, llm = records.passages_by_id(chunks), settings.verification, settings.llm
        # `split_claims` may limit the model to some answers or none; the rules split the others
        claims = splitting.split_answers(pairs, passages, model, verification, llm, notify=run.notify)
    return score_claims(run.resources, pairs, documents, chunks, embeddings, run.notify, model_claims=claims)


def score_claims(
    resources: Resources,
    pairs: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    embeddings: pl.DataFrame,
    notify: records.ProgressCallback = records.no_progress,
    *,
    model_claims: dict[str, list[splitting.Claim]] | None = None,
    with_similarity: bool = True,
) -> pl.DataFrame:
    """Return all local scores of all claims; answers without `model_claims` are split by rules.

    Language models are not called. Without similarity the embedding model is not used either.
    """
    return find_claims(
        pairs,
        documents,
        chunks,
        resources.embedder if with_similarity else None,
        notify,
        entailment=resources.entailment,
        embeddings=embeddings,
        model_claims=model_claims,
    )


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
    """Verify claims by the local steps, and the claims that these leave open by the model, if any."""
    sources = {} if model is None else sources_of(documents, chunks)  # only a model reads them
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
        return tables.CANARIES.empty()
    resources = run.resources
    verifier, judge = resources.reviewer("verifier"), resources.reviewer("judge")
    # claims and the model that verifies them; without a model, the local steps decide
    drawn: list[tuple[list[canaries.Canary], LanguageModel | None]] = [(canaries.draw_canaries(chunks), None)]
    decided_by_model = frames["claim_verdicts"]["llm_decision"].is_in(["accept", "reject"]).any()
    if verifier is not None and decided_by_model:  # otherwise no verdict depends on it
        drawn.append((canaries.draw_for_model(chunks), verifier))
    # with other policies vectors only order the evidence, and do not change verdicts of canaries
    by_similarity = run.settings.verification.policy == "similarity_only"
    rows = []
    for drawn_claims, model in drawn:
        pairs = canaries.canary_pairs(drawn_claims, run.batch)
        claims = score_claims(resources, pairs, documents, chunks, embeddings, with_similarity=by_similarity)
        verdicts = _verified_claims(run, model, claims, pairs, documents, chunks)
        rows.append(canaries.verified_rows(drawn_claims, run.batch, claims, verdicts))
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
    drawn = canaries.draw_judge_pairs(judging.with_evidence(grounded, claims, claim_verdicts), chunks)
    pairs_to_judge = [canary.pair for canary in drawn if canary.pair]  # all have one; `if` is for mypy
    passages = records.passages_by_id(chunks)
    assessed = judging.judge_rows(
        pairs_to_judge, passages, judge, settings.judging, llm=settings.llm, notify=run.notify
    )
    decided = ledger.judged_verdicts(tables.ASSESSMENTS.frame(assessed), settings.judging)
    return canaries.judged_rows(drawn, run.batch, decided)


def judge_pairs(run: StageRun, **frames: pl.DataFrame) -> pl.DataFrame:
    """Judge the pairs that passed source verification."""
    return judging.assess_pairs(
        **frames,
        model=run.resources.reviewer("judge"),
        settings=run.settings.judging,
        accept_grounding=run.settings.verification.accept_grounding,
        llm=run.settings.llm,
        notify=run.notify,
    )


def decide_pairs(run: StageRun, documents: pl.DataFrame, **frames: pl.DataFrame) -> pl.DataFrame:
    """Decide on every pair, and write the JSONL files of the ledger, even if a gate will fail."""
    layout, settings = run.resources.layout, run.settings
    verdicts = ledger.build_verdicts(verification=settings.verification, judging=settings.judging, **frames)
    # before the new verdicts are stored, so that a killed run leaves no training examples of older verdicts
    withdrawals.withdraw_outdated(layout, run.batch, verdicts)
    decided_from = {name: frames[name] for name in ("pairs", "claims", "claim_verdicts", "assessments")}
    rows = exports.ledger_rows(verdicts=verdicts, documents=documents, **decided_from)
    exports.write_exports(layout, run.batch, exports.ledger_files(rows))
    return verdicts


def select_examples(resources: Resources, **frames: pl.DataFrame) -> pl.DataFrame:
    """Select the accepted pairs, and return them as training examples."""
    count = resources.counter.count
    return build_training_examples(count_tokens=count, settings=resources.settings.training, **frames)
