"""The stages of a batch in order: one function each, and what the rest of the package has to know of it.

What a stage does is in the folder of its subject, as functions on frames; here it gets what it uses.
`running.py` runs the stages in this process, `qa_pipeline.defs` as Dagster assets. A new table is declared
in `tables.py` and made by a stage here; both run it, version it and show it from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.coverage import cover_sections
from qa_pipeline.curation.decisions import WRITTEN, overrule_claims, read_decisions
from qa_pipeline.curation.exports import (
    chat_rows,
    exports_card,
    json_lines,
    ledger_files,
    ledger_rows,
)
from qa_pipeline.curation.forgetting import forgotten_documents
from qa_pipeline.curation.ledger import build_verdicts, judged_verdicts, record_deciding
from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.curation.withdrawals import end_withdrawal, note_origin, withdraw_outdated
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.documents.corpus.files import PAIRS_FILES, DocumentFailure, FoundFile, read_bytes
from qa_pipeline.documents.corpus.places import BatchFiles
from qa_pipeline.documents.masking.masking import description_and_masking, reference_mask, texts_mask
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import InputError
from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.generation.answers import Guard, Select, Selection, draft_answers, keep_all
from qa_pipeline.generation.deduplication import find_twins
from qa_pipeline.generation.edits import with_edited_pairs
from qa_pipeline.generation.guard import Relevance, guard_questions
from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.pairs_file import (
    LIMITS,
    RawPair,
    import_pairs,
    mask_pairs,
    parse_pairs,
    read_pairs,
)
from qa_pipeline.generation.planning import topics_of
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.generation.reference_validation import (
    accepted_places,
    reference_requests,
    validate_references,
)
from qa_pipeline.generation.round_trip import make_round_trips
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.calls import calls_frame
from qa_pipeline.llm.tracing import stage_span
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.prompts.loading import SYSTEM_PROMPTS
from qa_pipeline.records import Passage, ProgressCallback, Question, no_progress, passages_by_id
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.retrieval.repeats import mark_repeated_blocks
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import Shard, build_index, embed_chunks
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.rows import KeptQuestionRow
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CANARIES,
    DECISIONS,
    LAYOUTS,
    PAIRS,
    QUESTIONS,
    STORED,
)
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
from qa_pipeline.verification.llm_splitting import split_answers
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.outcomes import grounded_pairs
from qa_pipeline.verification.refusals import judge_refusals
from qa_pipeline.verification.splitting import Claim


@dataclass(frozen=True, slots=True)
class StageRun:
    """A stage of one batch, about to run.

    Args:
        resources: settings and the models that are built from them.
        batch: the name of the batch.
        inputs: the stage's inputs by name: tables, and the shard under `index`.
        previous: the stage's own table as the last run left it; None without one, or where it is not asked.
        notify: called with the progress of the stage.
        figures: what the stage counted besides its table, for people; the stage fills it.
    """

    resources: Resources
    batch: str
    inputs: Mapping[str, Any]
    previous: pl.DataFrame | None = None
    notify: ProgressCallback = no_progress
    figures: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.inputs[name]


@dataclass(frozen=True, slots=True)
class Stage:
    """The declaration of a stage.

    Args:
        name: of the stage, of its table in `tables.STORED` and of its asset.
        run: makes the table.
        group: under which the UI shows it.
        description: what is worth knowing of it, for the UI.
        inputs: the stages whose output it reads.
        after: stages that come before it without being read.
        reads_corpus: whether it looks into the batch folder.
        settings: the groups of settings that decide what it makes, besides its inputs.
        prompts: the prompts that do.
        asks_a_model: whether it may call a hosted model, and so wait for replies.
        keeps: whether it takes rows over from its previous table.
        counts: what its progress counts.
        computed_with: the library, for the UI; a model goes before it.
        finish: puts files beside the table once the stage has run, before the table is kept.
    """

    name: str
    run: Callable[[StageRun], Any]
    group: str
    description: str
    inputs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reads_corpus: bool = False
    settings: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    asks_a_model: bool = False
    keeps: bool = False
    counts: str | None = None
    computed_with: str = "polars"
    finish: Callable[[StageRun, Any], None] | None = None

    @property
    def is_table(self) -> bool:
        """Return whether it makes a stored table."""
        return self.name in STORED


def run_stage(stage: Stage, run: StageRun) -> Any:
    """Run a stage under its span, put its files in place and return its output; the caller stores that."""
    with stage_span(run.resources.settings, run.batch, stage.name, asks_a_model=stage.asks_a_model):
        output = stage.run(run)
        if stage.finish is not None:
            stage.finish(run, output)
    return output


def batch_files(resources: Resources, batch: str) -> BatchFiles:
    """Return the files of a batch, wherever the corpus lies.

    Raises:
        CorpusError: there is no such batch.
    """
    return open_corpus(resources.settings.corpus).batch(batch)


def read_batch(
    resources: Resources, batch: str, previous: pl.DataFrame | None, notify: ProgressCallback = no_progress
) -> pl.DataFrame:
    """Read the files of a batch; those of unchanged bytes are taken over from the previous table."""
    files = batch_files(resources, batch)
    forgotten = forgotten_documents(resources.layout)
    settings = resources.settings.documents
    return read_documents(batch, files, settings, resources.parse, previous, notify, forgotten)


def _note_documents(run: StageRun, documents: pl.DataFrame) -> None:
    run.resources.note_documents(documents)
    note_origin(run.resources.layout, run.batch, run.resources.settings.corpus)


def cut_documents(resources: Resources, documents: pl.DataFrame) -> pl.DataFrame:
    """Cut the parsed documents, and mark chunks that repeat others."""
    settings = resources.settings.chunking
    chunks = chunk_documents(documents, resources.counter, settings)
    return mark_repeated_blocks(chunks, documents)


def _index(run: StageRun) -> Shard:
    return build_index(run["embeddings"])


def _questions(run: StageRun) -> pl.DataFrame:
    """Ask the chunks for questions; without a generator there are none."""
    resources, settings = run.resources, run.resources.settings
    if resources.generator is None:
        return QUESTIONS.empty()
    shard: Shard = run["index"]
    retriever = Retriever(run["chunks"], shard, resources.embedder, settings.retrieval, resources.reranker)
    return write_questions(
        run["chunks"],
        resources.generator,
        retriever.retrieve,
        settings.generation,
        settings.llm,
        batch=run.batch,
        links=run["links"],
        topics=topics_of(shard.vectors) if settings.generation.max_questions else None,
        previous=run.previous,
        notify=run.notify,
    )


def _pairs(run: StageRun) -> pl.DataFrame:
    """Draft an answer to each kept question; add the pairs beside the documents and edited ones."""
    resources, settings = run.resources, run.resources.settings
    file_pairs = read_pairs_beside(batch_files(resources, run.batch))
    added = resources.layout.added_pairs(run.batch)
    if added.is_file():
        file_pairs += read_pairs(added)
    pairs = [_imported(run, file_pairs)]
    if resources.generator is not None:
        drafted = draft_answers(
            run["questions"],
            run["chunks"],
            resources.generator,
            settings.generation,
            settings.llm,
            select=passage_selection(resources),
            guard=relevance_guard(resources),
            previous=run.previous,
            notify=run.notify,
        )
        pairs.insert(0, mark_flawed(drafted, run["chunks"], settings.generation.answer_checks))
    return _with_edits(run, pl.concat(pairs))


def relevance_guard(resources: Resources) -> Guard:
    """Return the relevance guard of the settings; it asks the verifying model, where it asks one."""
    settings, model = resources.settings, resources.reviewer("verifier")

    def guard(rows: Sequence[Question], passages: Sequence[Sequence[Passage]]) -> list[Relevance]:
        mode, embedder = settings.generation.guard, resources.embedder
        return guard_questions(rows, passages, mode, embedder, model, settings.llm)

    return guard


def passage_selection(resources: Resources) -> Select:
    """Return a function that selects the passages to draft from; all, unless they are validated."""
    settings, generation = resources.settings, resources.settings.generation
    if not generation.enable_reference_validation:
        return keep_all

    def select(rows: Sequence[KeptQuestionRow], passages: Mapping[str, Passage]) -> list[Selection]:
        by_question = [reference_requests(row, [passages[i] for i in row["passage_ids"]]) for row in rows]
        model = resources.reviewer("verifier", generation.validation_model)
        flat = [request for requests in by_question for request in requests]
        decisions = iter(validate_references(flat, generation, resources.embedder, model, settings.llm))
        decided = [[next(decisions) for _ in requests] for requests in by_question]
        return [
            Selection(
                accepted_places(of_question, generation),
                validated=True,
                error=next((decision.error for decision in of_question if decision.error), None),
            )
            for of_question in decided
        ]

    return select


def pairs_of_file(run: StageRun, file: Path) -> pl.DataFrame:
    """Read one local file of existing pairs, and add those that people edited."""
    return _with_edits(run, _imported(run, read_pairs(file)))


def _with_edits(run: StageRun, pairs: pl.DataFrame) -> pl.DataFrame:
    return with_edited_pairs(pairs, run["decisions"], run["documents"], run["chunks"], run.batch)


def read_pairs_beside(files: BatchFiles) -> list[RawPair]:
    """Read the files of existing pairs beside the documents of a batch.

    Raises:
        InputError: one cannot be read; like a document, it is not followed out of the batch.
    """
    pair_files = [file for name in PAIRS_FILES if (file := files.find(name)) is not None]
    return [pair for file in pair_files for pair in parse_pairs(_content(file), file.path)]


def _content(file: FoundFile) -> bytes:
    try:
        return read_bytes(file, LIMITS.max_bytes, "the limit of files of pairs")
    except DocumentFailure as failure:
        if failure.reason == "outside_corpus":
            message = f"{file.path} is a link out of the batch folder; put the file itself there"
        else:
            message = f"{file.path} cannot be read: {failure.detail}"
        raise InputError(message) from failure


def _imported(run: StageRun, raw: list[RawPair]) -> pl.DataFrame:
    """Resolve what pairs cite; a pair that two files hold is two rows.

    They are masked like the batch's documents: their quotes must still be found there.
    """
    if not raw:
        return PAIRS.empty()
    masking = _masking(run)
    if masking is not None:
        raw = mask_pairs(raw, texts_mask(masking), reference_mask(masking))
    imported = import_pairs(raw, run["documents"], run["chunks"], run.batch)
    return mark_flawed(imported, run["chunks"], run.resources.settings.generation.answer_checks)


def _masking(run: StageRun) -> MaskingSettings | None:
    """Return the masking of the batch's texts; None where they stay as they are."""
    files, settings = batch_files(run.resources, run.batch), run.resources.settings.documents.masking
    _, masking = description_and_masking(run.batch, files, settings)
    return masking if masking.action in ("mask", "drop") else None


def _decisions(run: StageRun) -> pl.DataFrame:
    """Return the decisions of people about the batch, their texts masked like its documents."""
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


def _twins(run: StageRun) -> pl.DataFrame:
    return find_twins(run["pairs"])


def _claims(run: StageRun) -> pl.DataFrame:
    """Split the answers into claims, find the evidence of each and compute every local score.

    A model that verifies cuts answers into single statements, where the settings want it and there is one.
    """
    settings, model = run.resources.settings, run.resources.reviewer("verifier")
    model_claims = (
        None
        if model is None
        else split_answers(
            run["pairs"],
            passages_by_id(run["chunks"]),
            model,
            settings.verification,
            settings.llm,
            notify=run.notify,
        )
    )
    return score_claims(
        run.resources,
        run["pairs"],
        run["documents"],
        run["chunks"],
        run["embeddings"],
        run.notify,
        model_claims=model_claims,
    )


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
    """Return every local score of every claim; answers without `model_claims` are split by rules.

    No language model is asked. Without `similarity` nothing is embedded.
    """
    claims = find_claims(
        pairs,
        documents,
        chunks,
        resources.embedder if similarity else None,
        notify if resources.entailment is None else no_progress,  # of two counts the slower is shown
        embeddings=embeddings,
        model_claims=model_claims,
    )
    return fill_entailment(claims, pairs, passages_by_id(chunks), resources.entailment, notify)


def _refusals(run: StageRun) -> pl.DataFrame:
    return judge_refusals(run["pairs"], run["chunks"], run.resources.embedder, embeddings=run["embeddings"])


def _claim_verdicts(run: StageRun) -> pl.DataFrame:
    """Decide each claim; a model, where there is one, decides the borderline band, and a person anything."""
    settings = run.resources.settings
    decided = verify_claims(
        run["claims"],
        run["pairs"],
        run["documents"],
        run["chunks"],
        settings.verification,
        model=run.resources.reviewer("verifier"),
        llm=settings.llm,
        notify=run.notify,
    )
    return overrule_claims(decided, run["claims"], run["pairs"], run["decisions"])


def _round_trips(run: StageRun) -> pl.DataFrame:
    """Question the verified pairs once more: those of several hops always, others by setting."""
    settings = run.resources.settings
    return make_round_trips(
        **run.inputs,
        accept_grounding=settings.verification.accept_grounding,
        only_hops=not settings.verification.round_trip,
        model=run.resources.reviewer("verifier"),
        llm=settings.llm,
        notify=run.notify,
    )


def _canaries(run: StageRun) -> pl.DataFrame:
    """Make rows of known verdict and have them verified and judged exactly as pairs are."""
    if not run.resources.settings.canaries.enabled:
        return CANARIES.empty()
    verifier, judge = run.resources.reviewer("verifier"), run.resources.reviewer("judge")
    rows = [_verified(run, draw_canaries(run["chunks"]), None)]
    if verifier is not None:
        rows.append(_verified(run, draw_for_model(run["chunks"]), verifier))
    if judge is not None and run.resources.settings.judging.enabled:
        rows.append(_judged(run, judge))
    return pl.concat(rows)


def _verified(run: StageRun, canaries: Sequence[Canary], model: LanguageModel | None) -> pl.DataFrame:
    settings, documents, chunks = run.resources.settings, run["documents"], run["chunks"]
    pairs = canary_pairs(canaries, run.batch)
    # but for that policy vectors only order the evidence that is tried, and change no verdict of a canary
    similarity = settings.verification.policy == "similarity_only"
    claims = score_claims(run.resources, pairs, documents, chunks, run["embeddings"], similarity=similarity)
    verdicts = verify_claims(
        claims,
        pairs,
        documents,
        chunks,
        settings.verification,
        model=model,
        llm=settings.llm,
        notify=run.notify,
    )
    return verified_rows(canaries, run.batch, claims, verdicts)


def _judged(run: StageRun, judge: LanguageModel) -> pl.DataFrame:
    settings, proofs = run.resources.settings, (run["claims"], run["claim_verdicts"])
    # whatever share of claims other pairs may be accepted with, these are to be right
    right = grounded_pairs(run["pairs"], *proofs, accept_grounding=1.0)
    passages = passages_by_id(run["chunks"])
    canaries = draw_judge_pairs(with_evidence(right, *proofs), run["chunks"])
    read = [canary.pair for canary in canaries if canary.pair is not None]
    assessed = judge_rows(read, passages, judge, settings.judging, llm=settings.llm, notify=run.notify)
    decided = judged_verdicts(ASSESSMENTS.frame(assessed), settings.judging)
    return judged_rows(canaries, run.batch, decided)


def _assessments(run: StageRun) -> pl.DataFrame:
    """Have the pairs that passed source verification judged."""
    settings = run.resources.settings
    return assess_pairs(
        **run.inputs,
        model=run.resources.reviewer("judge"),
        settings=settings.judging,
        accept_grounding=settings.verification.accept_grounding,
        llm=settings.llm,
        notify=run.notify,
    )


def _verdicts(run: StageRun) -> pl.DataFrame:
    """Give every pair its verdict, and record the settings that decided."""
    settings = run.resources.settings
    record_deciding(run.resources.layout, settings.verification, settings.judging)
    frames = {name: frame for name, frame in run.inputs.items() if name != "documents"}
    return build_verdicts(**frames, verification=settings.verification, judging=settings.judging)


def _write_ledger(run: StageRun, verdicts: pl.DataFrame) -> None:
    """Write the JSONL files of the ledger, whatever the gates say; a withdrawal may follow."""
    withdraw_outdated(run.resources.layout, run.batch, verdicts)
    frames = {name: run[name] for name in ("pairs", "claims", "claim_verdicts", "assessments", "documents")}
    write_exports(run.resources.layout, run.batch, ledger_files(ledger_rows(verdicts=verdicts, **frames)))


def calls_table(resources: Resources, batch: str) -> pl.DataFrame:
    """Return the usage of the calls for a batch, those of earlier runs included."""
    return calls_frame(resources.calls(batch), keep_prompts=resources.settings.llm.store.keep_prompts)


def _training_examples(run: StageRun) -> pl.DataFrame:
    """Return the training examples, which are gated there, whatever comes in."""
    settings = run.resources.settings.training
    return build_training_examples(**run.inputs, count_tokens=run.resources.counter.count, settings=settings)


def publish(layout: Layout, batch: str, training_examples: pl.DataFrame) -> list[str]:
    """Write the chat messages of a batch whose gates hold, and end its withdrawal; the names of the files."""
    files = {f"chat_{layout_name}": chat_rows(training_examples, layout_name) for layout_name in LAYOUTS}
    write_exports(layout, batch, files)
    end_withdrawal(layout, batch)
    return list(files)


def write_exports(layout: Layout, batch: str, files: Mapping[str, pl.DataFrame]) -> None:
    """Put JSONL files in place, and beside their folders the card."""
    for name, rows in files.items():
        write_bytes(layout.export(name, batch), b"".join(json_lines(rows)))
    card = exports_card()
    if not (layout.exports_card.is_file() and layout.exports_card.read_bytes() == card):
        write_bytes(layout.exports_card, card)


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "documents",
            lambda run: read_batch(run.resources, run.batch, run.previous, run.notify),
            "ingestion",
            "Any format becomes canonical text with sections and pages; what cannot be read keeps a row.",
            reads_corpus=True,
            settings=("documents",),
            keeps=True,
            counts="files",
            finish=_note_documents,
        ),
        Stage(
            "chunks",
            lambda run: cut_documents(run.resources, run["documents"]),
            "ingestion",
            "Sections are cut apart from each other and bounded in tokens, so an edit moves no other chunk.",
            inputs=("documents",),
            settings=("chunking", "embedding"),
        ),
        Stage(
            "embeddings",
            lambda run: embed_chunks(run["chunks"], run.resources.embedder, run.notify),
            "ingestion",
            "Vectors are cached by text and model: only new texts are computed.",
            inputs=("chunks",),
            settings=("embedding",),
            counts="texts embedded",
            computed_with="pytorch",
        ),
        Stage(
            "index",
            _index,
            "ingestion",
            "One FAISS shard per batch; large ones are searched approximately. No batch changes another's "
            "shard.",
            inputs=("embeddings",),
            settings=(),
            computed_with="faiss",
        ),
        Stage(
            "links",
            lambda run: link_chunks(run["chunks"]),
            "generation",
            "A light graph of the batch: chunks that speak of the same name, heading or rare words. "
            "Questions of two hops are asked along its edges.",
            inputs=("chunks",),
        ),
        Stage(
            "questions",
            _questions,
            "generation",
            "A planned mix of types over the chunks; those of unchanged chunks are kept and not asked again.",
            inputs=("chunks", "index", "links"),
            settings=("generation", "retrieval", "embedding", "llm"),
            prompts=("questions", "standalone"),
            asks_a_model=True,
            keeps=True,
            counts="chunks asked",
        ),
        Stage(
            "decisions",
            _decisions,
            "generation",
            "What `qa-pipeline decide` recorded: it overrules the verdicts, and edits become pairs.",
            reads_corpus=True,
        ),
        Stage(
            "pairs",
            _pairs,
            "generation",
            "Answers drafted from the retrieved passages only, with citations; imported pairs, and those "
            "that people added in the review app, take the same way.",
            inputs=("documents", "chunks", "questions", "decisions"),
            reads_corpus=True,  # a pairs file may lie beside the documents
            settings=("generation", "llm", "embedding", "documents.masking"),
            prompts=("validate_reference", "guard", "answer"),
            asks_a_model=True,
            keeps=True,
            counts="answers drafted",
        ),
        Stage(
            "twins",
            _twins,
            "generation",
            "Pairs that may say the same, in equal or nearly equal words. The ledger keeps the best of each.",
            inputs=("pairs",),
            settings=(),
        ),
        Stage(
            "claims",
            _claims,
            "validation",
            "Answers are cut into claims and looked up in what they cite; the scores decide nothing yet.",
            inputs=("pairs", "documents", "chunks", "embeddings"),
            settings=("embedding", "verification", "llm"),
            prompts=("split",),
            asks_a_model=True,
            counts="answers and claims read",
        ),
        Stage(
            "refusals",
            _refusals,
            "validation",
            "A refusal is right only if nothing in the batch answers the question.",
            inputs=("pairs", "chunks", "embeddings"),
            settings=("verification", "embedding"),
            computed_with="pytorch",
        ),
        Stage(
            "claim_verdicts",
            _claim_verdicts,
            "validation",
            "Source verification: citations and what the evidence proves decide, a model only the rest.",
            inputs=("claims", "pairs", "documents", "chunks", "decisions"),
            settings=("verification", "llm"),
            prompts=("verify",),
            asks_a_model=True,
            counts="borderline claims asked",
        ),
        Stage(
            "round_trips",
            _round_trips,
            "validation",
            "A verified question is answered from its quotes alone, which should agree, and from "
            "memory, which should fail; passages that hold the same proof are noted. One of several hops "
            "is answered from a chunk less than it needs, which should fail too.",
            inputs=("pairs", "claims", "claim_verdicts", "chunks"),
            settings=("verification", "llm"),
            prompts=("answer", "recall", "compare"),
            asks_a_model=True,
            counts="calls answered",
        ),
        Stage(
            "canaries",
            _canaries,
            "validation",
            "Claims made wrong in one thing, sentences as they are and of other documents, answers of other "
            "questions and cut short. A verifier or judge that accepts what is wrong decides nothing in this "
            "batch. They do not tell how many rows of a release are wrong.",
            inputs=("documents", "chunks", "embeddings", "pairs", "claims", "claim_verdicts"),
            settings=("canaries", "embedding", "verification", "judging", "llm"),
            prompts=("verify", "judge"),
            asks_a_model=True,
            counts="canaries asked about",
        ),
        Stage(
            "assessments",
            _assessments,
            "validation",
            "Relevance, correctness and completeness from a judge; without one, rows are marked not judged.",
            inputs=("pairs", "claims", "claim_verdicts", "chunks"),
            settings=("judging", "verification", "llm"),
            prompts=("judge",),
            asks_a_model=True,
            counts="pairs judged",
        ),
        Stage(
            "verdicts",
            _verdicts,
            "curation",
            "Accepted, rejected, needs review or failed, with the reason and the thresholds that decided.",
            inputs=(
                "pairs",
                "twins",
                "claims",
                "claim_verdicts",
                "refusals",
                "assessments",
                "canaries",
                "round_trips",
                "decisions",
                "documents",
            ),
            settings=("verification", "judging"),
            finish=_write_ledger,
        ),
        Stage(
            "coverage",
            lambda run: cover_sections(run["chunks"], run["questions"], run["pairs"], run["verdicts"]),
            "curation",
            "What each section was asked and what was accepted of it; a section without an accepted question "
            "says why.",
            inputs=("chunks", "questions", "pairs", "verdicts"),
        ),
        Stage(
            "llm_calls",
            lambda run: calls_table(run.resources, run.batch),
            "cost",
            "Tokens, times, outcome and cost of each call, as the store of replies noted them.",
            after=(
                *("questions", "pairs", "claims", "claim_verdicts", "round_trips"),
                *("canaries", "assessments"),
            ),
        ),
        Stage(
            "training_examples",
            _training_examples,
            "curation",
            "Chat messages in three layouts, with the proof of each claim and where all of it comes from.",
            inputs=(
                "pairs",
                "verdicts",
                "claims",
                "claim_verdicts",
                "assessments",
                "round_trips",
                "chunks",
                "documents",
            ),
            settings=("training", "embedding", "quality"),  # quality: another limit may let it pass
            prompts=SYSTEM_PROMPTS,
        ),
    )
}
"""All stages by name, each after those whose output it reads."""
