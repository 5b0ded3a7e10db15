"""All signals: facts about the texts of a row, each found once and shared by all metrics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from qa_pipeline.evaluation.signals import citations, statements, texts
from qa_pipeline.evaluation.signals.means import MODEL, RULES, SIMILARITY, Means, Row
from qa_pipeline.verification.deciding import QUOTATION


class Signal(NamedTuple):
    """A fact of rows: `find` returns a value for each row that has what it `needs`; None means unknown.

    `decided_by` is None if the elements of a value name their deciders; where the signal is `judged` and
    there is a judge, it decides.
    """

    needs: tuple[str, ...]
    find: Callable[[list[Row], Means], Sequence[Any]]
    decided_by: str | None = None
    judged: bool = False


_SHOWN, _VERIFIED = ("answer", "contexts", "refused"), ("contexts", "statements")
SIGNALS: Mapping[str, Signal] = {
    "refused": Signal(("answer",), texts.find_refusals, RULES),
    "relevance": Signal(("answer", "refused"), texts.find_relevances, SIMILARITY, judged=True),
    "relevant_sentences": Signal(("contexts",), texts.find_relevant_sentences, SIMILARITY, judged=True),
    "reference_similarity": Signal(("answer", "reference"), texts.find_likeness, SIMILARITY),
    "meanings": Signal(("samples",), texts.find_meanings, SIMILARITY),
    "conflicts": Signal(_SHOWN, texts.find_conflicts, QUOTATION),
    "statements": Signal(_SHOWN, statements.find_statements),
    "reference_statements": Signal(("answer", "reference", "refused"), statements.find_reference_statements),
    "attributed": Signal(("contexts",), statements.find_attributed),
    "covered": Signal(("answer", "true_claims", "refused"), statements.find_covered),
    "contradictions": Signal(_VERIFIED, texts.find_contradictions, QUOTATION, judged=True),
    "groundedness": Signal(_VERIFIED, texts.find_groundedness, MODEL),
    "cited": Signal(("answer", "contexts"), citations.find_cited, RULES),
    "citation_support": Signal(("cited", "statements"), citations.find_support),
}


def add_signals(rows: Sequence[Row], names: Iterable[str], means: Means) -> None:
    """Find the named signals of rows, and those they need; what stands already is kept.

    A signal with one decider has a second field, NAME_by, that names it.

    Raises:
        PermanentModelError: a model can answer no further request.
        SettingsError: a model cannot be used.
    """
    for name in names:
        if name not in SIGNALS or not (new := [row for row in rows if name not in row]):
            continue
        signal = SIGNALS[name]
        add_signals(new, signal.needs, means)
        complete = [row for row in new if all(row.get(need) is not None for need in signal.needs)]
        values = signal.find(complete, means)
        by = MODEL if signal.judged and means.judge is not None else signal.decided_by
        for row in new:
            row[name] = None
            if by is not None:
                row[f"{name}_by"] = None
        for row, value in zip(complete, values, strict=True):
            row[name] = value
            if by is not None and value is not None:
                row[f"{name}_by"] = by
