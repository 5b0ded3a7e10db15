"""The functor laws of an evaluation: identity, composition, and verification at any stage.

Verification is a natural transformation of a pipeline: it may stand at any stage, and what is measured
behind it is the same.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from qa_pipeline.evaluation.datasets.answered_questions import RagRow
from qa_pipeline.evaluation.datasets.labelled_files import usable_blocks
from qa_pipeline.evaluation.metrics.base import Metric, add_signals
from qa_pipeline.evaluation.metrics.means import Means, Row
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline.storage.row_files import FileRow

MOST_ROWS = 100
"""Rows that the laws are checked on: each is evaluated four times."""
_DIGITS = 9


def categorical_correctness(rows: pl.DataFrame, metrics: Sequence[Metric], means: Means) -> dict[str, float]:
    """Return the share of rows of which each law holds, and as `score` the least of them.

    identity: a row that was written down and read again has the values and verdicts that it had.
    composition: evaluating one part of the rows and then the other gives those of the whole.
    naturality: verifying first, and finding all else then, gives those of verifying when it is asked for.

    Args:
        rows: `RAG_ROWS`, of which the first are looked at.
        metrics: whose values are compared, beside the verdicts on statements.
        means: what signals are found with; replies that are not stored are asked for again.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    rows = rows.head(MOST_ROWS)
    outcomes = _outcomes(rows, metrics, means)
    reads = (FileRow(place, row) for place, row in enumerate(rows.iter_rows(named=True), start=1))
    again = pl.concat(usable_blocks(reads, RagRow, {}, Path("rows")))
    parts = [_outcomes(part, metrics, means) for part in (rows[1::2], rows[::2])]
    composed = [parts[place % 2 == 0][place // 2] for place in range(rows.height)]
    early = rows.rows(named=True)
    for row in early:
        add_signals([row], ("statements", "cited"), means)
    values = {metric.name: metric.scores(early, means) for metric in metrics}
    measured = pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64()))
    shares = {
        "identity": _share(outcomes, _outcomes(again, metrics, means)),
        "composition": _share(outcomes, composed),
        "naturality": _share(outcomes, _with_verdicts(early, measured, means)),
    }
    return {**shares, "score": min(shares.values())}


Outcome = tuple[object, ...]


def _outcomes(rows: pl.DataFrame, metrics: Sequence[Metric], means: Means) -> list[Outcome]:
    return _with_verdicts(*evaluate(rows, metrics, means), means)


def _with_verdicts(rows: Sequence[Row], values: pl.DataFrame, means: Means) -> list[Outcome]:
    """Return the values of each row, rounded, with the verdicts on its statements."""
    add_signals(rows, ["statements"], means)
    rounded = values.with_columns(pl.all().round(_DIGITS)).iter_rows()
    return [
        (*of_row, *(statement["verdict"] for statement in row["statements"] or ()))
        for row, of_row in zip(rows, rounded, strict=True)
    ]


def _share(first: Sequence[object], second: Sequence[object]) -> float:
    equal = [value == other for value, other in zip(first, second, strict=False)]
    return sum(equal) / max(len(first), len(second), 1)
