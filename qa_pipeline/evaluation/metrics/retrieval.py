"""Metrics of retrieval: rankings held against the relevant documents, and contexts against what was needed.

Rankings are of documents: one that stands at several ranks counts at its first. `ir-measures` computes them,
as trec_eval does: precision at k divides by k however few were retrieved.
"""

import re
from functools import partial

from qa_pipeline.evaluation.metrics.base import (
    METRICS,
    RAGAS,
    STATEMENTS_VERSION,
    Metric,
    entropy,
    metric,
    share,
)
from qa_pipeline.evaluation.signals.means import Row
from qa_pipeline.text.references import normalise_path

CUTOFFS = (5, 10)
"""Depths that are always measured: about what an answer is drawn from, and twice that. `metric_at` gives the
metrics of any other."""
_AT_CUTOFF = re.compile(r"(precision|recall|f1|ndcg)_at_([1-9]\d{0,3})")
_TREC = "Manning, Raghavan and Schütze 2008, ch. 8; trec_eval"
_NEEDS = ("contexts", "relevant_documents")
_AT = {
    "precision": ("P", "Share of the first {} passages that are relevant.", _TREC),
    "recall": ("R", "Share of the relevant documents that are among the first {} passages.", _TREC),
    "f1": (
        "F1",
        "Harmonic mean of precision and recall among the first {} passages.",
        f"{_TREC}; its mean is macro F1",
    ),
    "ndcg": (
        "nDCG",
        "How near the order of the first {} passages is to the best one.",
        "Järvelin and Kekäläinen 2002; the gain is the grade of a document, 1 where none is given",
    ),
}
"""By family its name in ir-measures, meaning and source."""


def _ranking(row: Row) -> tuple[dict[str, int], list[str]] | None:
    """Return grades by document, and the documents in order; None if either is unknown or none relevant."""
    relevant, documents = (
        row["relevant_documents"],
        [context["document"] for context in row["contexts"] or ()],
    )
    if not relevant or row["contexts"] is None or None in documents:
        return None
    grades = zip(map(normalise_path, relevant), row["relevance_grades"] or [1] * len(relevant), strict=True)
    return dict(grades), list(dict.fromkeys(map(normalise_path, documents)))


def _measured(row: Row, measure: str) -> float | None:
    import ir_measures  # loads SciPy

    if (ranking := _ranking(row)) is None:
        return None
    grades, documents = ranking
    # scores are those of the ranks alone: ties would be broken by name
    scores = {document: float(-rank) for rank, document in enumerate(documents)}
    values = ir_measures.iter_calc([ir_measures.parse_measure(measure)], {"row": grades}, {"row": scores})
    return float(next(iter(values)).value)


def _f1(row: Row, k: str) -> float | None:
    precision, recall = _measured(row, f"P@{k}"), _measured(row, f"R@{k}")
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def metric_at(name: str) -> Metric | None:
    """Return the metric of a ranking at any depth, by its name; None for another name."""
    if (match := _AT_CUTOFF.fullmatch(name)) is None:
        return None
    measure, meaning, source = _AT[match[1]]
    of = partial(_f1, k=match[2]) if measure == "F1" else partial(_measured, measure=f"{measure}@{match[2]}")
    return Metric(name, of, _NEEDS, meaning.format(match[2]), source)


METRICS |= {
    at.name: at for k in CUTOFFS for family in _AT if (at := metric_at(f"{family}_at_{k}")) is not None
}


@metric(
    *_NEEDS,
    source=f"{_TREC}; its mean is MRR",
)
def reciprocal_rank(row: Row) -> float | None:
    """Return 1 divided by the rank of the first relevant passage; its mean is the MRR."""
    return _measured(row, "RR")


def micro_f1_parts(row: Row, k: int) -> tuple[int, int]:
    """Return the hits of a row among its first k documents, and k + its relevant documents.

    Micro F1 of a data set is twice the sum of the first / the sum of the second: every document counts
    alike. Its counterpart, macro F1, is the mean of `f1_at_K`.
    """
    if (ranking := _ranking(row)) is None:
        return 0, 0
    grades, documents = ranking
    return sum(document in grades for document in documents[:k]), k + len(grades)


@metric(
    "relevant_sentences",
    source=f"{RAGAS}, context relevance: relevant sentences / sentences",
    decided_by=("relevant_sentences",),
)
def context_precision(row: Row) -> float | None:
    """Return the share of the sentences of the passages that the question needs."""
    return share(flag for of_context in row["relevant_sentences"] for flag in of_context)


@metric(
    "relevant_sentences",
    source="Ragas 0.2 ContextPrecision: average precision over the contexts in order",
    decided_by=("relevant_sentences",),
)
def context_precision_ranked(row: Row) -> float | None:
    """Return 1 if the relevant passages stand before all others, and less if they do not."""
    if not row["relevant_sentences"] or any(None in flags for flags in row["relevant_sentences"]):
        return None
    precisions, relevant = [], 0
    for rank, flags in enumerate(row["relevant_sentences"], start=1):
        if any(flags):
            relevant += 1
            precisions.append(relevant / rank)
    return share(precisions) or 0.0


@metric(
    "attributed",
    source="Ragas 0.2 ContextRecall: true statements that the contexts hold / true statements",
    decided_by=("attributed",),
    version=STATEMENTS_VERSION,
)
def context_recall(row: Row) -> float | None:
    """Return the share of the statements of the right answer that the passages state."""
    return share(statement["supported"] for statement in row["attributed"])


@metric(
    "contexts",
    source="Shannon 1948, entropy in bits over the documents of the contexts",
    range=(0.0, None),
)
def context_diversity(row: Row) -> float | None:
    """Return the entropy, in bits, over the documents of the passages."""
    return entropy([context["document"] for context in row["contexts"]])
