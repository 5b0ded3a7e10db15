"""Types of table rows and nested structures that Python code iterates over, with the columns it reads."""

from typing import Any

from typing_extensions import TypedDict


class SectionStruct(TypedDict):
    """A section of a document."""

    heading_path: list[str]
    level: int
    start: int
    end: int


class PageStruct(TypedDict):
    """A page of a document."""

    number: int
    start: int
    end: int


class DoubtStruct(TypedDict):
    """A span of text that may have been read wrongly."""

    kind: str
    start: int
    end: int


class CitationStruct(TypedDict):
    """A citation of an answer."""

    raw: str | None
    document_id: str | None
    chunk_id: str | None
    quote: str | None
    number: int | None
    resolution: str | None


class QuoteStruct(TypedDict):
    """A quote that is cited for a claim."""

    given: str | None
    found: str | None
    document_id: str | None
    chunk_id: str | None
    start: int | None
    end: int | None
    kind: str | None


class DocumentRow(TypedDict):
    """A row of documents."""

    document_id: str
    batch: str
    path: str
    source_uri: str | None
    licence: str | None
    content_sha256: str | None
    size: int
    format: str | None
    title: str | None
    text: str | None
    sections: list[SectionStruct]
    pages: list[PageStruct]
    languages: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    masked: list[dict[str, Any]]
    declared: dict[str, Any] | None
    near_duplicate_of: str | None
    status: str
    reason: str | None
    detail: str | None


class ChunkRow(TypedDict):
    """A row of chunks."""

    chunk_id: str
    batch: str
    document_id: str
    position: int
    char_start: int
    char_end: int
    title: str
    section_path: list[str]
    section_start: int
    section_end: int
    page_first: int | None
    page_last: int | None
    tokens: int
    language: str
    passed_over: str | None
    doubts: list[DoubtStruct] | None
    text: str


class _Question(TypedDict):
    question_id: str
    batch: str
    planned_type: str | None
    difficulty: str | None
    place: int | None
    rewritten_from: str | None
    target_chunk_ids: list[str]
    drafted_answer: str | None
    drafted_quotes: list[str] | None
    passage_ids: list[str]
    passage_scores: list[float] | None
    language: str
    status: str
    reason: str | None
    detail: str | None
    prompt_hash: str
    model: str


class QuestionRow(_Question):
    """A row of questions."""

    question: str | None
    question_type: str | None


class KeptQuestionRow(_Question):
    """A row of questions that has a question."""

    question: str
    question_type: str


class _Pair(TypedDict):
    pair_id: str
    batch: str
    question_id: str | None
    language: str
    question_type: str
    difficulty: str | None
    draft: int | None
    passage_ids: list[str]
    used_chunk_ids: list[str]
    citations: list[CitationStruct]
    coverage: str | None
    status: str
    reason: str | None
    detail: str | None
    generator: str
    prompt_hash: str | None
    expected_verdict: str | None
    passage_scores: list[float] | None
    guarded_by: str | None
    guard_similarity: float | None
    guard_passed: bool | None
    guard_confidence: float | None
    guard_reasoning: str | None
    hops: int | None
    origin: str


class PairRow(_Pair):
    """A row of pairs."""

    question: str | None
    answer: str | None


class DraftedPairRow(_Pair):
    """A row of pairs that has an answer."""

    question: str
    answer: str


class ClaimRow(TypedDict):
    """A row of claims."""

    claim_id: str
    pair_id: str
    batch: str
    text: str
    self_contained: str | None
    start: int
    end: int
    evidence_document_id: str | None
    evidence_chunk_id: str | None
    evidence_page: int | None
    evidence_quote: str | None
    similarity: float | None
    unproved: list[str] | None
    denied: list[str] | None
    fragment: bool | None
    candidate_chunk_ids: list[str] | None
    entailment: float | None
    contradiction: float | None


class DecisionRow(TypedDict):
    """A row of decisions."""

    decision_id: str
    sequence: int
    pair_id: str
    claim_id: str | None
    content_sha256: str
    decision: str
    question: str | None
    answer: str | None
    evidence_quote: str | None
    evidence_document_id: str | None
    takes_back: str | None
    why: str | None
    who: str
    decided_at: str | None


# rows to write; missing columns become null
DocumentColumns = dict[str, Any]
PairColumns = dict[str, Any]
ClaimColumns = dict[str, Any]
AssessmentColumns = dict[str, Any]
RoundTripColumns = dict[str, Any]
DecisionColumns = dict[str, Any]
