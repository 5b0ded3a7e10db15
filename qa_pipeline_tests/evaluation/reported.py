"""Evaluations as they are stored, made without a model, for tests of reports."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.evaluation.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.labelled_files import LEFT_OUT
from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline.evaluation.report import About, dataset_name
from qa_pipeline.evaluation.report_folder import dataset_sha256, write_report
from qa_pipeline.evaluation.running import STATEMENTS, Counts, rows_schema
from qa_pipeline.evaluation.summaries import Document
from qa_pipeline.storage.parquet import write_frame

FAITHFULNESS = METRICS["faithfulness"]
Row = dict[str, Any]


def asked(number: int | str = 0, **values: Any) -> Row:
    """An answered question and its score."""
    return {
        "id": f"row {number}",
        "query": "Who?",
        "answer": "Ann. Bob.",
        "group": f"document of {number}",
        "dataset": "mine",
        "language": "en",
        "faithfulness": 0.5,
        **values,
    }


def said(number: int | str = 0, verdict: str = "unsupported", **values: Any) -> Row:
    """A statement of an answer."""
    place = {"position": 0, "start": 0, "end": 4, "text": "Ann."}
    return {"id": f"row {number}", **place, "verdict": verdict, "decided_by": "similarity", **values}


def framed(rows: Sequence[Row], schema: pl.Schema) -> pl.DataFrame:
    """Rows as a frame; columns they do not have are unknown."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def stored(folder: Path, rows: Sequence[Row], statements: Sequence[Row] = (), **told: Any) -> Document:
    """Write the report of an evaluation by faithfulness; the content of `report.json`."""
    folder.mkdir(exist_ok=True)
    data = framed(rows, RAG_ROWS)
    write_frame(folder / "rows.parquet", framed(rows, rows_schema([FAITHFULNESS])))
    write_frame(folder / "statements.parquet", framed(statements, STATEMENTS))
    by = Counter(one["decided_by"] for one in statements)
    missing = Counter({"statements": sum(row.get("faithfulness") is None for row in rows)})
    counts = Counts(len(rows), {"faithfulness": by}, {"faithfulness": +missing})
    beside: Row = {"left_out": LEFT_OUT.to_frame(), "settings": {"embedding": "hash"}} | told
    about = About(dataset_name(data), dataset_sha256(data), **beside)
    return write_report(folder, [FAITHFULNESS], counts, about)
