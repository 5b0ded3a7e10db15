"""Answered questions as frames, with signals as a test scripts them, or as they are found."""

from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.metrics.base import SIGNALS, Setup, add_signals
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import with_claims_split_by_rules
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder

Row = dict[str, Any]
NOBODY = Setup(Resources(Settings()))
"""The setup for rows whose signals are all given."""
_CONTEXT: Row = dict.fromkeys(("text", "document", "rank", "score", "date", "authority", "headings"))


def context(text: str | None = "Text.", document: str | None = None, **given: Any) -> Row:
    return {**_CONTEXT, "text": text, "document": document, **given}


def contexts(*documents: str) -> list[Row]:
    return [context(document=one) for one in documents]


def statement(verdict: str = "supported", context: int | None = 0, position: int = 0, **given: Any) -> Row:
    own: Row = {
        "claim": f"Statement {position}.",
        "position": position,
        "start": 10 * position,
        "end": 10 * position + 9,
        "text": f"Statement {position}.",
        "verdict": verdict,
        "decided_by": "quotation",
        "reason": None,
        "context": context,
        "quote": None,
        "relevance": 1.0,
        "score": 1.0 if verdict == "supported" else 0.0,
        "pair_score": 1.0 if verdict == "supported" else 0.0,
        "scored_by": "similarity",
    }
    return {**own, **given}


def statements(*verdicts: str) -> list[Row]:
    return [statement(verdict, position=place) for place, verdict in enumerate(verdicts)]


USUAL = {"dataset": "d", "group": "g", "query": "Who?", "language": "en"}


def rows_of(*rows: Row) -> pl.DataFrame:
    """`RAG_ROWS` with what is given."""
    filled = [{"id": str(place), **USUAL, **row} for place, row in enumerate(rows)]
    return pl.DataFrame(filled, schema=RAG_ROWS)


def with_signals(*rows: Row) -> list[Row]:
    """Rows with what is given, signals among it; those that name no deciders were decided by a test."""
    found = []
    for place, row in enumerate(rows):
        by = {f"{name}_by": "test" for name, signal in SIGNALS.items() if signal.decided_by}
        found.append(dict.fromkeys((*RAG_ROWS, *SIGNALS)) | by | {"id": str(place), **USUAL, **row})
    return found


def value(metric: str, row: Row) -> float | None:
    """A metric of one row whose signals are given."""
    return chosen_metrics([metric])[0].scores(with_signals(row), NOBODY)[0]


def means_at(
    folder: Path, *, verifier: LanguageModel | None = None, judge: LanguageModel | None = None, **given: Any
) -> Setup:
    resources = Resources(with_claims_split_by_rules(Settings(out=folder)), embedder=HashEmbedder())
    return Setup(resources, verifier, judge, **given)


def signal(name: str, setup: Setup, *rows: Row) -> list[Any]:
    """A signal of rows that have all it is made of."""
    found = [dict.fromkeys(RAG_ROWS) | USUAL | row for row in rows]
    add_signals(found, [name], setup)
    return [row[name] for row in found]
