"""Statements as the tables that verification reads: a document for each set of passages, a chunk for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import score_claims
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.rows import ChunkColumns, CitationStruct, DocumentColumns, PairColumns
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS, PAIRS
from qa_pipeline.text.references import without_marks
from qa_pipeline.verification.deciding import borderline, decide_claims
from qa_pipeline.verification.llm_verifier import ask_verifier
from qa_pipeline.verification.splitting import Claim

BATCH = "statements"
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim, or an answer of several, and the texts that should prove it.

    `question` is what it answers; a few words say nothing without it. `headings` has those above each
    passage, the title of its document first; nothing where none is known.
    """

    claim: str
    passages: tuple[str, ...]
    language: str = "en"
    question: str | None = None
    headings: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class StatementTables:
    """Tables of statements; `pair_ids` has the pair of each statement, equal statements sharing one."""

    documents: pl.DataFrame
    chunks: pl.DataFrame
    pairs: pl.DataFrame
    pair_ids: list[str]


def statement_tables(statements: Sequence[Statement]) -> StatementTables:
    """Return statements as imported pairs that cite their passages; equal passages share a document.

    Passages of nothing but white space are left out: a statement without any other cites no text.
    """
    documents: dict[str, DocumentColumns] = {}
    chunks: dict[str, list[ChunkColumns]] = {}
    pairs: dict[str, PairColumns] = {}
    pair_ids = []
    for statement in statements:
        headings = statement.headings or ((),) * len(statement.passages)
        stated_passages = [
            passage_and_headings
            for passage_and_headings in zip(statement.passages, headings, strict=True)
            if passage_and_headings[0].strip()
        ]
        passages = [passage for passage, _ in stated_passages]
        above = (
            ("\x1e".join(headings_of_passage) for _, headings_of_passage in stated_passages)
            if statement.headings
            else ()
        )
        document_id = hash_parts(statement.language, *passages, *above)[:16]
        if document_id not in documents:
            documents[document_id] = _document(document_id, passages, statement.language)
            chunks[document_id] = _chunks(document_id, stated_passages, statement.language)
        pair_id = hash_parts(document_id, statement.question or "", statement.claim)[:32]
        pair_ids.append(pair_id)
        chunk_ids = [chunk["chunk_id"] for chunk in chunks[document_id]]
        pairs.setdefault(pair_id, _pair(pair_id, statement, document_id, chunk_ids))
    return StatementTables(
        DOCUMENTS.frame(list(documents.values())),
        CHUNKS.frame([chunk for of_document in chunks.values() for chunk in of_document]),
        PAIRS.frame(list(pairs.values())),
        pair_ids,
    )


def items_as_tables(items: pl.DataFrame) -> StatementTables:
    """Return the answers of labelled items (`ITEMS`), each with its passages."""
    rows = items.select("answer", "context", "language", "question").iter_rows()
    return statement_tables([Statement(claim, tuple(context), *rest) for claim, context, *rest in rows])


def decide_statements(
    tables: StatementTables,
    resources: Resources,
    verifier: LanguageModel | None,
    *,
    model_claims: Mapping[str, list[Claim]] | None = None,
    to_the_question: bool = True,
    similarity: bool = True,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the claims of statements with their scores, and the verdict on each.

    The local steps of verification decide first, then the verifier, where there is one.

    Args:
        tables: of the statements.
        resources: settings, and the models of the local steps.
        verifier: is asked about the claims that the local steps leave open; None leaves them so.
        model_claims: claims that a model cut, in place of those of the rules.
        to_the_question: whether a claim must also answer the question of its statement.
        similarity: whether cosines are computed, by which no claim is accepted.
    """
    settings = resources.settings
    claims = score_claims(
        resources,
        tables.pairs,
        tables.documents,
        tables.chunks,
        EMBEDDINGS.empty(),
        model_claims=model_claims,
        one_corpus=False,
        to_the_question=to_the_question,
        similarity=similarity,
    )
    verdicts = decide_claims(claims, tables.pairs, settings.verification)
    if verifier is None:
        return claims, verdicts
    replies = ask_verifier(
        borderline(claims, verdicts),
        tables.pairs,
        tables.documents,
        tables.chunks,
        verifier,
        settings.verification,
        settings.llm,
    )
    return claims, decide_claims(claims, tables.pairs, settings.verification, replies)


def _document(document_id: str, passages: Sequence[str], language: str) -> DocumentColumns:
    text = _BETWEEN.join(passages)
    return {
        "document_id": document_id,
        "batch": BATCH,
        "path": f"{document_id}.txt",
        "content_sha256": hash_parts(text),
        "size": len(text.encode()),
        "language": language,
        "title": "",
        "text": text,
        "sections": [{"heading_path": [], "level": 0, "start": 0, "end": len(text)}],
        "pages": [],
        "languages": [],
        "left_out": [],
        "masked": [],
        "status": "parsed",
    }


def _chunks(
    document_id: str, passages: Sequence[tuple[str, Sequence[str]]], language: str
) -> list[ChunkColumns]:
    """Return a chunk for each passage, under its headings."""
    rows: list[ChunkColumns] = []
    start = 0
    length = len(_BETWEEN.join(text for text, _ in passages))
    for position, (text, headings) in enumerate(passages):
        rows.append(
            {
                "chunk_id": f"{document_id}-{position}",
                "batch": BATCH,
                "document_id": document_id,
                "position": position,
                "char_start": start,
                "char_end": start + len(text),
                "title": "",
                "section_path": [*headings],
                "section_start": 0,
                "section_end": length,
                "tokens": len(text.split()),
                "language": language,
                "text": text,
            }
        )
        start += len(text) + len(_BETWEEN)
    return rows


def _pair(pair_id: str, statement: Statement, document_id: str, chunk_ids: list[str]) -> PairColumns:
    citation: CitationStruct = {
        "raw": document_id,
        "document_id": document_id,
        "chunk_id": None,
        "quote": None,
        "number": None,
        "resolution": "document",
    }
    return {
        "pair_id": pair_id,
        "batch": BATCH,
        "question": statement.question or "",
        # its passages decide, whatever its marks cite
        "answer": without_marks(statement.claim),
        "language": statement.language,
        "question_type": "imported",
        "origin": "imported",
        "passage_ids": chunk_ids,
        "used_chunk_ids": chunk_ids,
        "citations": [citation],
        "coverage": "full",
        "status": "drafted",
        "generator": BATCH,
    }
