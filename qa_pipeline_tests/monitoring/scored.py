"""Scored rows of production, drawn from a seed."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl

from qa_pipeline.monitoring.days import BASE

FIRST = date(2026, 1, 1)


def scored_rows(scores: Sequence[Sequence[float | None]], metric: str = "faithfulness") -> pl.DataFrame:
    """A day for each list of scores, a row a minute from midnight on."""
    rows = []
    for place, of_day in enumerate(scores):
        day = FIRST + timedelta(days=place)
        midnight = datetime.combine(day, datetime.min.time(), UTC)
        for minute, score in enumerate(of_day):
            time = midnight + timedelta(minutes=minute)
            row = {"id": f"{day} {minute}", "day": day, "time": time, "errors": 0.0, metric: score}
            rows.append({name: row.get(name) for name in (*BASE, metric)})
    return pl.DataFrame(rows, schema={**BASE, metric: pl.Float64()})


def drawn(days: int, rows: int, mean: float, seed: int) -> list[list[float]]:
    """Scores as a verifier gives them: thirds of an answer's statements, most of them 1."""
    generator = np.random.default_rng(seed)
    scores: list[list[float]] = (generator.binomial(3, mean, size=(days, rows)) / 3).tolist()
    return scores
