"""One pair as its page shows it: question, marked answer, claims with their evidence, scores, history."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import content_hashes, decision_states
from qa_pipeline.curation.ledger import (
    PARTIALLY_SUPPORTED,
    WELL_SUPPORTED,
)
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.review.decision_taking import why_in_words
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.table_schema import ChunkRow, ClaimRow, PairRow, typed_rows
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DOCUMENTS,
    PAIRS,
    REFUSALS,
    VERDICTS,
)
from qa_pipeline.verification.outcomes import SUPPORTED

STEPS = {
    "citation": "Decided by its citation",
    "similarity": "Decided by similarity",
    "quotation": "Decided by comparison word by word",
    "entailment": "Decided by the entailment model",
    "similarity_only": "Decided by similarity alone",
    "llm": "Decided by the verifying model",
    "person": "Decided by a person",
    "no_step": "No step decided",
}
"""Step that decided a claim, in words."""

_MOST_CLAIMS = 300
"""Claims that a page shows; an imported answer of a megabyte has tens of thousands."""
LONGEST_TEXT = 100_000
"""Characters of a question or answer that a page shows, and lets edit; browsers take 30 s for a million."""
_LONGEST_CLAIM = 2_000
"""Characters of a claim or a difference beside the answer; a text without sentences is a claim as a whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """A quote in a document: the words, where they are, and how near they are to the claim.

    `number` counts the evidence of a pair, from 0.
    """

    number: int
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
    differences: list[str]
    scores: dict[str, float]
    places: list[Place]

    @property
    def is_supported(self) -> bool:
        """Return if it is proved."""
        return self.verdict == SUPPORTED

    @property
    def explanation(self) -> str:
        """Return the reason and the first difference in one line."""
        return ": ".join(filter(None, (self.reason, *self.differences[:1]))) or self.decided_by


AnswerPiece = tuple[str, ClaimView | None]
"""A stretch of the answer, and the claim it belongs to, if any."""


@dataclass(frozen=True, slots=True)
class Support:
    """Count the claims of an answer that are supported, and the level that follows."""

    level: str
    supported: int
    claims: int
    is_refusal: bool = False

    @property
    def percent(self) -> int:
        """Return the supported share, rounded down: 74.9 % is not 75 %."""
        return math.floor(100 * self.supported / self.claims) if self.claims else 0


@dataclass(frozen=True, slots=True)
class PairView:
    """Everything that the page of a pair shows; of its claims, `unshown` are left out for being too many."""

    pair: PairRow
    content_sha256: str
    verdict: dict[str, Any]
    reason: str
    support: Support
    claims: list[ClaimView]
    unshown: int
    answer: list[AnswerPiece]
    refusal: dict[str, Any] | None
    closest: Place | None
    passages: list[tuple[ChunkRow, str, float | None]]  # chunk, path, score of the search
    assessment: dict[str, Any] | None
    history: list[dict[str, Any]]

    @property
    def question(self) -> str:
        """Return the question as far as it is shown."""
        return (self.pair["question"] or "")[:LONGEST_TEXT]

    @property
    def is_long(self) -> bool:
        """Return whether question or answer are cut on the page."""
        return max(len(self.pair[name] or "") for name in ("question", "answer")) > LONGEST_TEXT

    @property
    def not_supported(self) -> list[tuple[str, str]]:
        """Return the spans of the answer that are not supported, and why."""
        answer = self.pair["answer"] or ""
        return [
            (answer[span["start"] : span["end"]], in_words(span["reason"]))
            for span in self.verdict["unsupported_spans"][:_MOST_CLAIMS]
        ]

    def selected(self, claim: int | None, evidence: int | None) -> tuple[ClaimView | None, Place | None]:
        """Return the claim and the piece of evidence that are looked at.

        Without either number, the claim is the first that is not supported, or the first: what a person came
        to see.

        Args:
            claim: the number of a claim, from 1, if one is asked for.
            evidence: the number of a piece of evidence, from 0, if one is asked for.
        """
        places = {place.number: (view, place) for view in self.claims for place in view.places}
        if evidence in places:
            return places[evidence]
        by_number = {view.number: view for view in self.claims}
        still_open = (view for view in self.claims if view.verdict != SUPPORTED)
        view = by_number.get(claim or 0) or next(still_open, by_number.get(1))
        return view, next(iter(view.places), None) if view else self.closest


def support_of(claims: Sequence[ClaimView], *, is_refusal: bool = False) -> Support:
    """Return how well an answer is supported that makes these claims; `undecided` unless one is denied."""
    supported = sum(claim.is_supported for claim in claims)
    share = supported / len(claims) if claims else 0.0
    level = "none"
    if claims:
        is_denied = any(claim.verdict in ("unsupported", "contradicted") for claim in claims)
        level = "weak" if is_denied else "undecided"
    for name, least in (("partial", PARTIALLY_SUPPORTED), ("well_supported", WELL_SUPPORTED)):
        level = name if claims and share >= least else level
    return Support(level, supported, len(claims), is_refusal)


def pair_view(tables: StoredTables, batch: str, pair_id: str) -> PairView:
    """Gather a pair from the tables of its batch."""
    of_pair = pl.col("pair_id") == pair_id
    pairs = tables.frame(PAIRS, batch).filter(of_pair)
    if not pairs.height:
        raise InputError(f"batch {batch!r} has no pair {pair_id!r}; it may have been generated anew")
    pair = next(typed_rows(pairs, PairRow))
    claims = tables.frame(CLAIMS, batch).filter(of_pair).sort("position")
    verdicts = tables.frame(CLAIM_VERDICTS, batch).filter(of_pair)
    verdict = tables.frame(VERDICTS, batch).filter(of_pair).row(0, named=True)
    evidence = claims["evidence_chunk_id"].drop_nulls()
    refusals = (
        tables.optional(REFUSALS, batch).filter(of_pair) if pair["coverage"] == "none" else REFUSALS.empty()
    )
    chunk_ids = [*evidence, *refusals["best_chunk_id"].drop_nulls(), *pair["passage_ids"]]
    near = tables.frame(CHUNKS, batch).filter(pl.col("chunk_id").is_in(chunk_ids))
    chunks = {chunk["chunk_id"]: chunk for chunk in typed_rows(near, ChunkRow)}
    paths = dict(tables.frame(DOCUMENTS, batch).select("document_id", "path").iter_rows())
    views = list(claim_views(claims, verdicts, chunks, paths))
    assessments = tables.optional(ASSESSMENTS, batch).filter(of_pair)
    assessment = assessments.row(0, named=True) if assessments.height else None
    decisions = tables.decisions(batch).filter(of_pair)
    refusal = refusals.row(0, named=True) if refusals.height else None
    listed = sorted(sorted(views, key=attrgetter("is_supported"))[:_MOST_CLAIMS], key=attrgetter("number"))
    # A claim says so with its first difference, and a quote with its place.
    is_said_elsewhere = verdict["reason"] in verdicts["reason"]
    scores = dict(zip(pair["passage_ids"], pair["passage_scores"] or (), strict=False))
    return PairView(
        pair=pair,
        content_sha256=content_hashes(pairs, claims)[pair_id],
        verdict=verdict,
        reason=in_words(verdict["reason"], None if is_said_elsewhere else verdict["detail"]),
        support=support_of(views, is_refusal=pair["coverage"] == "none"),
        claims=listed,
        unshown=len(views) - len(listed),
        answer=list(answer_pieces((pair["answer"] or "")[:LONGEST_TEXT], listed)),
        refusal=refusal,
        closest=_closest(refusal, chunks, paths) if refusal else None,
        passages=[
            (chunks[chunk_id], paths.get(chunks[chunk_id]["document_id"], ""), scores.get(chunk_id))
            for chunk_id in pair["passage_ids"]
            if chunk_id in chunks
        ],
        assessment=assessment,
        history=[
            {**row, "why": why_in_words(row["why"])}
            for row in decision_states(decisions, pairs, claims).to_dicts()
        ],
    )


def claim_views(
    claims: pl.DataFrame, verdicts: pl.DataFrame, chunks: dict[str, ChunkRow], paths: dict[str, str]
) -> Iterator[ClaimView]:
    """Yield the claims of a pair, with what was decided of them and the words they rest on."""
    by_id = {row["claim_id"]: row for row in verdicts.iter_rows(named=True)}
    places = 0
    for number, claim in enumerate(typed_rows(claims, ClaimRow), start=1):
        decided = by_id.get(claim["claim_id"], {})
        step = decided.get("decided_by", "no_step")
        reason, detail = decided.get("reason"), decided.get("detail")
        if decided.get("verdict") != "failed" and (claim["denied"] or claim["unproved"]):
            detail = None  # the differences say it
        differences = []
        if decided.get("verdict") != SUPPORTED:
            denials = [denial.partition(": ") for denial in claim["denied"] or ()]
            # without a code that the verdict of the claim has, too
            denied = [text if code == reason else in_words(code, text) for code, _, text in denials]
            differences = list(map(_cut, dict.fromkeys([*denied, *(claim["unproved"] or ())])))
        own_places = []
        if claim["evidence_document_id"]:
            own_places.append(_place(places, "evidence", claim, paths, chunks))
        scores = {"entailment": claim["entailment"], "contradiction": claim["contradiction"]}
        yield ClaimView(
            number=number,
            claim_id=claim["claim_id"],
            text=_cut(claim["self_contained"] or claim["text"]),
            start=claim["start"],
            end=claim["end"],
            verdict=decided.get("verdict", "undecided"),
            decided_by=STEPS.get(step, step),
            reason=in_words(reason, detail) if reason else detail,
            differences=differences,
            scores={name: score for name, score in scores.items() if score is not None},
            places=own_places,
        )
        places += len(own_places)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CLAIM else f"{text[:_LONGEST_CLAIM]}…"


def _place(
    number: int, prefix: str, claim: ClaimRow, paths: dict[str, str], chunks: dict[str, ChunkRow]
) -> Place:
    names = ("document_id", "chunk_id", "page", "start", "end", "quote")
    columns: dict[str, Any] = dict(claim)
    document_id, chunk_id, page, start, end, quote = (columns[f"{prefix}_{name}"] for name in names)
    section = " › ".join(chunks[chunk_id]["section_path"]) if chunk_id in chunks else ""
    similarity = claim["similarity"] if prefix == "evidence" else None
    path = paths.get(document_id, document_id)
    return Place(number, document_id, path, chunk_id, section, page, start, end, quote, similarity)


def _closest(refusal: dict[str, Any], chunks: dict[str, ChunkRow], paths: dict[str, str]) -> Place | None:
    """Return the sentence that comes closest to answering the question of a refusal."""
    chunk = chunks.get(refusal["best_chunk_id"])
    if chunk is None:
        return None
    sentence = refusal["best_sentence"] or ""
    offset = max(chunk["text"].find(sentence), 0)
    quote = sentence if sentence and chunk["text"].startswith(sentence, offset) else chunk["text"]
    start = chunk["char_start"] + offset
    path = paths.get(chunk["document_id"], chunk["document_id"])
    return Place(
        0, chunk["document_id"], path, chunk["chunk_id"], " › ".join(chunk["section_path"]),
        chunk["page_first"], start, start + len(quote), quote, refusal["similarity"],
    )  # fmt: skip


def answer_pieces(answer: str, claims: Sequence[ClaimView]) -> Iterator[AnswerPiece]:
    """Yield the answer cut where claims begin and end; a claim inside another is not cut out."""
    done = 0
    for claim in sorted(claims, key=lambda claim: (claim.start, claim.end)):
        if claim.start < done or claim.start >= len(answer):
            continue
        if claim.start > done:
            yield answer[done : claim.start], None
        yield answer[claim.start : claim.end], claim
        done = claim.end
    if done < len(answer):
        yield answer[done:], None
