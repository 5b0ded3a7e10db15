"""All signals by name, and how rows get those that they lack."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from qa_pipeline.evaluation.signals import citations, sections, statements, texts
from qa_pipeline.evaluation.signals.base import MODEL, RULES, SIMILARITY, Means, Signal
from qa_pipeline.verification.deciding import QUOTATION

_NUMBER, _FLAG = pl.Float64(), pl.Boolean()
_SHOWN = ("answer", "contexts", "refused")
SIGNALS: Mapping[str, Signal] = {
    "refused": Signal(_FLAG, ("answer",), texts.find_refusals, RULES),
    "statements": Signal(pl.List(statements.STATEMENT), _SHOWN, statements.find_statements),
    "reference_statements": Signal(
        pl.List(statements.VERDICT),
        ("answer", "reference", "refused"),
        statements.find_reference_statements,
    ),
    "attributed": Signal(pl.List(statements.HELD), ("contexts",), statements.find_attributed),
    "covered": Signal(
        pl.List(statements.HELD), ("answer", "true_claims", "refused"), statements.find_covered
    ),
    "contradictions": Signal(
        pl.List(texts.CONTRADICTION),
        ("contexts", "statements"),
        texts.find_contradictions,
        QUOTATION,
        is_judged=True,
    ),
    "groundedness": Signal(_NUMBER, ("contexts", "statements"), texts.find_groundedness, MODEL),
    "cited_sections": Signal(pl.List(sections.CITED_SECTION), _SHOWN, sections.find_cited_sections),
    "cited": Signal(pl.List(citations.CITED), ("answer", "contexts"), citations.find_cited, RULES),
    "citation_support": Signal(
        pl.List(citations.CITATION_SUPPORT), ("cited", "statements"), citations.find_citation_support
    ),
    "relevant_sentences": Signal(
        pl.List(pl.List(_FLAG)), ("contexts",), texts.find_relevant_sentences, SIMILARITY, is_judged=True
    ),
    "relevance": Signal(
        texts.RELEVANCE, ("answer", "refused"), texts.find_relevances, SIMILARITY, is_judged=True
    ),
    "reference_similarity": Signal(
        _NUMBER, ("answer", "reference"), texts.find_reference_similarity, SIMILARITY
    ),
    "meanings": Signal(pl.List(pl.Int64()), ("samples",), texts.find_meanings, SIMILARITY, is_judged=True),
    "conflicts": Signal(pl.List(texts.CONFLICT), _SHOWN, texts.find_conflicts, QUOTATION, is_judged=True),
}
"""By name, each behind those that it is made of."""


def add_signals(rows: pl.DataFrame, names: Iterable[str], means: Means) -> pl.DataFrame:
    """Return the rows with the named signals and those they are made of.

    A signal with one decider has a second column, NAME_by, that names it in a list.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    needed = {*names}
    for name in reversed([*SIGNALS]):
        if name in needed:
            needed.update(SIGNALS[name].needs)
    for name, signal in SIGNALS.items():
        if name not in needed or name in rows.columns:
            continue
        has_needs = rows.select(pl.all_horizontal(pl.col(*signal.needs).is_not_null())).to_series()
        known_values = iter(signal.find(rows.filter(has_needs), means))
        values = [next(known_values) if has else None for has in has_needs]
        rows = rows.with_columns(_series(values, signal.type).alias(name))
        by = MODEL if signal.is_judged and means.judge is not None else signal.decided_by
        if by is not None:
            rows = rows.with_columns(
                pl.when(pl.col(name).is_not_null()).then(pl.lit([by])).alias(f"{name}_by")
            )
    return rows


def _series(values: Sequence[Any], type_: pl.DataType) -> pl.Series:
    """Return nested values as a column; Arrow builds it at once, polars a frame for each row."""
    arrow = pl.Series([], dtype=type_).to_arrow(compat_level=pl.CompatLevel.oldest()).type
    return pl.Series(pa.array(values, type=arrow)).cast(type_)
