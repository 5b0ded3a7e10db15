"""Metrics of answers: whether they answer the question, agree with the reference and with themselves."""

import polars as pl

from qa_pipeline.evaluation.metrics.base import (
    STATEMENTS_VERSION,
    Metric,
    all_known,
    entropy,
    field,
    share,
)
from qa_pipeline.evaluation.metrics.grounding import DECIDED, faithfulness

WEIGHT_FAITHFULNESS, WEIGHT_SIMILARITY = 0.6, 0.4
"""Parts of answer_correctness that the specification of the metrics sets (docs/metrics.md)."""
WEIGHT_COVERAGE, WEIGHT_SYNTHESIS = 0.6, 0.4
"""Parts of information_integration that the specification of the metrics sets (docs/metrics.md)."""
_SPECIFIED = "specification of this project (docs/metrics.md)"


def _synthesis(frame: pl.DataFrame) -> pl.Series:
    """Return the share of sources of true claims whose contexts prove supported statements.

    Null where a claim has no source, or a statement is undecided.
    """
    rows = frame.select(
        pl.int_range(pl.len()).alias("row"),
        contexts=field(pl.col("contexts"), "document"),
        used=pl.col("statements").list.eval(
            pl.element()
            .filter(pl.element().struct.field("verdict") == "supported")
            .struct.field("context")
            .drop_nulls()
        ),
        sources=field(pl.col("true_claims"), "source"),
        known=faithfulness().is_not_null(),
    )
    drawn = rows.select(
        documents=pl.when("known").then(pl.col("contexts").list.gather(pl.col("used"))),
        sources=pl.when(all_known(pl.col("sources"))).then(pl.col("sources").list.unique()),
    )
    shared = pl.col("sources").list.set_intersection(pl.col("documents")).list.len()
    is_measured = pl.col("documents").is_not_null() & (pl.col("sources").list.len() > 0)
    return drawn.select(value=pl.when(is_measured).then(shared / pl.col("sources").list.len()))["value"]


def _integration(frame: pl.DataFrame) -> pl.Series:
    coverage = frame.select(value=share(field(pl.col("covered"), "supported")))["value"]
    return WEIGHT_COVERAGE * coverage + WEIGHT_SYNTHESIS * _synthesis(frame)


METRICS = (
    Metric(
        "answer_relevance",
        ("relevance",),
        pl.col("relevance"),
        "Es et al. 2024, RAGAS: mean cosine of the question and 3 questions asked back from the answer",
        range=(-1.0, 1.0),
        decided_by=pl.col("relevance_by"),
    ),
    Metric(
        "answer_correctness",
        ("reference_statements", "reference_similarity"),
        WEIGHT_FAITHFULNESS * share(field(pl.col("reference_statements"), "supported"))
        + WEIGHT_SIMILARITY * pl.col("reference_similarity"),
        f"{_SPECIFIED}: 0.6 faithfulness to the reference + 0.4 cosine to it",
        decided_by=pl.concat_list(
            field(pl.col("reference_statements"), "decided_by"), "reference_similarity_by"
        ),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "answer_uncertainty",
        ("meanings",),
        entropy(pl.col("meanings")),
        "Farquhar et al. 2024, semantic entropy, doi:10.1038/s41586-024-07421-0, discrete, in bits",
        range=(0.0, None),
        direction="lower",
        decided_by=pl.col("meanings_by"),
    ),
    Metric(
        "refusal_correct",
        ("refused", "must_refuse"),
        (pl.col("refused") == pl.col("must_refuse")).cast(pl.Float64),
        "Chen et al. 2024, RGB, arXiv:2309.01431, negative rejection, both ways",
        decided_by=pl.col("refused_by"),
    ),
    Metric(
        "information_integration",
        ("covered", "statements", "true_claims", "contexts"),
        _integration,
        f"{_SPECIFIED}: 0.6 true claims stated + 0.4 their sources that the answer draws on",
        decided_by=pl.concat_list(field(pl.col("covered"), "decided_by"), DECIDED),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "contradiction_handling",
        ("conflicts",),
        share(pl.col("conflicts")),
        f"{_SPECIFIED}: contradictions between contexts that the answer names or leaves open",
        decided_by=pl.col("conflicts_by"),
    ),
)
