"""All signals: facts about the texts of a row, each computed once and shared by all metrics."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from qa_pipeline.evaluation.signals import citations, statements, texts
from qa_pipeline.evaluation.signals.means import MODEL, RULES, SIMILARITY, Means, Row
from qa_pipeline.verification.deciding import QUOTATION


class Signal(NamedTuple):
    """A column of rows: `find` returns a value for each row that has what it `needs`; None means unknown.

    `decided_by` is None if the elements of a value name their deciders; where the signal is `judged` and
    there is a judge, it decides.
    """

    name: str
    type: pl.DataType
    needs: tuple[str, ...]
    find: Callable[[list[Row], Means], list[Any]]
    decided_by: str | None = None
    judged: bool = False


_NUMBER, _FLAG, _FLAGS = pl.Float64(), pl.Boolean(), pl.List(pl.Boolean())
_STATEMENTS, _HELD, _NESTED = pl.List(statements.STATEMENT), statements.HELD, pl.List(_FLAGS)
_SHOWN, _VERIFIED = ("answer", "contexts", "refused"), ("contexts", "statements")
_REFERENCE, _CLAIMS = ("answer", "reference", "refused"), ("answer", "true_claims", "refused")
SIGNALS = (
    Signal("refused", _FLAG, ("answer",), texts.find_refusals, RULES),
    Signal("relevance", _NUMBER, ("answer", "refused"), texts.find_relevances, SIMILARITY, True),
    Signal("relevant_sentences", _NESTED, ("contexts",), texts.find_relevant_sentences, SIMILARITY, True),
    Signal("reference_similarity", _NUMBER, ("answer", "reference"), texts.find_likeness, SIMILARITY),
    Signal("meanings", pl.List(pl.Int64()), ("samples",), texts.find_meanings, SIMILARITY),
    Signal("conflicts", _FLAGS, _SHOWN, texts.find_conflicts, QUOTATION),
    Signal("statements", _STATEMENTS, _SHOWN, statements.find_statements),
    Signal("reference_statements", _HELD, _REFERENCE, statements.find_reference_statements),
    Signal("attributed", _HELD, ("contexts",), statements.find_attributed),
    Signal("covered", _HELD, _CLAIMS, statements.find_covered),
    Signal("contradictions", _FLAGS, _VERIFIED, texts.find_contradictions, QUOTATION, True),
    Signal("groundedness", _NUMBER, _VERIFIED, texts.find_groundedness, MODEL),
    Signal("cited", pl.List(citations.CITED), ("answer", "contexts"), citations.find_cited, RULES),
    Signal("citation_support", pl.List(citations.SUPPORT), ("cited", "statements"), citations.find_support),
)
"""Each signal comes after those that it needs."""


def add_signals(frame: pl.DataFrame, names: Iterable[str], means: Means) -> pl.DataFrame:
    """Return the rows with the named signals and those they need; columns already there are kept.

    A signal with one decider has a second column, NAME_by, that names it in a list.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    needed = {*names}
    for signal in reversed(SIGNALS):
        if signal.name in needed:
            needed.update(signal.needs)
    rows = frame.rows(named=True)
    for name, type_, needs, find, decided_by, judged in SIGNALS:
        if name not in needed or name in frame.columns:
            continue
        complete = [row for row in rows if all(row[need] is not None for need in needs)]
        values = find(complete, means)
        for row in rows:
            row[name] = None
        for row, value in zip(complete, values, strict=True):
            row[name] = value
        # Arrow builds nested values at once, polars a frame for each row
        arrow = pl.Series([], dtype=type_).to_arrow(compat_level=pl.CompatLevel.oldest()).type
        column = pl.Series(name, pa.array([row[name] for row in rows], type=arrow)).cast(type_)
        frame = frame.with_columns(column)
        by = MODEL if judged and means.judge is not None else decided_by
        if by is not None:
            frame = frame.with_columns(
                pl.when(pl.col(name).is_not_null()).then(pl.lit([by])).alias(f"{name}_by")
            )
    return frame
