"""What metrics, their inputs and verdicts mean, in plain sentences for the readers of reports."""

import re
from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "faithfulness": "Share of the statements of an answer that its passages support.",
    "weighted_faithfulness_uniform": "Share of supported statements, every statement counting alike.",
    "weighted_faithfulness_position": "Share of supported statements, the first ones counting most.",
    "weighted_faithfulness_semantic": "Share of supported statements, those nearest to the question counting "
    "most.",
    "grounding": "How well the best single passage states each statement, averaged over the statements.",
    "multi_document_grounding": "As grounding, with two passages together where none alone is enough.",
    "hallucination": "Share of the passages that the answer contradicts; from 0.5 on it is flagged.",
    "llm_groundedness": "How far a model finds the answer grounded in its passages.",
    "citation_accuracy": "How far what is cited states what it is cited for.",
    "citation_quality": "Whether citations exist (0.4), are accurate (0.3) and are grounded (0.3).",
    "citation_precision": "Share of the citations that what they stand for needs.",
    "citation_completeness": "Share of the statements that what they cite proves.",
    "source_coverage": "Share of the cited documents that prove a statement of the answer.",
    "fabricated_citations": "Citations of documents or quotes that do not exist.",
    "annotated_citation_accuracy": "Whether exactly the documents are cited that people annotated.",
    "precision_at": "Share of the first {} passages that are relevant.",
    "recall_at": "Share of the relevant documents that are among the first {} passages.",
    "f1_at": "Harmonic mean of precision and recall among the first {} passages.",
    "ndcg_at": "How near the order of the first {} passages is to the best one.",
    "reciprocal_rank": "1 divided by the rank of the first relevant passage; its mean is the MRR.",
    "context_precision": "Share of the sentences of the passages that the question needs.",
    "context_precision_ranked": "Whether the relevant passages stand before the others.",
    "context_recall": "Share of the statements of the right answer that the passages state.",
    "context_diversity": "How evenly the passages come from different documents, in bits.",
    "answer_relevance": "How near questions made from the answer are to the one that was asked.",
    "answer_correctness": "Statements that the right answer supports (0.6) and cosine to it (0.4).",
    "answer_uncertainty": "How far several answers to the same question differ.",
    "refusal_correct": "Whether the answer refuses where it should, and only there.",
    "information_integration": "Right statements that the answer makes (0.6) and their sources (0.4).",
    "contradiction_handling": "Contradictions between passages that the answer names or leaves open.",
    "evidence_quality": "Support of the evidence, independence of its sources, their date and authority.",
    "chain_integrity": "Share of the steps of the evidence at which the confidence does not fall.",
}
"""By name of the metric; of those at a rank by what stands before it."""
LACKS: Mapping[str, str] = {
    "answer": "there is no answer",
    "contexts": "there are no passages",
    "citations": "there are no citations",
    "reference": "the right answer is not given",
    "relevant_documents": "the relevant documents are not given",
    "true_claims": "the right statements are not given",
    "must_refuse": "it is not known whether the answer should refuse",
    "samples": "there are no further answers to the question",
    "confidences": "there are no steps of evidence",
    "statements": "there is no statement to verify: no answer, a refusal, or a passage without text",
    "contradictions": "there is no statement to verify: no answer, a refusal, or a passage without text",
    "groundedness": "no model rated it, or its reply could not be read",
    "refused": "there is no answer",
    "cited": "nothing is cited",
    "citation_support": "nothing is cited, or no statement was verified",
    "relevant_sentences": "there are no passages with text",
    "attributed": "the right answer is not given, or there are no passages",
    "covered": "the right statements are not given, or there is no answer",
    "relevance": "there is no answer, or only a refusal",
    "reference_statements": "the right answer is not given, or there is no answer but a refusal",
    "reference_similarity": "the right answer is not given, or there is no answer",
    "meanings": "there are no further answers to the question",
    "conflicts": "there are no passages, or only a refusal",
}
"""The reason why a row has no value, by the column it lacks."""
MARKS: Mapping[str, str] = {"supported": "✓", "unsupported": "✗", "contradicted": "≠", "undecided": "?"}
"""Verdicts on statements, each with a sign that needs no colour."""
_AT_RANK = re.compile(r"(\w+_at)_(\d+)")


def meaning_of(name: str) -> str | None:
    """Return a sentence about what a metric measures; None of one that has none."""
    if match := _AT_RANK.fullmatch(name):
        return MEANINGS[match[1]].format(match[2]) if match[1] in MEANINGS else None
    return MEANINGS.get(name)


def lack_of(column: str) -> str:
    """Return why a row without a column has no value."""
    return LACKS.get(column, f"{column.replace('_', ' ')} is not known")
