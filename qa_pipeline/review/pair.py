"""A pair as its page shows it: question, marked answer, claims with their evidence, scores and history."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import content_hashes, decision_states
from qa_pipeline.curation.ledger import PARTIALLY_SUPPORTED, WELL_SUPPORTED, in_words
from qa_pipeline.errors import InputError
from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.review.decision_files import why_in_words
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.table_schema import PairRow, typed_rows
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
    "no_step": "",
}
"""Words for the step that decided a claim."""
_MOST_CLAIMS = 300
"""Claims on a page; an imported answer of a megabyte has tens of thousands."""
LONGEST_TEXT = 100_000
"""Characters of a question or answer on a page; browsers take 30 s for a million."""
_LONGEST_CLAIM = 2_000
"""Characters of a claim or a difference on a page."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote in a document, with its similarity to the claim it proves."""

    document_id: str
    path: str
    chunk_id: str
    section: str
    page: int | None
    start: int
    end: int
    text: str
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
    evidence: Quote | None

    @property
    def is_supported(self) -> bool:
        """Return True if the documents prove it."""
        return self.verdict == SUPPORTED

    @property
    def explanation(self) -> str:
        """Return the reason and the first difference in one line."""
        return ": ".join(filter(None, (self.reason, *self.differences[:1]))) or self.decided_by


AnswerSpan = tuple[str, ClaimView | None]
"""A span of the answer with its claim, if any."""


@dataclass(frozen=True, slots=True)
class Support:
    """Count the supported claims of an answer, and grade it."""

    level: str  # as `support_of` returns it, or refused or unjudged in an `Answer`
    supported: int
    claims: int
    is_refusal: bool = False

    @property
    def percent(self) -> int:
        """Return the supported share, rounded down: 74.9 % is not 75 %."""
        return math.floor(100 * self.supported / self.claims) if self.claims else 0


@dataclass(frozen=True, slots=True)
class PairView:
    """The contents of a pair's page. `unshown` counts the claims that are left out if there are too many."""

    pair: PairRow
    content_sha256: str
    verdict: dict[str, Any]
    reason: str
    support: Support
    claims: list[ClaimView]
    unshown: int
    answer: list[AnswerSpan]
    closest: Quote | None
    passages: list[tuple[ChunkRow, str, float | None]]  # chunk, path, score of the search
    assessment: dict[str, Any] | None
    history: list[dict[str, Any]]

    @property
    def question(self) -> str:
        """Return the question, cut at `LONGEST_TEXT`."""
        return (self.pair["question"] or "")[:LONGEST_TEXT]

    @property
    def is_long(self) -> bool:
        """Return True if question or answer are cut on the page."""
        return max(len(self.pair[name] or "") for name in ("question", "answer")) > LONGEST_TEXT

    def selected(self, number: int | None) -> tuple[ClaimView | None, Quote | None]:
        """Return a claim by its number, by default the first unsupported claim, and its evidence."""
        by_number = {claim.number: claim for claim in self.claims}
        unsupported = (claim for claim in self.claims if not claim.is_supported)
        claim = by_number.get(number or 0) or next(unsupported, by_number.get(1))
        return claim, claim.evidence if claim else self.closest


def support_of(claims: Sequence[ClaimView], *, is_refusal: bool = False) -> Support:
    """Grade an answer by its share of supported claims; a low share is `weak` only if a claim is denied."""
    supported = sum(claim.is_supported for claim in claims)
    share = supported / len(claims) if claims else 0.0
    if not claims:
        level = "none"
    elif share >= WELL_SUPPORTED:
        level = "well_supported"
    elif share >= PARTIALLY_SUPPORTED:
        level = "partial"
    elif any(claim.verdict in ("unsupported", "contradicted") for claim in claims):
        level = "weak"
    else:
        level = "undecided"
    return Support(level, supported, len(claims), is_refusal)


def pair_view(tables: StoredTables, batch: str, pair_id: str) -> PairView:
    """Return the contents of a pair's page; raises InputError if the batch lacks the pair."""
    is_pair = pl.col("pair_id") == pair_id
    pairs = tables.frame(PAIRS, batch).filter(is_pair)
    if not pairs.height:
        raise InputError(f"batch {batch!r} has no pair {pair_id!r}; it may have been generated again")
    pair = next(typed_rows(pairs, PairRow))
    claims = tables.frame(CLAIMS, batch).filter(is_pair).sort("position")
    claim_verdicts = tables.frame(CLAIM_VERDICTS, batch).filter(is_pair)
    verdict = tables.frame(VERDICTS, batch).filter(is_pair).row(0, named=True)
    is_refusal = pair["coverage"] == "none"
    refusals = tables.optional(REFUSALS, batch).filter(is_pair) if is_refusal else REFUSALS.empty()
    evidence_ids = pl.concat([claims["evidence_chunk_id"], refusals["best_chunk_id"]]).drop_nulls()
    chunk_ids = [*evidence_ids, *pair["passage_ids"]]  # of all chunks on the page
    chunk_rows = tables.frame(CHUNKS, batch).filter(pl.col("chunk_id").is_in(chunk_ids))
    chunks = {chunk["chunk_id"]: chunk for chunk in typed_rows(chunk_rows, ChunkRow)}
    paths = dict(tables.frame(DOCUMENTS, batch).select("document_id", "path").iter_rows())  # by document
    views = list(claim_views(claims, claim_verdicts, chunks, paths))
    unsupported_first = sorted(views, key=attrgetter("is_supported"))  # they are the last to be left out
    listed = sorted(unsupported_first[:_MOST_CLAIMS], key=attrgetter("number"))
    assessments = tables.optional(ASSESSMENTS, batch).filter(is_pair).to_dicts()
    decisions = decision_states(tables.decisions(batch).filter(is_pair), pairs, claims)
    # the list of claims already shows the detail of a claim's reason
    detail = None if verdict["reason"] in claim_verdicts["reason"] else verdict["detail"]
    passages = [chunks[chunk_id] for chunk_id in pair["passage_ids"] if chunk_id in chunks]
    scores = dict(zip(pair["passage_ids"], pair["passage_scores"] or (), strict=False))  # null if imported
    return PairView(
        pair=pair,
        content_sha256=content_hashes(pairs, claims)[pair_id],
        verdict=verdict,
        reason=in_words(verdict["reason"], detail),
        support=support_of(views, is_refusal=is_refusal),
        claims=listed,
        unshown=len(views) - len(listed),
        answer=list(answer_spans((pair["answer"] or "")[:LONGEST_TEXT], listed)),
        closest=_closest(refusals.row(0, named=True), chunks, paths) if refusals.height else None,
        passages=[
            (chunk, paths.get(chunk["document_id"], ""), scores.get(chunk["chunk_id"])) for chunk in passages
        ],
        assessment=assessments[0] if assessments else None,
        history=[{**row, "why": why_in_words(row["why"])} for row in decisions.to_dicts()],
    )


def draw_pairs(
    layout: Layout, batches: Sequence[str], count: int, verdicts: Sequence[str], *, planted: bool = False
) -> list[PairView]:
    """Draw generated pairs with these verdicts, at random but always the same.

    With `planted`, draw known-answer pairs that were also expected to get one of these verdicts.
    """
    columns = ("batch", "pair_id", "verdict", "expected_verdict")
    tables = [read_table(layout.table(VERDICTS.name, batch), VERDICTS, columns) for batch in batches]
    expected = pl.col("expected_verdict")
    is_of_kind = expected.is_in(verdicts) if planted else expected.is_null()
    rows = pl.concat(tables).filter(pl.col("verdict").is_in(verdicts), is_of_kind)
    drawn = rows.sort("pair_id").head(count)  # ids are hashes
    stored = StoredTables(layout)
    return [pair_view(stored, batch, pair_id) for batch, pair_id in drawn.select("batch", "pair_id").rows()]


def claim_views(
    claims: pl.DataFrame, verdicts: pl.DataFrame, chunks: Mapping[str, ChunkRow], paths: Mapping[str, str]
) -> Iterator[ClaimView]:
    """Yield the claims of a pair with their verdicts and evidence."""
    verdict_by_id = {row["claim_id"]: row for row in verdicts.iter_rows(named=True)}
    for number, claim in enumerate(claims.iter_rows(named=True), start=1):
        row = verdict_by_id.get(claim["claim_id"], {})  # empty without a verdict
        verdict, reason = row.get("verdict", "undecided"), row.get("reason")
        step = row.get("decided_by", "no_step")
        differences = [] if verdict == SUPPORTED else _differences(claim, reason)
        # the detail of a failed call is its error; that of a verdict only repeats a difference
        detail = None if differences and verdict != "failed" else row.get("detail")
        yield ClaimView(
            number=number,
            claim_id=claim["claim_id"],
            text=_cut(claim["self_contained"] or claim["text"]),
            start=claim["start"],
            end=claim["end"],
            verdict=verdict,
            decided_by=STEPS.get(step, step),
            reason=in_words(reason, detail) if reason else detail,
            differences=differences,
            scores={name: claim[name] for name in ("entailment", "contradiction") if claim[name] is not None},
            evidence=_evidence(claim, chunks, paths) if claim["evidence_document_id"] else None,
        )


def _differences(claim: Mapping[str, Any], reason: str | None) -> list[str]:
    """Return each difference of a claim from its evidence once; `reason` is the code of its verdict."""
    # denied is such as ['number_mismatch: "five" became "six"'], and unproved such as ['"at" left out']
    coded = [denial.partition(": ") for denial in claim["denied"] or []]
    # the page already shows the words of the reason
    denials = [text if code == reason else in_words(code, text) for code, _, text in coded]
    return list(map(_cut, dict.fromkeys([*denials, *(claim["unproved"] or [])])))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CLAIM else f"{text[:_LONGEST_CLAIM]}…"


def _evidence(claim: Mapping[str, Any], chunks: Mapping[str, ChunkRow], paths: Mapping[str, str]) -> Quote:
    """Return the quote that proves a claim; `paths` maps document ids to paths."""
    chunk = chunks.get(claim["evidence_chunk_id"])
    return Quote(
        document_id=claim["evidence_document_id"],
        path=paths.get(claim["evidence_document_id"], claim["evidence_document_id"]),
        chunk_id=claim["evidence_chunk_id"],
        section=" › ".join(chunk["section_path"]) if chunk else "",
        page=claim["evidence_page"],
        start=claim["evidence_start"],
        end=claim["evidence_end"],
        text=claim["evidence_quote"],
        similarity=claim["similarity"],
    )


def _closest(
    refusal: Mapping[str, Any], chunks: Mapping[str, ChunkRow], paths: Mapping[str, str]
) -> Quote | None:
    """Return the chunk that comes closest to answering the question of a row of refusals."""
    chunk = chunks.get(refusal["best_chunk_id"])
    if chunk is None:
        return None
    return Quote(
        document_id=chunk["document_id"],
        path=paths.get(chunk["document_id"], chunk["document_id"]),
        chunk_id=chunk["chunk_id"],
        section=" › ".join(chunk["section_path"]),
        page=chunk["page_first"],
        start=chunk["char_start"],
        end=chunk["char_end"],
        text=chunk["text"],
        similarity=refusal["similarity"],
    )


def answer_spans(answer: str, claims: Sequence[ClaimView]) -> Iterator[AnswerSpan]:
    """Split an answer where claims begin and end. A claim inside another is not split off."""
    position = 0
    for claim in sorted(claims, key=lambda claim: (claim.start, -claim.end)):
        if claim.start < position or claim.start >= len(answer):  # in another, or beyond a cut answer
            continue
        if claim.start > position:
            yield answer[position : claim.start], None
        yield answer[claim.start : claim.end], claim
        position = claim.end
    if position < len(answer):
        yield answer[position:], None
