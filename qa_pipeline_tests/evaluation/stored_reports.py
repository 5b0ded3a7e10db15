"""Report folders made of scores, as `eval run` writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.evaluation.report_folder import MetricFacts, StoredReport, read_report

LOWER = ("hallucination", "fabricated_citations")
Scores = Mapping[str, Sequence[float | None]]


def facts(name: str, version: str = "1") -> dict[str, Any]:
    """What a report says of a metric."""
    return {"version": version, "direction": "lower" if name in LOWER else "higher", "range": [0, 1]}


def write_report(
    folder: Path,
    scores: Scores,
    *,
    documents: int = 10,
    sha256: str = "a" * 64,
    versions: Mapping[str, str] | None = None,
    ids: Sequence[str] | None = None,
    decided_by: Mapping[str, int] | None = None,
    **changes: Any,
) -> Path:
    """A report folder; row n is about document n modulo `documents`. `changes` are of report.json."""
    rows = len(next(iter(scores.values())))
    about = {
        "id": ids or [f"r{row}" for row in range(rows)],
        "group": [f"d{row % documents}" for row in range(rows)],
    }
    columns = {name: pl.Series(list(values), dtype=pl.Float64) for name, values in scores.items()}
    metrics = {name: facts(name, (versions or {}).get(name, "1")) for name in scores}
    for one in metrics.values():
        one["decided_by"] = dict(decided_by or {})
    document = {
        "format": 1, "dataset": "questions", "dataset_sha256": sha256, "metrics": metrics, **changes
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    pl.DataFrame({**about, **columns}).write_parquet(folder / "rows.parquet")
    return folder


def stored(folder: Path, scores: Scores, **how: Any) -> StoredReport:
    """The same, read back."""
    return read_report(write_report(folder, scores, **how))


def report_of(rows: pl.DataFrame, *names: str) -> StoredReport:
    """A report that was never on disk."""
    metrics = {name: MetricFacts.model_validate(facts(name)) for name in names}
    return StoredReport(Path("memory"), "questions", "a" * 64, metrics, rows)


def continuous(rows: int, mean: float = 0.8, seed: int = 0) -> list[float]:
    """Scores about a mean, between 0 and 1."""
    drawn = np.random.default_rng(seed).normal(mean, 0.1, rows)
    return [float(score) for score in np.clip(drawn, 0, 1)]
