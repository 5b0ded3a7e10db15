"""Metrics of retrieval: rankings held against the relevant documents, and contexts against what was needed.

Rankings are of documents: one that stands at several ranks counts at its first. `ir-measures` computes them,
as trec_eval does: precision at k divides by k however few were retrieved.
"""

import re
from collections.abc import Callable, Sequence

import polars as pl

from qa_pipeline.evaluation.metrics.base import STATEMENTS_VERSION, Metric, entropy, field, share
from qa_pipeline.text.references import normalise_path

CUTOFFS = (5, 10)
"""Depths that are always measured: about what an answer is drawn from, and twice that. `at_cutoff` gives the
metrics of any other."""
_AT_CUTOFF = re.compile(r"(?:precision|recall|f1|ndcg)_at_([1-9]\d{0,3})")
_TREC = "Manning, Raghavan and Schütze 2008, ch. 8; trec_eval"
_RAGAS = "Es et al. 2024, RAGAS, arXiv:2309.15217"
_NEEDS = ("contexts", "relevant_documents")


def _rankings(frame: pl.DataFrame) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return relevance and scores by row and document; rows with no or unknown relevant documents lack.

    The scores are those of the ranks alone: ties would be broken by name.
    """
    relevance, scores = {}, {}
    columns = ("relevant_documents", "relevance_grades", field(pl.col("contexts"), "document"))
    for place, (relevant, grades, documents) in enumerate(frame.select(*columns).iter_rows()):
        if not relevant or documents is None or None in documents:
            continue
        relevance[str(place)] = dict(
            zip(map(normalise_path, relevant), grades or [1] * len(relevant), strict=True)
        )
        distinct = dict.fromkeys(normalise_path(document) for document in documents)
        scores[str(place)] = {document: float(-rank) for rank, document in enumerate(distinct)}
    return relevance, scores


def _measured(
    measures: Sequence[str], combine: Callable[..., pl.Expr]
) -> Callable[[pl.DataFrame], pl.Series]:
    """Return a metric's `of` made of measures by the names that ir-measures gives them."""

    def of(frame: pl.DataFrame) -> pl.Series:
        import ir_measures  # loads SciPy

        relevance, scores = _rankings(frame)
        parsed = [ir_measures.parse_measure(name) for name in measures]
        values: list[dict[str, float]] = [{} for _ in range(frame.height)]
        for value in ir_measures.iter_calc(parsed, relevance, scores):
            values[int(value.query_id)][str(value.measure)] = float(value.value)
        table = pl.DataFrame(values, schema=dict.fromkeys(measures, pl.Float64()))
        return table.select(combine(*map(pl.col, measures)).alias("value"))["value"]

    return of


def _f1(precision: pl.Expr, recall: pl.Expr) -> pl.Expr:
    total = precision + recall
    return pl.when(total > 0).then(2 * precision * recall / total).otherwise(total)


def _itself(value: pl.Expr) -> pl.Expr:
    return value


def at_cutoff(k: int) -> tuple[Metric, ...]:
    """Return precision, recall, F1 and nDCG of the first k documents."""
    return (
        Metric(f"precision_at_{k}", _NEEDS, _measured([f"P@{k}"], _itself), _TREC),
        Metric(f"recall_at_{k}", _NEEDS, _measured([f"R@{k}"], _itself), _TREC),
        Metric(f"f1_at_{k}", _NEEDS, _measured([f"P@{k}", f"R@{k}"], _f1), f"{_TREC}; its mean is macro F1"),
        Metric(
            f"ndcg_at_{k}",
            _NEEDS,
            _measured([f"nDCG@{k}"], _itself),
            "Järvelin and Kekäläinen 2002; the gain is the grade of a document, 1 where none is given",
        ),
    )


def metric_at(name: str) -> Metric | None:
    """Return the metric of a ranking at any depth, by its name; None for another name."""
    match = _AT_CUTOFF.fullmatch(name)
    return (
        next((metric for metric in at_cutoff(int(match[1])) if metric.name == name), None) if match else None
    )


def micro_f1_parts(frame: pl.DataFrame, k: int) -> tuple[int, int]:
    """Return the counts that make up F1 of a whole data set, every document counting alike.

    Its counterpart, macro F1, is the mean of `f1_at_K`.

    Args:
        frame: contexts and relevant_documents.
        k: depth.

    Returns:
        Hits, and k x rows + relevant documents: F1 is twice the sum of the first / the sum of the second.
    """
    relevance, scores = _rankings(frame)
    hits = sum(document in relevance[row] for row, ranked in scores.items() for document in list(ranked)[:k])
    return hits, sum(k + len(relevant) for relevant in relevance.values())


def _sentence_share() -> pl.Expr:
    """Return the share of all sentences of the contexts that are relevant."""
    flags = pl.col("relevant_sentences").list.eval(pl.element().explode(empty_as_null=True))
    return pl.when(_judged()).then(share(flags.list.drop_nulls()))


def _judged() -> pl.Expr:
    """Return whether it is known of every sentence whether it is relevant."""
    unknown = pl.element().list.eval(pl.element().is_null()).list.any()
    return ~pl.col("relevant_sentences").list.eval(unknown).list.any()


def _average_precision() -> pl.Expr:
    """Return the average precision over the contexts in order; relevant is one with a relevant sentence."""
    relevant = pl.element().list.any().cast(pl.Float64)
    precision = relevant.cum_sum() / pl.int_range(1, pl.len() + 1)
    gained = pl.col("relevant_sentences").list.eval(precision * relevant).list.sum()
    count = pl.col("relevant_sentences").list.eval(relevant).list.sum()
    some = _judged() & (pl.col("relevant_sentences").list.len() > 0)
    return pl.when(some).then(pl.when(count > 0).then(gained / count).otherwise(0.0))


METRICS = (
    *(metric for k in CUTOFFS for metric in at_cutoff(k)),
    Metric("reciprocal_rank", _NEEDS, _measured(["RR"], _itself), f"{_TREC}; its mean is MRR"),
    Metric(
        "context_precision",
        ("relevant_sentences",),
        _sentence_share(),
        f"{_RAGAS}, context relevance: relevant sentences / sentences",
        decided_by=pl.col("relevant_sentences_by"),
    ),
    Metric(
        "context_precision_ranked",
        ("relevant_sentences",),
        _average_precision(),
        "Ragas 0.2 ContextPrecision: average precision over the contexts in order",
        decided_by=pl.col("relevant_sentences_by"),
    ),
    Metric(
        "context_recall",
        ("attributed",),
        share(field(pl.col("attributed"), "supported")),
        "Ragas 0.2 ContextRecall: true statements that the contexts hold / true statements",
        decided_by=field(pl.col("attributed"), "decided_by"),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "context_diversity",
        ("contexts",),
        entropy(field(pl.col("contexts"), "document")),
        "Shannon 1948, entropy in bits over the documents of the contexts",
        range=(0.0, None),
    ),
)
