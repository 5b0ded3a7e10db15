"""Metrics of citations: whether they exist, support what they stand for, and suffice."""

import polars as pl

from qa_pipeline.curation.citation_quality import banded, weighted_quality
from qa_pipeline.evaluation.metrics.base import (
    STATEMENTS_VERSION,
    Metric,
    all_known,
    field,
    share,
)
from qa_pipeline.evaluation.metrics.grounding import DECIDED, faithfulness
from qa_pipeline.text.references import normalise_path

_CITED, _SUPPORT = pl.col("cited"), pl.col("citation_support")
_SCORES = field(_SUPPORT, "score")
_BY = field(_SUPPORT, "decided_by")
_ALCE = "Gao et al. 2023, ALCE, arXiv:2305.14627"
_SPECIFIED = "specification of this project (docs/metrics.md)"


def _accuracy() -> pl.Expr:
    return share(_SCORES.list.eval(banded(pl.element())))


def _precision() -> pl.Expr:
    """Return the share of citations that prove a statement; null where the support of one is unknown."""
    proves = _SUPPORT.list.eval(pl.element().struct.field("proves").list.len() > 0)
    return pl.when(all_known(_SCORES)).then(share(proves))


def _completeness() -> pl.Expr:
    """Return the share of statements proved by a citation of theirs; 0 for an answer without any."""
    proved = _SUPPORT.list.eval(
        pl.element().struct.field("proves").explode(empty_as_null=True).drop_nulls().unique()
    )
    is_measured = all_known(_SCORES) & faithfulness().is_not_null()
    return pl.when(is_measured).then(proved.list.len() / pl.col("statements").list.len())


def _fabricated() -> pl.Expr:
    exists, quoted = pl.element().struct.field("exists"), pl.element().struct.field("quote_found")
    return _CITED.list.eval((~exists) | ~quoted.fill_null(value=True)).list.sum()


def _as_annotated(frame: pl.DataFrame) -> pl.Series:
    """Return 1 where the documents cited are those that were annotated, no more and no fewer, else 0.

    Null where the document of a citation is not known, or none is annotated.
    """
    values: list[float | None] = []
    for cited, relevant in frame.select(field(_CITED, "document"), "relevant_documents").iter_rows():
        if cited is None or not relevant or None in cited:
            values.append(None)
        else:
            values.append(float({*map(normalise_path, cited)} == {*map(normalise_path, relevant)}))
    return pl.Series(values, dtype=pl.Float64())


def _source_coverage(frame: pl.DataFrame) -> pl.Series:
    """Return the share of existing cited documents that prove a statement by a citation."""
    is_measured = frame.select(known=all_known(_SCORES)).to_series()
    cited = (
        frame.select(
            pl.int_range(pl.len()).alias("row"),
            pl.when(is_measured).then(_CITED).alias("cited"),
            pl.when(is_measured).then(_SUPPORT).alias("support"),
        )
        .explode("cited", "support", empty_as_null=True)
        .select(
            "row",
            document=pl.col("cited").struct.field("document"),
            exists=pl.col("cited").struct.field("exists"),
            proves=pl.col("support").struct.field("proves").list.len() > 0,
        )
        .filter("exists")
    )
    by_document = cited.group_by("row", "document").agg(pl.col("proves").any())
    covered = by_document.group_by("row").agg(
        pl.when(pl.col("document").is_not_null().all()).then(pl.col("proves").mean()).alias("share")
    )
    rows = frame.select(pl.int_range(pl.len()).alias("row"))
    return rows.join(covered, on="row", how="left", maintain_order="left")["share"]


METRICS = (
    Metric(
        "citation_accuracy",
        ("citation_support",),
        _accuracy(),
        f"{_SPECIFIED}: support > 0.8 is 1, > 0.5 is 0.7, else 0, mean over citations",
        decided_by=_BY,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "citation_quality",
        ("cited", "citation_support", "statements"),
        weighted_quality(share(field(_CITED, "exists")), _accuracy(), faithfulness()),
        f"{_SPECIFIED}: 0.4 existence + 0.3 accuracy + 0.3 faithfulness in the same bands",
        decided_by=pl.concat_list(_BY, DECIDED),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "citation_precision",
        ("citation_support",),
        _precision(),
        f"{_ALCE}, citation precision",
        decided_by=_BY,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "citation_completeness",
        ("citation_support", "statements"),
        _completeness(),
        f"{_ALCE}, citation recall",
        decided_by=pl.concat_list(_BY, DECIDED),
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "source_coverage",
        ("cited", "citation_support"),
        _source_coverage,
        f"{_SPECIFIED}: cited documents that support a statement / cited documents",
        decided_by=_BY,
        version=STATEMENTS_VERSION,
    ),
    Metric(
        "fabricated_citations",
        ("cited",),
        _fabricated(),
        f"{_SPECIFIED}: citations that name nothing known, or whose quote is not there",
        range=(0.0, None),
        direction="lower",
        decided_by=pl.col("cited_by"),
    ),
    Metric(
        "annotated_citation_accuracy",
        ("cited", "relevant_documents"),
        _as_annotated,
        "GRACE, https://helvia.ai/labs/rag-with-citations-and-grace: accuracy of the citations chosen, "
        "held against annotated ones; all of a row or none",
        decided_by=pl.col("cited_by"),
    ),
)
