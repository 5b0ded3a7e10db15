"""Answered questions as frames, with signals as a test scripts them, or as they are found."""

from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluation_settings
from qa_pipeline.evaluation.signals.means import Means
from qa_pipeline.evaluation.signals.registry import SIGNALS, add_signals
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder

Row = dict[str, Any]
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


def rows_of(*rows: Row) -> pl.DataFrame:
    """`RAG_ROWS` with what is given, and whatever signals are among it."""
    usual = {"dataset": "d", "group": "g", "query": "Who?", "language": "en"}
    names = dict.fromkeys(name for row in rows for name in row)
    signals = {signal.name: signal.type for signal in SIGNALS if signal.name in names}
    schema = pl.Schema({**RAG_ROWS, **signals})
    filled = [{"id": str(place), **usual, **row} for place, row in enumerate(rows)]
    frame = pl.DataFrame(filled, schema=schema)
    return frame.with_columns(pl.lit(["test"], pl.List(pl.String())).alias(f"{name}_by") for name in signals)


def value(metric: str, row: Row) -> float | None:
    """A metric of one row whose signals are given."""
    found: float | None = chosen_metrics([metric])[0].scores(rows_of(row))[0]
    return found


def means_at(
    folder: Path, *, verifier: LanguageModel | None = None, judge: LanguageModel | None = None, **given: Any
) -> Means:
    resources = Resources(evaluation_settings(Settings(out=folder)), embedder=HashEmbedder())
    return Means(resources, verifier, judge, **given)


def signal(name: str, means: Means, *rows: Row) -> list[Any]:
    """A signal of rows that have all it is made of."""
    return add_signals(rows_of(*rows), [name], means)[name].to_list()
