"""One row of each stored table as Python has it, and of each structure in its columns.

Generated from `tables.py` by `python -m qa_pipeline_tests.storage.row_types`; a test compares.
"""

from datetime import datetime
from typing import TypedDict


class SectionStruct(TypedDict):
    """Hold the fields of one value."""

    heading_path: list[str]
    level: int
    start: int
    end: int


class PageStruct(TypedDict):
    """Hold the fields of one value."""

    number: int
    start: int
    end: int


class LeftOutStruct(TypedDict):
    """Hold the fields of one value."""

    what: str
    pieces: int
    characters: int


class MaskedStruct(TypedDict):
    """Hold the fields of one value."""

    kind: str
    count: int


class LanguageShareStruct(TypedDict):
    """Hold the fields of one value."""

    language: str
    share: float


class DeclaredStruct(TypedDict):
    """Hold the fields of one value."""

    title: str | None
    language: str | None
    source_uri: str | None
    licence: str | None


class CitationStruct(TypedDict):
    """Hold the fields of one value."""

    raw: str | None
    document_id: str | None
    chunk_id: str | None
    quote: str | None
    number: int | None
    resolution: str | None


class QuoteStruct(TypedDict):
    """Hold the fields of one value."""

    given: str | None
    found: str | None
    document_id: str | None
    chunk_id: str | None
    start: int | None
    end: int | None
    kind: str | None


class FlaggedStruct(TypedDict):
    """Hold the fields of one value."""

    start: int
    end: int
    score: float


class UnsupportedStruct(TypedDict):
    """Hold the fields of one value."""

    start: int
    end: int
    reason: str


class SimilarStruct(TypedDict):
    """Hold the fields of one value."""

    pair_id: str
    similarity: float


class MessageStruct(TypedDict):
    """Hold the fields of one value."""

    role: str
    content: str


class LayoutPassagesStruct(TypedDict):
    """Hold the fields of one value."""

    with_context: list[str] | None
    with_distractors: list[str] | None


class LayoutTokensStruct(TypedDict):
    """Hold the fields of one value."""

    closed_book: int | None
    with_context: int | None
    with_distractors: int | None


class EvidenceStruct(TypedDict):
    """Hold the fields of one value."""

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
    """Hold the fields of one value."""

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
    text: str


class EmbeddingRow(TypedDict):
    """Hold one row of embeddings."""

    chunk_id: str
    batch: str
    text_sha256: str
    model: str
    model_revision: str
    precision: str
    vector: list[float]


class QuestionRow(TypedDict):
    """Hold one row of questions."""

    question_id: str
    batch: str
    question: str | None
    question_type: str | None
    planned_type: str | None
    difficulty: str | None
    persona: str | None
    round: int | None
    place: int | None
    rewritten_from: str | None
    target_chunk_ids: list[str]
    passage_ids: list[str]
    passage_scores: list[float] | None
    source_fields: str | None
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
    persona: str | None
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


class TwinRow(TypedDict):
    """Hold one row of twins."""

    pair_id: str
    batch: str
    exact_group: str
    near_group: str
    similar: list[SimilarStruct]
    nearest_similarity: float | None
    cluster: int | None


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
    flagged_spans: list[FlaggedStruct] | None
    span_support: float | None
    span_model: str | None
    span_reason: str | None


class ClaimVerdictRow(TypedDict):
    """Hold one row of claim_verdicts."""

    claim_id: str
    pair_id: str
    batch: str
    verdict: str
    decided_by: str
    reason: str | None
    detail: str | None
    prompt_hash: str | None
    model: str | None
    llm_decision: str | None
    llm_quotes: list[str] | None
    thresholds_id: str


class RefusalRow(TypedDict):
    """Hold one row of refusals."""

    pair_id: str
    batch: str
    best_chunk_id: str | None
    similarity: float | None
    token_recall: float | None
    best_sentence: str | None
    sentence_recall: float | None
    sentence_similarity: float | None
    question_words: int | None
    chunks_searched: int | None
    sentences_looked_at: int | None
    outcome: str
    thresholds_id: str


class ContradictionRow(TypedDict):
    """Hold one row of contradictions."""

    contradiction_id: str
    batch: str
    kind: str
    detail: str
    similarity: float
    first_document_id: str
    first_content_sha256: str
    first_chunk_id: str
    first_start: int
    first_end: int
    first_quote: str
    second_document_id: str
    second_content_sha256: str
    second_chunk_id: str
    second_start: int
    second_end: int
    second_quote: str


class AssessmentRow(TypedDict):
    """Hold one row of assessments."""

    pair_id: str
    batch: str
    status: str
    reason: str | None
    detail: str | None
    relevance: float | None
    correctness: float | None
    completeness: float | None
    reasoning: str | None
    judge: str | None
    prompt_hash: str | None


class RoundTripRow(TypedDict):
    """Hold one row of round_trips."""

    pair_id: str
    batch: str
    status: str
    reason: str | None
    detail: str | None
    solved_answer: str | None
    agrees: bool | None
    recalled_answer: str | None
    memorised: bool | None
    one_chunk_answers: bool | None
    target_rank: int | None
    further_chunk_ids: list[str]
    model: str | None


class VerdictRow(TypedDict):
    """Hold one row of verdicts."""

    pair_id: str
    batch: str
    verdict: str
    stage: str
    decided_by: str
    reason: str
    detail: str | None
    claims: int
    supported_claims: int
    grounding: float | None
    grounding_low: float | None
    grounding_high: float | None
    support_level: str | None
    unsupported_spans: list[UnsupportedStruct]
    relevance: float | None
    correctness: float | None
    completeness: float | None
    composite: float | None
    citation_existence: float | None
    citation_accuracy: float | None
    citation_quality: float | None
    citation_precision: float | None
    citation_completeness: float | None
    source_coverage: float | None
    cited_documents: int | None
    duplicate_of: str | None
    expected_verdict: str | None
    thresholds_id: str


class TrainingExampleRow(TypedDict):
    """Hold one row of training_examples."""

    pair_id: str
    batch: str
    question: str
    answer: str
    language: str
    question_type: str
    difficulty: str | None
    persona: str | None
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


class LlmCallRow(TypedDict):
    """Hold one row of llm_calls."""

    call_id: str
    run: str
    batch: str
    role: str
    asked_model: str
    replied_model: str | None
    request_key: str
    started_at: datetime
    seconds: float
    tries: int
    outcome: str
    repair: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    thought_tokens: int | None
    cost: float | None
    currency: str | None
    prompt: str | None


class CanarieRow(TypedDict):
    """Hold one row of canaries."""

    canary_id: str
    batch: str
    kind: str
    family: str
    mechanism: str
    expected: str
    language: str
    chunk_id: str
    source: str
    claim: str
    verdict: str
    decided_by: str
    reason: str | None
    detail: str | None
    similarity: float | None
    token_recall: float | None
    entailment: float | None
    thresholds_id: str


class DecisionRow(TypedDict):
    """Hold one row of decisions."""

    decision_id: str
    batch: str
    sequence: int
    pair_id: str
    claim_id: str | None
    content_sha256: str
    decision: str
    answer: str | None
    who: str
    why: str | None
    decided_at: str | None


class CoverageRow(TypedDict):
    """Hold one row of coverage."""

    batch: str
    document_id: str
    section_start: int
    section_path: list[str]
    chunks: int
    rounds: int
    planned: int
    written: int
    kept: int
    pairs: int
    accepted: int
    status: str
    reason: str | None


class LinkRow(TypedDict):
    """Hold one row of links."""

    batch: str
    chunk_id: str
    other_chunk_id: str
    scope: str
    kind: str
    bridge: str
    weight: float
    shared: int


class DraftedPairRow(TypedDict):
    """Hold one row of pairs, in which question and answer are not null."""

    pair_id: str
    batch: str
    question_id: str | None
    question: str
    answer: str
    language: str
    question_type: str
    difficulty: str | None
    persona: str | None
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


class EditRow(TypedDict):
    """Hold one row of decisions, in which answer are not null."""

    decision_id: str
    batch: str
    sequence: int
    pair_id: str
    claim_id: str | None
    content_sha256: str
    decision: str
    answer: str
    who: str
    why: str | None
    decided_at: str | None


class KeptQuestionRow(TypedDict):
    """Hold one row of questions, in which question and question_type are not null."""

    question_id: str
    batch: str
    question: str
    question_type: str
    planned_type: str | None
    difficulty: str | None
    persona: str | None
    round: int | None
    place: int | None
    rewritten_from: str | None
    target_chunk_ids: list[str]
    passage_ids: list[str]
    passage_scores: list[float] | None
    source_fields: str | None
    language: str
    status: str
    reason: str | None
    detail: str | None
    prompt_hash: str
    model: str
