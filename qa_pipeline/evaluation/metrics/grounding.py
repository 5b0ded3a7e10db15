"""Metrics of grounding: how far the statements of an answer rest on its contexts, and where these deny it."""

import polars as pl

from qa_pipeline.evaluation.metrics.base import STATEMENTS_VERSION, Metric, field, share

_SUPPORTED = pl.element().struct.field("verdict") == "supported"
_IS_DECIDED = pl.element().struct.field("verdict") != "undecided"
DECIDED = field(pl.col("statements"), "decided_by")
"""The deciders of the statements of an answer."""
_SCORED = field(pl.col("statements"), "scored_by")
_SPECIFIED = "specification of this project (docs/metrics.md)"
_RAGAS = "Es et al. 2024, RAGAS, arXiv:2309.15217"


def faithfulness() -> pl.Expr:
    """Return the share of statements that are supported; null without any, or where one is undecided."""
    return share(pl.col("statements").list.eval(pl.when(_IS_DECIDED).then(_SUPPORTED)))


def _weighted(weight: pl.Expr) -> pl.Expr:
    """Return the share of supported statements by weight; null where one is undecided, or all weights are 0.

    Args:
        weight: of an element of the list.
    """
    is_decided = pl.col("statements").list.eval(_IS_DECIDED).list.all() & (
        pl.col("statements").list.len() > 0
    )
    total = pl.col("statements").list.eval(weight).list.sum()
    supported = pl.col("statements").list.eval(weight * _SUPPORTED.cast(pl.Float64)).list.sum()
    return pl.when(is_decided & (total > 0)).then(supported / total)


def _mean(name: str) -> pl.Expr:
    """Return the mean of a field over the statements; null where one is unknown."""
    return share(field(pl.col("statements"), name))


_POSITION = pl.element().struct.field("position").cast(pl.Float64)
METRICS = (
    Metric(
        "faithfulness", ("statements",), faithfulness(), _RAGAS, decided_by=DECIDED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "weighted_faithfulness_uniform",
        ("statements",),
        _weighted(pl.lit(1.0)),
        f"{_RAGAS}, every statement alike",
        decided_by=DECIDED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "weighted_faithfulness_position",
        ("statements",),
        _weighted(1 / (_POSITION + 1)),
        f"{_RAGAS}, weight 1/position",
        decided_by=DECIDED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "weighted_faithfulness_semantic",
        ("statements",),
        _weighted(pl.element().struct.field("relevance").clip(lower_bound=0)),
        f"{_RAGAS}, weight cosine of statement and question, at least 0",
        decided_by=DECIDED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "grounding",
        ("statements",),
        _mean("score"),
        "mean over statements of the best single passage (max as in SummaC, Laban et al. 2022)",
        decided_by=_SCORED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "multi_document_grounding",
        ("statements",),
        _mean("pair_score"),
        "as grounding, or two passages together where these say more",
        decided_by=_SCORED,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "hallucination",
        ("contradictions",),
        share(pl.col("contradictions")),
        "DeepEval HallucinationMetric: contradicted contexts / contexts",
        direction="lower",
        decided_by=pl.col("contradictions_by"),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "llm_groundedness",
        ("groundedness",),
        pl.col("groundedness"),
        f"{_SPECIFIED}: a model's rating of the answer against its contexts, as it gave it",
        decided_by=pl.col("groundedness_by"),
    ),
)  # fmt: skip
