"""One pair as its page shows it: question, marked answer, claims with their evidence, scores, history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import content_hashes, decision_states, read_decisions
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.people.review.stored import StoredTables
from qa_pipeline.storage.rows import ChunkRow, ClaimRow, PairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DOCUMENTS,
    PAIRS,
    VERDICTS,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A quote in a document: the words, where they are, and how near they are to the claim."""

    document_id: str
    path: str
    chunk_id: str
    section: str
    page: int | None
    start: int
    end: int
    quote: str
    similarity: float | None


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim of the answer with its verdict, the reason in words, and its evidence."""

    number: int
    claim_id: str
    text: str
    start: int
    end: int
    verdict: str
    decided_by: str
    reason: str | None
    difference: str | None
    places: list[Place]


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A stretch of the answer: `claim` is the claim it belongs to, if any."""

    text: str
    claim: ClaimView | None


@dataclass(frozen=True, slots=True)
class PairView:
    """Everything that the page of a pair shows."""

    pair: PairRow
    content_sha256: str
    verdict: dict[str, Any]
    reason: str
    claims: list[ClaimView]
    answer: list[AnswerPiece]
    passages: list[ChunkRow]
    assessment: dict[str, Any] | None
    history: list[dict[str, Any]]

    @property
    def supported(self) -> int:
        """Return how many claims are supported."""
        return sum(claim.verdict == "supported" for claim in self.claims)


def pair_view(tables: StoredTables, batch: str, pair_id: str) -> PairView:
    """Gather a pair from the tables of its batch.

    Raises:
        InputError: the batch has no such pair.
        TableError: its tables cannot be read.
    """
    own = pl.col("pair_id") == pair_id
    pairs = tables.frame(PAIRS, batch).filter(own)
    if not pairs.height:
        raise InputError(f"batch {batch!r} has no pair {pair_id!r}; it may have been generated anew")
    pair = next(typed_rows(pairs, PairRow))
    claims = tables.frame(CLAIMS, batch).filter(own).sort("position")
    verdicts = tables.frame(CLAIM_VERDICTS, batch).filter(own)
    verdict = tables.frame(VERDICTS, batch).filter(own).row(0, named=True)
    chunks = tables.frame(CHUNKS, batch)
    views = list(claim_views(claims, verdicts, chunks, tables.frame(DOCUMENTS, batch)))
    assessments = tables.optional(ASSESSMENTS, batch).filter(own)
    decisions = read_decisions(tables.layout.decisions(batch)).filter(own)
    passages = chunks.filter(pl.col("chunk_id").is_in(pair["passage_ids"]))
    return PairView(
        pair=pair,
        content_sha256=content_hashes(pairs, claims)[pair_id],
        verdict=verdict,
        reason=in_words(verdict["reason"], verdict["detail"]),
        claims=views,
        answer=list(answer_pieces(pair["answer"] or "", views)),
        passages=sorted(
            typed_rows(passages, ChunkRow), key=lambda chunk: pair["passage_ids"].index(chunk["chunk_id"])
        ),
        assessment=assessments.row(0, named=True) if assessments.height else None,
        history=decision_states(decisions, pairs, claims).to_dicts(),
    )


def claim_views(
    claims: pl.DataFrame, verdicts: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame
) -> Iterator[ClaimView]:
    """Yield the claims of a pair, with what was decided of them and the words they rest on."""
    by_id = {row["claim_id"]: row for row in verdicts.iter_rows(named=True)}
    paths = dict(documents.select("document_id", "path").iter_rows())
    evidence = pl.concat([claims["evidence_chunk_id"], claims["second_evidence_chunk_id"]])
    near = chunks.filter(pl.col("chunk_id").is_in(evidence.drop_nulls().to_list()))
    sections = {row[0]: " › ".join(row[1]) for row in near.select("chunk_id", "section_path").iter_rows()}
    for number, claim in enumerate(typed_rows(claims, ClaimRow), start=1):
        decided = by_id.get(claim["claim_id"], {})
        differences = [*(claim["denied"] or ()), *(claim["unproved"] or ())]
        reason = decided.get("reason")
        yield ClaimView(
            number=number,
            claim_id=claim["claim_id"],
            text=claim["self_contained"] or claim["text"],
            start=claim["start"],
            end=claim["end"],
            verdict=decided.get("verdict", "undecided"),
            decided_by=decided.get("decided_by", "no_step"),
            reason=in_words(reason, decided.get("detail")) if reason else decided.get("detail"),
            difference=differences[0] if differences else None,
            places=[
                place
                for prefix in ("evidence", "second_evidence")
                if (place := _place(claim, prefix, paths, sections)) is not None
            ],
        )


def _place(claim: Any, prefix: str, paths: dict[str, str], sections: dict[str, str]) -> Place | None:
    document_id = claim[f"{prefix}_document_id"]
    if document_id is None:
        return None
    chunk_id = claim[f"{prefix}_chunk_id"]
    return Place(
        document_id=document_id,
        path=paths.get(document_id, document_id),
        chunk_id=chunk_id,
        section=sections.get(chunk_id, ""),
        page=claim[f"{prefix}_page"],
        start=claim[f"{prefix}_start"],
        end=claim[f"{prefix}_end"],
        quote=claim[f"{prefix}_quote"],
        similarity=claim["similarity"] if prefix == "evidence" else None,
    )


def answer_pieces(answer: str, claims: Sequence[ClaimView]) -> Iterator[AnswerPiece]:
    """Yield the answer cut where claims begin and end; a claim inside another is not cut out."""
    done = 0
    for claim in sorted(claims, key=lambda claim: (claim.start, claim.end)):
        if claim.start < done:
            continue
        if claim.start > done:
            yield AnswerPiece(answer[done : claim.start], None)
        yield AnswerPiece(answer[claim.start : claim.end], claim)
        done = claim.end
    if done < len(answer):
        yield AnswerPiece(answer[done:], None)
