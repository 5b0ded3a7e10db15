"""Rows of the tables with sensible values everywhere, so that a test names only what it is about."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DECISIONS,
    DOCUMENTS,
    PAIRS,
    QUESTIONS,
    REFUSALS,
    TRAINING_EXAMPLES,
    VERDICTS,
)

Row = dict[str, Any]
TEXT = "Opening hours\n\nThe library opens at nine. It closes at five."


def pair(pair_id: str, **values: Any) -> Row:
    return {
        "pair_id": pair_id,
        "batch": "b",
        "question": f"Question {pair_id}?",
        "answer": f"Answer {pair_id}.",
        "language": "en",
        "question_type": "fact_single",
        "answer_style": "sentence",
        "draft": 1,
        "origin": "generated",
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "coverage": "full",
        "status": "drafted",
        "generator": "model",
        **values,
    }


def claim(pair_id: str, position: int = 0, **values: Any) -> Row:
    """A claim whose evidence is the whole of the document `d`, chunk `c`."""
    return {
        "claim_id": f"{pair_id}-{position}",
        "pair_id": pair_id,
        "batch": "b",
        "position": position,
        "text": f"claim {position}",
        "start": position * 10,
        "end": position * 10 + 9,
        "citation_status": "resolved",
        "evidence_document_id": "d",
        "evidence_content_sha256": sha("d"),
        "evidence_chunk_id": "c",
        "evidence_start": 0,
        "evidence_end": len(TEXT),
        "evidence_quote": TEXT,
        "verbatim": False,
        "number_conflicts": [],
        "name_conflicts": [],
        "polarity_conflicts": [],
        **values,
    }


def claim_verdict(pair_id: str, verdict: str, position: int = 0, **values: Any) -> Row:
    return {
        "claim_id": f"{pair_id}-{position}",
        "pair_id": pair_id,
        "batch": "b",
        "verdict": verdict,
        "decided_by": "verbatim",
        "thresholds_id": "t",
        **values,
    }


def assessment(pair_id: str, score: float | None = 0.9, **values: Any) -> Row:
    return {
        "pair_id": pair_id,
        "batch": "b",
        "status": "judged",
        "question_quality": score,
        "relevance": score,
        "correctness": score,
        "completeness": score,
        "judge": "judge-1",
        **values,
    }


def refusal(pair_id: str, outcome: str) -> Row:
    return {"pair_id": pair_id, "batch": "b", "outcome": outcome, "thresholds_id": "t"}


def verdict(pair_id: str, word: str = "accepted", **values: Any) -> Row:
    return {
        "pair_id": pair_id,
        "batch": "b",
        "verdict": word,
        "decided_by": "pipeline",
        "stage": word if word == "accepted" else "quality_assessment",
        "reason": "passed" if word == "accepted" else "low_composite",
        "claims": 1,
        "supported_claims": 1,
        "unsupported_spans": [],
        "thresholds_id": "t",
        **values,
    }


def chunk(chunk_id: str, text: str = TEXT, **values: Any) -> Row:
    return {
        "chunk_id": chunk_id,
        "batch": "b",
        "document_id": "d",
        "position": 0,
        "char_start": 0,
        "char_end": len(text),
        "title": "Library",
        "section_path": ["Opening hours"],
        "section_start": 0,
        "section_end": 1,
        "tokens": 10,
        "language": "en",
        "text": text,
        **values,
    }


def document(document_id: str, text: str | None = TEXT, **values: Any) -> Row:
    return {
        "document_id": document_id,
        "batch": "b",
        "path": f"{document_id}.md",
        "source_uri": f"https://example.org/{document_id}",
        "licence": "CC0-1.0",
        "content_sha256": sha(document_id),
        "size": 1,
        "format": "markdown",
        "language": "en",
        "title": "Library",
        "text": text,
        "sections": [],
        "pages": [],
        "languages": [],
        "left_out": [],
        "masked": [],
        "status": "parsed",
        **values,
    }


def question(question_id: str, status: str = "kept", **values: Any) -> Row:
    return {
        "question_id": question_id,
        "batch": "b",
        "target_chunk_ids": ["c"],
        "passage_ids": [],
        "language": "en",
        "status": status,
        "reason": "model_unavailable" if status == "failed" else None,
        "prompt_hash": "h",
        "model": "model",
        **values,
    }


def example(pair_id: str, **values: Any) -> Row:
    return {
        "pair_id": pair_id,
        "batch": "b",
        "question": "Q",
        "answer": "A",
        "language": "en",
        "question_type": "fact_single",
        "coverage": "full",
        "messages": [],
        "tokens": 1,
        "passages": [],
        "reason": "passed",
        "evidence": [],
        "provenance": {},
        **values,
    }


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _frames_of(table: Table) -> Callable[..., pl.DataFrame]:
    def frame(*rows: Row) -> pl.DataFrame:
        return table.frame(list(rows))

    return frame


pairs = _frames_of(PAIRS)
claims = _frames_of(CLAIMS)
claim_verdicts = _frames_of(CLAIM_VERDICTS)
assessments = _frames_of(ASSESSMENTS)
refusals = _frames_of(REFUSALS)
decisions = _frames_of(DECISIONS)
verdicts = _frames_of(VERDICTS)
chunks = _frames_of(CHUNKS)
questions = _frames_of(QUESTIONS)
documents = _frames_of(DOCUMENTS)
examples = _frames_of(TRAINING_EXAMPLES)


def decision(pair_id: str, *, pairs: pl.DataFrame, claims: pl.DataFrame, **values: Any) -> Row:
    """A person accepts a pair as it is."""
    return {
        "decision_id": f"decision-{pair_id}",
        "batch": "b",
        "sequence": 0,
        "pair_id": pair_id,
        "content_sha256": content_hashes(pairs, claims)[pair_id],
        "decision": "accepted",
        "who": "anna",
        **values,
    }


def chunk_frame(texts: Sequence[str], language: str = "en", section_path: Sequence[str] = ()) -> pl.DataFrame:
    """One chunk a text, all of one document."""
    shared = {"language": language, "title": "T", "section_path": list(section_path), "tokens": 1}
    return chunks(*(chunk(f"c{n}", text, position=n, **shared) for n, text in enumerate(texts)))
