"""All signals by name, and how rows get those that they lack."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl
import pyarrow as pa

from qa_pipeline.evaluation.signals.base import Means, Signal, SignalValues, StatementSignal
from qa_pipeline.evaluation.signals.citations import (
    CITATION_SUPPORT,
    CITED,
    find_citation_support,
    find_cited,
)
from qa_pipeline.evaluation.signals.sections import (
    CITED_SECTION,
    read_cited_sections,
    state_cited_sections,
)
from qa_pipeline.evaluation.signals.statements import (
    BEST_OF_PASSAGES,
    STATEMENT,
    VERDICT,
    read_held,
    read_statements,
    state_answers,
    state_answers_for_reference,
    state_claims,
    state_claims_for_answer,
    verify,
)
from qa_pipeline.evaluation.signals.texts import (
    CONFLICT,
    CONTRADICTION,
    RELEVANCE,
    find_conflicts,
    find_contradictions,
    find_groundedness,
    find_meanings,
    find_reference_similarity,
    find_refusals,
    find_relevances,
    find_relevant_sentences,
)
from qa_pipeline.verification.verify import Statement

_FLAGS = pl.List(pl.Boolean())
SIGNALS: Mapping[str, Signal | StatementSignal] = {
    "refused": Signal(pl.Boolean(), ("answer",), find_refusals),
    "statements": StatementSignal(
        pl.List(STATEMENT), ("answer", "contexts", "refused"), state_answers, read_statements, scored=True
    ),
    "reference_statements": StatementSignal(
        pl.List(VERDICT), ("answer", "reference", "refused"), state_answers_for_reference, read_statements
    ),
    "attributed": StatementSignal(pl.List(BEST_OF_PASSAGES), ("contexts",), state_claims, read_held),
    "covered": StatementSignal(
        pl.List(BEST_OF_PASSAGES), ("answer", "true_claims", "refused"), state_claims_for_answer, read_held
    ),
    "contradictions": Signal(pl.List(CONTRADICTION), ("contexts", "statements"), find_contradictions),
    "groundedness": Signal(pl.Float64(), ("contexts", "statements"), find_groundedness),
    "cited_sections": StatementSignal(
        pl.List(CITED_SECTION), ("answer", "contexts", "refused"), state_cited_sections, read_cited_sections
    ),
    "cited": Signal(pl.List(CITED), ("answer", "contexts"), find_cited),
    "citation_support": Signal(pl.List(CITATION_SUPPORT), ("cited", "statements"), find_citation_support),
    "relevant_sentences": Signal(pl.List(_FLAGS), ("contexts",), find_relevant_sentences),
    "relevance": Signal(RELEVANCE, ("answer", "refused"), find_relevances),
    "reference_similarity": Signal(pl.Float64(), ("answer", "reference"), find_reference_similarity),
    "meanings": Signal(pl.List(pl.Int64()), ("samples",), find_meanings),
    "conflicts": Signal(pl.List(CONFLICT), ("answer", "contexts", "refused"), find_conflicts),
}
"""By name, each behind those that it is made of; each has its column, and NAME_by with who found it out."""


_BY = pl.List(pl.String())


def _series(values: Sequence[Any], type_: pl.DataType) -> pl.Series:
    """Return nested values as a column; Arrow builds it at once, polars a frame for each row."""
    arrow = pl.Series([], dtype=type_).to_arrow(compat_level=pl.CompatLevel.oldest()).type
    return pl.Series(pa.array(values, type=arrow)).cast(type_)


def add_signals(rows: pl.DataFrame, names: Iterable[str], means: Means) -> pl.DataFrame:
    """Return the rows with the named signals, those they are made of, and their deciders.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    needed = _with_needs(names)
    lacking = [name for name in SIGNALS if name in needed and name not in rows.columns]
    together = {
        name: statement_signal
        for name in lacking
        if isinstance(statement_signal := SIGNALS[name], StatementSignal)
    }
    for name in lacking:
        signal = SIGNALS[name]
        if isinstance(signal, Signal):
            taken = _having(rows, signal.needs)
            rows = _with_signal(rows, name, taken, signal.of(taken, means))
        elif name not in rows.columns:
            rows = _with_statements(rows, together, means)
    return rows


def _with_needs(names: Iterable[str]) -> set[str]:
    """Return the named signals, and those they are made of."""
    needed = {name for name in names if name in SIGNALS}
    return needed.union(*(_with_needs(SIGNALS[name].needs) for name in needed))


def _with_statements(
    rows: pl.DataFrame, signals: Mapping[str, StatementSignal], means: Means
) -> pl.DataFrame:
    """Return the rows with signals of statements, verified in one call: many share texts."""
    taken = {name: _having(rows, signal.needs) for name, signal in signals.items()}
    stated = {name: signal.states(taken[name]) for name, signal in signals.items()}
    statements: dict[Statement, bool] = {}
    for name, signal in signals.items():
        for statement in chain.from_iterable(stated[name]):
            statements[statement] = signal.scored or statements.get(statement, False)
    verified = verify(statements, means)
    for name, signal in signals.items():
        of_rows = [[verified[statement] for statement in of_row] for of_row in stated[name]]
        rows = _with_signal(rows, name, taken[name], signal.of(taken[name], of_rows))
    return rows


def _having(rows: pl.DataFrame, needs: Sequence[str]) -> pl.DataFrame:
    """Return the rows that have all of the columns, each with its place, `row`."""
    return rows.with_row_index("row").filter(
        pl.all_horizontal(pl.col(column).is_not_null() for column in needs)
    )


def _with_signal(
    rows: pl.DataFrame, name: str, taken: pl.DataFrame, values_and_deciders: SignalValues
) -> pl.DataFrame:
    """Return the rows with the values of some of them, null for the others."""
    values, by = values_and_deciders
    columns = {"row": taken["row"], name: _series(values, SIGNALS[name].type), f"{name}_by": _series(by, _BY)}
    joined = rows.with_row_index("row").join(
        pl.DataFrame(columns), on="row", how="left", maintain_order="left"
    )
    return joined.drop("row")
