"""Metrics of citations: whether they exist, support what they stand for, and suffice."""

import math

from qa_pipeline.curation.citation_quality import (
    HIGH,
    MIDDLE,
    WEIGHT_ACCURACY,
    WEIGHT_EXISTENCE,
    WEIGHT_GROUNDING,
)
from qa_pipeline.evaluation.metrics.base import SPECIFIED, STATEMENTS_VERSION, metric, share
from qa_pipeline.evaluation.metrics.grounding import faithfulness
from qa_pipeline.evaluation.signals.means import Row
from qa_pipeline.text.references import normalise_path

_ALCE = "Gao et al. 2023, ALCE, arXiv:2305.14627"
_BY_SUPPORT = {"decided_by": ("citation_support",), "version": STATEMENTS_VERSION}
_BY_BOTH = {"decided_by": ("citation_support", "statements"), "version": STATEMENTS_VERSION}


def _band(support: float | None) -> float | None:
    if support is None:
        return None
    rounded = round(support, 9)
    return 1.0 if rounded > HIGH else 0.7 if rounded > MIDDLE else 0.0


def _is_known(row: Row) -> bool:
    return all(support["score"] is not None for support in row["citation_support"])


@metric(
    "citation_support",
    source=f"{SPECIFIED}: support > 0.8 is 1, > 0.5 is 0.7, else 0, mean over citations",
    **_BY_SUPPORT,
)
def citation_accuracy(row: Row) -> float | None:
    """Return how far what is cited states what it is cited for."""
    return share(_band(support["score"]) for support in row["citation_support"])


@metric(
    "cited",
    "citation_support",
    "statements",
    source=f"{SPECIFIED}: 0.4 existence + 0.3 accuracy + 0.3 faithfulness in the same bands",
    **_BY_BOTH,
)
def citation_quality(row: Row) -> float | None:
    """Return 0.4 of citations that exist, 0.3 of their accuracy and 0.3 of their grounding."""
    existence = share(citation["exists"] for citation in row["cited"])
    accuracy, grounded = citation_accuracy(row), _band(faithfulness(row))
    if existence is None or accuracy is None or grounded is None:
        return None
    return WEIGHT_EXISTENCE * existence + WEIGHT_ACCURACY * accuracy + WEIGHT_GROUNDING * grounded


@metric(
    "citation_support",
    source=f"{_ALCE}, citation precision",
    **_BY_SUPPORT,
)
def citation_precision(row: Row) -> float | None:
    """Return the share of the citations that prove a statement they stand for."""
    return share(bool(support["proves"]) for support in row["citation_support"]) if _is_known(row) else None


@metric(
    "citation_support",
    "statements",
    source=f"{_ALCE}, citation recall",
    **_BY_BOTH,
)
def citation_completeness(row: Row) -> float | None:
    """Return the share of the statements that what they cite proves."""
    if not _is_known(row) or faithfulness(row) is None:
        return None
    proved = {place for support in row["citation_support"] for place in support["proves"]}
    return len(proved) / len(row["statements"])


@metric(
    "cited",
    "citation_support",
    source=f"{SPECIFIED}: cited documents that support a statement / cited documents",
    **_BY_SUPPORT,
)
def source_coverage(row: Row) -> float | None:
    """Return the share of the cited documents that prove a statement of the answer."""
    proves: dict[str | None, bool] = {}
    for citation, support in zip(row["cited"], row["citation_support"], strict=True):
        if citation["exists"]:
            document = citation["document"]
            proves[document] = proves.get(document, False) or bool(support["proves"])
    return share(proves.values()) if _is_known(row) and None not in proves else None


@metric(
    "cited",
    source=f"{SPECIFIED}: citations that name nothing known, or whose quote is not there",
    range=(0.0, None),
    direction="lower",
    decided_by=("cited",),
)
def fabricated_citations(row: Row) -> float | None:
    """Return the number of citations of documents or quotes that do not exist."""
    return math.fsum(not citation["exists"] or citation["quote_found"] is False for citation in row["cited"])


@metric(
    "cited",
    "relevant_documents",
    source="GRACE, https://helvia.ai/labs/rag-with-citations-and-grace: claims whose cited document is an "
    "annotated one / claims with a citation",
    decided_by=("cited",),
    version=2,
)
def annotated_citation_accuracy(row: Row) -> float | None:
    """Return the share of the claims with a citation that cite a document people annotated."""
    annotated = {*map(normalise_path, row["relevant_documents"])}
    # the marks of a citation stand for a claim each
    claims = [(citation["document"], max(1, citation["mentions"])) for citation in row["cited"]]
    if not claims or not annotated or any(document is None for document, _ in claims):
        return None
    correct = (count for document, count in claims if normalise_path(document) in annotated)
    return float(sum(correct) / sum(count for _, count in claims))
