"""An evaluation, block by block: the values of all metrics, and the laws of reproducibility they keep."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from qa_pipeline.evaluation.answered_questions import RagRow
from qa_pipeline.evaluation.labelled_files import usable_rows
from qa_pipeline.evaluation.metrics.base import Metric, Row, Setup, add_signals
from qa_pipeline.evaluation.metrics.retrieval import CUTOFFS, micro_f1_parts
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import write_frame
from qa_pipeline.storage.row_files import FileRow

BLOCK = 256
"""Rows whose signals are in memory together."""
ROW_COLUMNS = ("id", "group", "query", "answer", "category", "difficulty", "language", "seconds")
STATEMENTS = pl.Schema(
    {
        "id": pl.String(),
        **dict.fromkeys(("position", "start", "end"), pl.Int64()),
        **dict.fromkeys(("text", "verdict", "decided_by", "reason", "quote"), pl.String()),
        "score": pl.Float64(),
        "document": pl.String(),
    }
)
"""A row of `statements.parquet`."""
LAW_ROWS = 100
"""Rows on which the laws are checked; each is evaluated four times."""
_DIGITS = 9
"""Decimals to which values are compared; sums in another order differ further on."""


def with_claims_split_by_rules(settings: Settings) -> Settings:
    """Return the settings with claims split by the rules, so that all metrics see the same."""
    verification = settings.verification.model_copy(update={"split_claims": "rules"})
    return settings.model_copy(update={"verification": verification})


@dataclass
class Counts:
    """Counts of an evaluation: by metric the deciders of its values, and the inputs that rows lack.

    By K, `hits` counts the relevant documents among the first K of all rows, and `retrieved_plus_relevant`
    adds up K and the relevant documents of each ranked row.
    """

    rows: int = 0
    decided_by: dict[str, Counter[str]] = field(default_factory=dict)
    missing: dict[str, Counter[str]] = field(default_factory=dict)
    hits: Counter[int] = field(default_factory=Counter)
    retrieved_plus_relevant: Counter[int] = field(default_factory=Counter)

    def add(self, metric: Metric, rows: Sequence[Row], values: pl.Series) -> None:
        """Count in a block of rows the inputs that rows lack, and the deciders (such as "llm") of values."""
        missing = self.missing.setdefault(metric.name, Counter())
        deciders = self.decided_by.setdefault(metric.name, Counter())
        for row, value in zip(rows, values, strict=True):
            missing.update(metric.lacking(row))
            if value is not None:
                deciders.update(metric.deciders(row))
        for k in CUTOFFS:
            if metric.name == f"f1_at_{k}":  # micro F1 accompanies the mean of the rows
                for row in rows:
                    hits, retrieved_plus_relevant = micro_f1_parts(row, k)
                    self.hits[k] += hits
                    self.retrieved_plus_relevant[k] += retrieved_plus_relevant


def rows_schema(metrics: Sequence[Metric]) -> pl.Schema:
    """Return the columns of `rows.parquet`: of the row, and a value for each metric."""
    texts = dict.fromkeys(ROW_COLUMNS, pl.String()) | {"seconds": pl.Float64()}
    return pl.Schema(texts | {metric.name: pl.Float64() for metric in metrics})


def evaluate(frame: pl.DataFrame, metrics: Sequence[Metric], setup: Setup) -> tuple[list[Row], pl.DataFrame]:
    """Return the rows (`RAG_ROWS`) with their signals, and the values of each metric."""
    rows, values = [], {metric.name: list[float | None]() for metric in metrics}
    for part in frame.iter_slices(BLOCK):
        block = part.rows(named=True)
        for metric in metrics:
            values[metric.name] += metric.scores(block, setup)  # adds signals to the rows of the block
        rows += block
    return rows, pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64()))


def evaluate_into(
    folder: Path,
    rows: pl.DataFrame,
    metrics: Sequence[Metric],
    setup: Setup,
    notify: ProgressCallback = no_progress,
) -> Counts:
    """Evaluate rows (`RAG_ROWS`) in blocks, and write `rows.parquet` and `statements.parquet` to a folder.

    Raises `PermanentModelError` if a model refuses all further requests, or a `StorageError`.
    """
    counts = Counts()
    # empty at first, so that a file without rows has all columns
    scored, statements = [rows_schema(metrics).to_frame()], [STATEMENTS.to_frame()]
    for block in rows.iter_slices(BLOCK):
        evaluated, values = evaluate(block, metrics, setup)
        for metric in metrics:
            counts.add(metric, evaluated, values[metric.name])
        scored.append(pl.concat([block.select(ROW_COLUMNS), values], how="horizontal"))
        statements.append(pl.DataFrame(list(_statements(evaluated)), schema=STATEMENTS))
        counts.rows += block.height
        notify(counts.rows, rows.height)
    write_frame(folder / "rows.parquet", pl.concat(scored))
    write_frame(folder / "statements.parquet", pl.concat(statements))
    return counts


def count_unsplit(rows: pl.DataFrame, setup: Setup) -> dict[str, int]:
    """Count the rows without statements because the splitter failed, by reason."""
    answered = rows.select("query", "answer").iter_rows()
    reasons = Counter(setup.unsplit[key] for key in answered if key in setup.unsplit)
    return dict(sorted(reasons.items()))


def _statements(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the statements of evaluated rows (`STATEMENTS`)."""
    for row in rows:
        for statement in row.get("statements") or ():
            context = statement["context"]
            document = None if context is None else row["contexts"][context]["document"]
            fields = {name: statement[name] for name in STATEMENTS if name in statement}
            yield fields | {"id": row["id"], "document": document}


def reproducibility_shares(rows: pl.DataFrame, metrics: Sequence[Metric], setup: Setup) -> dict[str, float]:
    """Return the share of rows whose values and verdicts stay the same under each of three changes.

    The names are laws of category theory, and `score` is the least of the three.
    identity: the rows are read again as rows of a file.
    composition: every other row is evaluated apart from the rest.
    naturality: each row is verified alone and before all metrics, not in a block and on demand.
    """
    rows = rows.head(LAW_ROWS)
    outcomes = _outcomes(rows, metrics, setup)

    file_rows = (FileRow(number, row) for number, row in enumerate(rows.iter_rows(named=True), start=1))
    reread = usable_rows(file_rows, RagRow, Path("rows")).items
    identity = _equal_share(outcomes, _outcomes(reread, metrics, setup))

    composed = [*outcomes]
    composed[::2] = _outcomes(rows[::2], metrics, setup)
    composed[1::2] = _outcomes(rows[1::2], metrics, setup)
    composition = _equal_share(outcomes, composed)

    verified_first = rows.rows(named=True)
    for row in verified_first:
        add_signals([row], ("statements", "cited"), setup)  # the signals of verification
    scores = {metric.name: metric.scores(verified_first, setup) for metric in metrics}
    values = pl.DataFrame(scores, schema=dict.fromkeys(scores, pl.Float64()))
    naturality = _equal_share(outcomes, _with_verdicts(verified_first, values, setup))

    shares = {"identity": identity, "composition": composition, "naturality": naturality}
    return {**shares, "score": min(shares.values())}


def _outcomes(rows: pl.DataFrame, metrics: Sequence[Metric], setup: Setup) -> list[tuple[object, ...]]:
    return _with_verdicts(*evaluate(rows, metrics, setup), setup)


def _with_verdicts(rows: Sequence[Row], values: pl.DataFrame, setup: Setup) -> list[tuple[object, ...]]:
    """Return for each row its rounded values and verdicts, such as (0.5, None, "supported")."""
    add_signals(rows, ["statements"], setup)
    rounded = values.with_columns(pl.all().round(_DIGITS)).iter_rows()
    return [
        (*row_values, *(statement["verdict"] for statement in row["statements"] or ()))
        for row, row_values in zip(rows, rounded, strict=True)
    ]


def _equal_share(first: Sequence[object], second: Sequence[object]) -> float:
    equal = [value == other for value, other in zip(first, second, strict=False)]
    return sum(equal) / max(len(first), len(second), 1)
