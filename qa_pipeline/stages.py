"""The stages as one sees them from outside: which parts and tables each one gets.

What belongs here: one function a stage, a few lines long, in the order of the road. What does not: what a
stage does, the stages that check (`checking.py`), driving a batch (`batch.py` without Dagster,
`qa_pipeline.defs` with it; both call these), or where files lie (`layout.py`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.chunking.chunks import chunk_documents
from qa_pipeline.chunking.repeats import mark_repeated_blocks
from qa_pipeline.corpus.corpora import open_corpus
from qa_pipeline.corpus.files import PAIRS_FILES, DocumentFailure, FoundFile, read_bytes
from qa_pipeline.corpus.places import BatchFiles
from qa_pipeline.curation.decisions import overrule_claims, read_decisions
from qa_pipeline.curation.exports import chat_rows, json_lines, ledger_files, ledger_rows
from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.documents.masking.masking import description_and_masking, reference_mask, texts_mask
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import PairsFileError
from qa_pipeline.evaluation.calibration.what_if import record_deciding
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.edits import with_edited_pairs
from qa_pipeline.generation.pairs_file import import_pairs, mask_pairs, parse_pairs, read_pairs
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.judging import assess_pairs
from qa_pipeline.records import Notify, silent
from qa_pipeline.reporting.costs import calls_frame
from qa_pipeline.resources import Parts
from qa_pipeline.retrieval.embeddings import embed_chunks
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import Shard, build_index, nearest_chunks
from qa_pipeline.settings.documents import MaskingSettings
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.tables import CANARIES, DECISIONS, LAYOUTS, PAIRS, QUESTIONS
from qa_pipeline.text.language import LanguageShare, chunk_languages
from qa_pipeline.verification.canaries.material import gather
from qa_pipeline.verification.canaries.outcomes import canary_rows
from qa_pipeline.verification.canaries.seeding import canary_pairs, seed_canaries
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.contradictions import Found, find_contradictions
from qa_pipeline.verification.entailment.claims import fill_entailment, fill_spans
from qa_pipeline.verification.llm_splitting import finer_claims
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.refusals import judge_refusals
from qa_pipeline.verification.splitting import Claim

LEDGER_INPUTS = ("pairs", "verdicts", "claims", "claim_verdicts", "assessments", "documents")


def batch_files(parts: Parts, batch: str) -> BatchFiles:
    """The files of a batch, wherever the corpus lies.

    Raises:
        CorpusError: there is no such batch.
    """
    return open_corpus(parts.settings.corpus, parts.settings.documents).batch(batch)


def make_documents(
    parts: Parts, batch: str, previous: pl.DataFrame | None, notify: Notify = silent
) -> pl.DataFrame:
    """Read the files of a batch; those of unchanged bytes are taken over from the previous table."""
    files = batch_files(parts, batch)
    return read_documents(batch, files, parts.settings.documents, parts.parse, previous, notify)


def make_chunks(parts: Parts, documents: pl.DataFrame) -> pl.DataFrame:
    """Cut the parsed documents, and mark what says again what others say."""
    settings = parts.settings.chunking
    chunks = chunk_documents(documents, parts.counter, settings, languages=_chunk_languages)
    return mark_repeated_blocks(chunks, documents, settings.repeated_in_documents)


def _chunk_languages(texts: Sequence[str], document: Mapping[str, Any]) -> list[str]:
    shares = [LanguageShare(**share) for share in document["languages"]]
    return chunk_languages(texts, shares) if shares else [document["language"]] * len(texts)


def make_embeddings(parts: Parts, chunks: pl.DataFrame, notify: Notify = silent) -> pl.DataFrame:
    """Embed the chunks; only texts never embedded before reach the model."""
    return embed_chunks(chunks, parts.embedder, parts.vectors, notify)


def make_index(parts: Parts, embeddings: pl.DataFrame) -> Shard:
    """Gather the vectors of the batch into its shard."""
    return build_index(embeddings, parts.settings.index)


def make_questions(
    parts: Parts,
    batch: str,
    chunks: pl.DataFrame,
    shard: Shard,
    previous: pl.DataFrame | None,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Ask the chunks for questions; without a generator there are none."""
    if parts.generator is None:
        return QUESTIONS.empty()
    retriever = Retriever(chunks, shard, parts.embedder, parts.settings.retrieval)
    return write_questions(
        chunks,
        parts.generator,
        retriever.retrieve_scored,
        parts.settings.generation,
        parts.settings.llm,
        batch=batch,
        previous=previous,
        notify=notify,
    )


def make_pairs(
    parts: Parts,
    batch: str,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    questions: pl.DataFrame,
    decisions: pl.DataFrame,
    previous: pl.DataFrame | None,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Draft an answer to each kept question; add the pairs beside the documents and those people edited."""
    beside = read_pairs_beside(batch_files(parts, batch), parts.settings.pairs_file)
    imported = _imported(parts, beside, batch, documents, chunks)
    if parts.generator is None:
        return with_edited_pairs(imported, decisions, documents, chunks, batch)
    drafted = draft_answers(
        questions,
        chunks,
        parts.generator,
        parts.settings.generation,
        parts.settings.llm,
        previous=previous,
        notify=notify,
    )
    return with_edited_pairs(pl.concat([drafted, imported]), decisions, documents, chunks, batch)


def import_file(
    parts: Parts,
    file: Path,
    batch: str,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    decisions: pl.DataFrame,
) -> pl.DataFrame:
    """Read one local file of existing pairs, and add those that people edited."""
    imported = _imported(parts, [read_pairs(file, parts.settings.pairs_file)], batch, documents, chunks)
    return with_edited_pairs(imported, decisions, documents, chunks, batch)


def read_pairs_beside(files: BatchFiles, limits: PairsFileSettings) -> list[pl.DataFrame]:
    """Read the files of existing pairs beside the documents of a batch.

    Raises:
        PairsFileError: one cannot be read; like a document, it is not followed out of the batch.
    """
    found = [file for name in PAIRS_FILES if (file := files.find(name)) is not None]
    return [parse_pairs(_content(file, limits), file.path, limits) for file in found]


def _content(file: FoundFile, limits: PairsFileSettings) -> bytes:
    try:
        return read_bytes(file, limits.max_bytes, "pairs_file.max_bytes")
    except DocumentFailure as failure:
        if failure.reason == "outside_corpus":
            told = f"{file.path} is a link out of the batch folder; put the file itself there"
        else:
            told = f"{file.path} cannot be read: {failure.detail}"
        raise PairsFileError(told) from failure


def _imported(
    parts: Parts,
    read: Sequence[pl.DataFrame],
    batch: str,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
) -> pl.DataFrame:
    """Resolve what pairs cite; a pair that two files hold is two rows.

    They are masked like the batch's documents: their quotes must still be found there.
    """
    if not read:
        return PAIRS.empty()
    return import_pairs(_masked(parts, batch, pl.concat(read)), documents, chunks, batch)


def _masked(parts: Parts, batch: str, raw: pl.DataFrame) -> pl.DataFrame:
    masking = _masking(parts, batch)
    return mask_pairs(raw, texts_mask(masking), reference_mask(masking)) if masking else raw


def _masking(parts: Parts, batch: str) -> MaskingSettings | None:
    """How texts of the batch are masked; None where they stay as they are."""
    _, masking = description_and_masking(batch, batch_files(parts, batch), parts.settings.documents.masking)
    return masking if masking.action in ("mask", "drop") else None


def make_decisions(parts: Parts, batch: str) -> pl.DataFrame:
    """What people decided about the batch, the texts they wrote masked like its documents."""
    decisions = read_decisions(parts.layout.decisions(batch))
    masking = _masking(parts, batch) if decisions.height else None
    if masking is None:
        return decisions
    mask = texts_mask(masking)
    rows = decisions.to_dicts()
    for row in rows:
        written = [name for name in ("answer", "why") if row[name]]
        row.update(zip(written, mask([row[name] for name in written]), strict=True))
    return DECISIONS.frame(rows)


def make_llm_calls(parts: Parts, batch: str) -> pl.DataFrame:
    """What the calls for a batch took, those of earlier runs included."""
    return calls_frame(parts.calls(batch), keep_prompts=parts.settings.llm.store.keep_prompts)


def make_training_examples(
    parts: Parts,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    assessments: pl.DataFrame,
    chunks: pl.DataFrame,
    documents: pl.DataFrame,
) -> pl.DataFrame:
    """Turn accepted pairs into training examples; the rows are gated there, whatever comes in."""
    return build_training_examples(
        pairs=pairs,
        verdicts=verdicts,
        claims=claims,
        claim_verdicts=claim_verdicts,
        assessments=assessments,
        chunks=chunks,
        documents=documents,
        counter=parts.counter,
        settings=parts.settings.training,
    )


def make_ledger_exports(frames: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """The JSONL files of a batch's ledger by name, whether or not its gates pass."""
    rows = ledger_rows(**{name: frames[name] for name in LEDGER_INPUTS})
    return _as_lines(ledger_files(rows))


def make_chat_exports(training_examples: pl.DataFrame) -> dict[str, bytes]:
    """The JSONL files of a batch's chat messages by name, one for each layout."""
    return _as_lines({f"chat_{layout}": chat_rows(training_examples, layout) for layout in LAYOUTS})


def _as_lines(rows: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    return {name: b"".join(json_lines(frame)) for name, frame in rows.items()}


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
    near = nearest_chunks(make_index(parts, embeddings), owners, settings.contradiction_neighbours)
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
