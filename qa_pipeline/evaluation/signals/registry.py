"""All signals by name, and how rows get those that they lack."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from qa_pipeline.evaluation.signals.base import Means, Signal
from qa_pipeline.evaluation.signals.citations import (
    CITATION_SUPPORT,
    CITED,
    find_citation_support,
    find_cited,
)
from qa_pipeline.evaluation.signals.statements import (
    HELD,
    STATEMENT,
    find_attributed,
    find_covered,
    find_reference_statements,
    find_statements,
)
from qa_pipeline.evaluation.signals.texts import (
    CONFLICT,
    CONTRADICTION,
    RELEVANCE,
    find_conflicts,
    find_contradictions,
    find_meanings,
    find_reference_similarity,
    find_refusals,
    find_relevances,
    find_relevant_sentences,
)

_FLAGS = pl.List(pl.Boolean())
SIGNALS: Mapping[str, Signal] = {
    "refused": Signal(pl.Boolean(), ("answer",), find_refusals),
    "statements": Signal(pl.List(STATEMENT), ("answer", "contexts", "refused"), find_statements),
    "contradictions": Signal(pl.List(CONTRADICTION), ("contexts", "statements"), find_contradictions),
    "cited": Signal(pl.List(CITED), ("answer", "contexts"), find_cited),
    "citation_support": Signal(pl.List(CITATION_SUPPORT), ("cited", "statements"), find_citation_support),
    "relevant_sentences": Signal(pl.List(_FLAGS), ("contexts",), find_relevant_sentences),
    "attributed": Signal(pl.List(HELD), ("contexts",), find_attributed),
    "covered": Signal(pl.List(HELD), ("answer", "true_claims", "refused"), find_covered),
    "relevance": Signal(RELEVANCE, ("answer", "refused"), find_relevances),
    "reference_statements": Signal(
        pl.List(STATEMENT), ("answer", "reference", "refused"), find_reference_statements
    ),
    "reference_similarity": Signal(pl.Float64(), ("answer", "reference"), find_reference_similarity),
    "meanings": Signal(pl.List(pl.Int64()), ("samples",), find_meanings),
    "conflicts": Signal(pl.List(CONFLICT), ("answer", "contexts", "refused"), find_conflicts),
}
"""By name; each has its column, and NAME_by with who found it out."""


_BY = pl.List(pl.String())


def _series(values: Sequence[Any], type_: pl.DataType) -> pl.Series:
    """Nested values as a column; Arrow builds it at once, polars a frame for each row."""
    arrow = pl.Series([], dtype=type_).to_arrow(compat_level=pl.CompatLevel.oldest()).type
    return pl.Series(pa.array(values, type=arrow)).cast(type_)


def add_signals(rows: pl.DataFrame, names: Iterable[str], means: Means) -> pl.DataFrame:
    """The rows with the signals named, those they are made of, and who found them out.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    for name in names:
        if name not in SIGNALS or name in rows.columns:
            continue
        signal = SIGNALS[name]
        rows = add_signals(rows, signal.needs, means)
        usable = pl.all_horizontal(pl.col(one).is_not_null() for one in signal.needs)
        taken = rows.with_row_index("row").filter(usable)
        values, by = signal.of(taken, means)
        found = pl.DataFrame(
            {"row": taken["row"], name: _series(values, signal.type), f"{name}_by": _series(by, _BY)}
        )
        rows = rows.with_row_index("row").join(found, on="row", how="left", maintain_order="left").drop("row")
    return rows
