"""Rows of stored tables as Python has them, and structures of their columns: those in use.

Generated from `tables.py` by `python -m qa_pipeline_tests.storage.row_types`; a test compares.
"""

from typing import TypedDict


class SectionStruct(TypedDict):
    """Hold one value of type `section` as columns of tables have it."""

    heading_path: list[str]
    level: int
    start: int
    end: int


class PageStruct(TypedDict):
    """Hold one value of type `page` as columns of tables have it."""

    number: int
    start: int
    end: int


class LeftOutStruct(TypedDict):
    """Hold one value of type `left out` as columns of tables have it."""

    what: str
    pieces: int
    characters: int


class MaskedStruct(TypedDict):
    """Hold one value of type `masked` as columns of tables have it."""

    kind: str
    count: int


class DoubtStruct(TypedDict):
    """Hold one value of type `doubt` as columns of tables have it."""

    kind: str
    start: int
    end: int


class LanguageShareStruct(TypedDict):
    """Hold one value of type `language share` as columns of tables have it."""

    language: str
    share: float


class DeclaredStruct(TypedDict):
    """Hold one value of type `declared` as columns of tables have it."""

    title: str | None
    language: str | None
    source_uri: str | None
    licence: str | None
    status: str | None


class CitationStruct(TypedDict):
    """Hold one value of type `citation` as columns of tables have it."""

    raw: str | None
    document_id: str | None
    chunk_id: str | None
    quote: str | None
    number: int | None
    resolution: str | None


class QuoteStruct(TypedDict):
    """Hold one value of type `quote` as columns of tables have it."""

    given: str | None
    found: str | None
    document_id: str | None
    chunk_id: str | None
    start: int | None
    end: int | None
    kind: str | None


class MessageStruct(TypedDict):
    """Hold one value of type `message` as columns of tables have it."""

    role: str
    content: str


class LayoutPassagesStruct(TypedDict):
    """Hold one value of type `layout passages` as columns of tables have it."""

    with_context: list[str] | None
    with_distractors: list[str] | None


class LayoutTokensStruct(TypedDict):
    """Hold one value of type `layout tokens` as columns of tables have it."""

    closed_book: int | None
    with_context: int | None
    with_distractors: int | None


class EvidenceStruct(TypedDict):
    """Hold one value of type `evidence` as columns of tables have it."""

    claim: str | None
    document_id: str | None
    chunk_id: str | None
    path: str | None
    content_sha256: str | None
    start: int | None
    end: int | None
    page: int | None
    quote: str | None


class ProvenanceStruct(TypedDict):
    """Hold one value of type `provenance` as columns of tables have it."""

    origin: str | None
    generator: str | None
    prompt_hash: str | None
    judge: str | None
    thresholds_id: str | None
    citation_quality: float | None
    citation_precision: float | None
    source_uris: list[str] | None
    licences: list[str] | None


class DocumentRow(TypedDict):
    """Hold one row of documents."""

    document_id: str
    batch: str
    path: str
    source_uri: str | None
    licence: str | None
    content_sha256: str | None
    size: int
    format: str | None
    language: str | None
    title: str | None
    text: str | None
    sections: list[SectionStruct]
    pages: list[PageStruct]
    languages: list[LanguageShareStruct]
    left_out: list[LeftOutStruct]
    masked: list[MaskedStruct]
    doubts: list[DoubtStruct] | None
    declared: DeclaredStruct | None
    near_duplicate_of: str | None
    near_duplicate_similarity: float | None
    parsed_by: str | None
    status: str
    reason: str | None
    detail: str | None


class ChunkRow(TypedDict):
    """Hold one row of chunks."""

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
    repeats: str | None
    doubts: list[DoubtStruct] | None
    text: str


class QuestionRow(TypedDict):
    """Hold one row of questions."""

    question_id: str
    batch: str
    question: str | None
    question_type: str | None
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


class PairRow(TypedDict):
    """Hold one row of pairs."""

    pair_id: str
    batch: str
    question_id: str | None
    question: str | None
    answer: str | None
    language: str
    question_type: str
    difficulty: str | None
    hops: int | None
    answer_style: str | None
    draft: int | None
    origin: str
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
    expected_kind: str | None
    passage_scores: list[float] | None
    guarded_by: str | None
    guard_similarity: float | None
    guard_passed: bool | None
    guard_confidence: float | None
    guard_reasoning: str | None
    source_line: int | None
    source_id: str | None
    source_fields: str | None


class ClaimRow(TypedDict):
    """Hold one row of claims."""

    claim_id: str
    pair_id: str
    batch: str
    position: int
    text: str
    self_contained: str | None
    split_by: str | None
    split_reason: str | None
    start: int
    end: int
    citation_status: str
    evidence_document_id: str | None
    evidence_content_sha256: str | None
    evidence_chunk_id: str | None
    evidence_start: int | None
    evidence_end: int | None
    evidence_page: int | None
    evidence_quote: str | None
    evidence_doubt: str | None
    similarity: float | None
    chunk_similarity: float | None
    token_recall: float | None
    unproved: list[str] | None
    denied: list[str] | None
    scope_differs: bool | None
    proved_by_chunk_id: str | None
    fragment: bool | None
    citation_reason: str | None
    quotes: list[QuoteStruct] | None
    second_evidence_document_id: str | None
    second_evidence_content_sha256: str | None
    second_evidence_chunk_id: str | None
    second_evidence_start: int | None
    second_evidence_end: int | None
    second_evidence_page: int | None
    second_evidence_quote: str | None
    entailment: float | None
    contradiction: float | None
    entailment_model: str | None
    entailment_reason: str | None
    candidate_chunk_ids: list[str] | None


class TrainingExampleRow(TypedDict):
    """Hold one row of training_examples."""

    pair_id: str
    batch: str
    question: str
    answer: str
    language: str
    question_type: str
    difficulty: str | None
    memorised: bool | None
    source_fields: str | None
    coverage: str
    messages: list[MessageStruct]
    messages_with_context: list[MessageStruct] | None
    messages_with_distractors: list[MessageStruct] | None
    passages: LayoutPassagesStruct
    tokens: LayoutTokensStruct
    evidence: list[EvidenceStruct]
    provenance: ProvenanceStruct


class DecisionRow(TypedDict):
    """Hold one row of decisions."""

    decision_id: str
    batch: str
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
    who: str
    why: str | None
    decided_at: str | None


class DraftedPairRow(TypedDict):
    """Hold one row of pairs, with question and answer."""

    pair_id: str
    batch: str
    question_id: str | None
    question: str
    answer: str
    language: str
    question_type: str
    difficulty: str | None
    hops: int | None
    answer_style: str | None
    draft: int | None
    origin: str
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
    expected_kind: str | None
    passage_scores: list[float] | None
    guarded_by: str | None
    guard_similarity: float | None
    guard_passed: bool | None
    guard_confidence: float | None
    guard_reasoning: str | None
    source_line: int | None
    source_id: str | None
    source_fields: str | None


class KeptQuestionRow(TypedDict):
    """Hold one row of questions, with question and question_type."""

    question_id: str
    batch: str
    question: str
    question_type: str
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


class DocumentColumns(TypedDict, total=False):
    """Hold columns of a row of documents to be written; absent ones become null."""

    document_id: str
    batch: str
    path: str
    source_uri: str | None
    licence: str | None
    content_sha256: str | None
    size: int
    format: str | None
    language: str | None
    title: str | None
    text: str | None
    sections: list[SectionStruct]
    pages: list[PageStruct]
    languages: list[LanguageShareStruct]
    left_out: list[LeftOutStruct]
    masked: list[MaskedStruct]
    doubts: list[DoubtStruct] | None
    declared: DeclaredStruct | None
    near_duplicate_of: str | None
    near_duplicate_similarity: float | None
    parsed_by: str | None
    status: str
    reason: str | None
    detail: str | None


class ChunkColumns(TypedDict, total=False):
    """Hold columns of a row of chunks to be written; absent ones become null."""

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
    repeats: str | None
    doubts: list[DoubtStruct] | None
    text: str


class PairColumns(TypedDict, total=False):
    """Hold columns of a row of pairs to be written; absent ones become null."""

    pair_id: str
    batch: str
    question_id: str | None
    question: str | None
    answer: str | None
    language: str
    question_type: str
    difficulty: str | None
    hops: int | None
    answer_style: str | None
    draft: int | None
    origin: str
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
    expected_kind: str | None
    passage_scores: list[float] | None
    guarded_by: str | None
    guard_similarity: float | None
    guard_passed: bool | None
    guard_confidence: float | None
    guard_reasoning: str | None
    source_line: int | None
    source_id: str | None
    source_fields: str | None


class ClaimColumns(TypedDict, total=False):
    """Hold columns of a row of claims to be written; absent ones become null."""

    claim_id: str
    pair_id: str
    batch: str
    position: int
    text: str
    self_contained: str | None
    split_by: str | None
    split_reason: str | None
    start: int
    end: int
    citation_status: str
    evidence_document_id: str | None
    evidence_content_sha256: str | None
    evidence_chunk_id: str | None
    evidence_start: int | None
    evidence_end: int | None
    evidence_page: int | None
    evidence_quote: str | None
    evidence_doubt: str | None
    similarity: float | None
    chunk_similarity: float | None
    token_recall: float | None
    unproved: list[str] | None
    denied: list[str] | None
    scope_differs: bool | None
    proved_by_chunk_id: str | None
    fragment: bool | None
    citation_reason: str | None
    quotes: list[QuoteStruct] | None
    second_evidence_document_id: str | None
    second_evidence_content_sha256: str | None
    second_evidence_chunk_id: str | None
    second_evidence_start: int | None
    second_evidence_end: int | None
    second_evidence_page: int | None
    second_evidence_quote: str | None
    entailment: float | None
    contradiction: float | None
    entailment_model: str | None
    entailment_reason: str | None
    candidate_chunk_ids: list[str] | None


class AssessmentColumns(TypedDict, total=False):
    """Hold columns of a row of assessments to be written; absent ones become null."""

    pair_id: str
    batch: str
    status: str
    reason: str | None
    detail: str | None
    question_quality: float | None
    question_quality_reason: str | None
    relevance: float | None
    relevance_reason: str | None
    correctness: float | None
    correctness_reason: str | None
    completeness: float | None
    completeness_reason: str | None
    judge: str | None
    prompt_hash: str | None


class RoundTripColumns(TypedDict, total=False):
    """Hold columns of a row of round_trips to be written; absent ones become null."""

    pair_id: str
    batch: str
    status: str
    reason: str | None
    detail: str | None
    solved_answer: str | None
    agrees: bool | None
    recalled_answer: str | None
    memorised: bool | None
    fewer_chunks_answer: bool | None
    target_rank: int | None
    further_chunk_ids: list[str]
    model: str | None


class DecisionColumns(TypedDict, total=False):
    """Hold columns of a row of decisions to be written; absent ones become null."""

    decision_id: str
    batch: str
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
    who: str
    why: str | None
    decided_at: str | None
