"""Metrics of grounding: how far the statements of an answer rest on its contexts, and where these deny it."""

import math
from collections.abc import Sequence

from qa_pipeline.evaluation.metrics.base import RAGAS, SPECIFIED, STATEMENTS_VERSION, metric, share
from qa_pipeline.evaluation.signals.means import Row

ALL_SUPPORTED = {"decided_by": ("statements",), "version": STATEMENTS_VERSION}
SCORED = {"decided_by": ("statements.scored_by",), "version": STATEMENTS_VERSION}


@metric(
    "statements",
    source=RAGAS,
    **ALL_SUPPORTED,
)
def faithfulness(row: Row) -> float | None:
    """Return the share of the statements of an answer that its passages support."""
    return _weighted(row, [1.0] * len(row["statements"]))


def _weighted(row: Row, weights: Sequence[float]) -> float | None:
    """Return the share of supported statements by weight."""
    verdicts = [statement["verdict"] for statement in row["statements"]]
    total = math.fsum(weights)
    if "undecided" in verdicts or not total > 0:
        return None
    supported = (weight for weight, verdict in zip(weights, verdicts, strict=True) if verdict == "supported")
    return math.fsum(supported) / total


@metric(
    "statements",
    source=f"{RAGAS}, every statement alike",
    **ALL_SUPPORTED,
)
def weighted_faithfulness_uniform(row: Row) -> float | None:
    """Return the share of supported statements, every statement counting alike."""
    return faithfulness(row)


@metric(
    "statements",
    source=f"{RAGAS}, weight 1/position",
    **ALL_SUPPORTED,
)
def weighted_faithfulness_position(row: Row) -> float | None:
    """Return the share of supported statements, the first ones counting most."""
    return _weighted(row, [1 / (statement["position"] + 1) for statement in row["statements"]])


@metric(
    "statements",
    source=f"{RAGAS}, weight cosine of statement and question, at least 0",
    **ALL_SUPPORTED,
)
def weighted_faithfulness_semantic(row: Row) -> float | None:
    """Return the share of supported statements, those nearest to the question counting most."""
    return _weighted(row, [max(0.0, statement["relevance"]) for statement in row["statements"]])


@metric(
    "statements",
    source="mean over statements of the best single passage (max as in SummaC, Laban et al. 2022)",
    **SCORED,
)
def grounding(row: Row) -> float | None:
    """Return the mean over statements of how well the best single passage states each."""
    return share(statement["score"] for statement in row["statements"])


@metric(
    "statements",
    source="as grounding, or two passages together where these say more",
    **SCORED,
)
def multi_document_grounding(row: Row) -> float | None:
    """Return grounding, with two passages together where none alone is enough."""
    return share(statement["pair_score"] for statement in row["statements"])


@metric(
    "contradictions",
    source="DeepEval HallucinationMetric: contradicted contexts / contexts",
    direction="lower",
    decided_by=("contradictions",),
    version=STATEMENTS_VERSION,
)
def hallucination(row: Row) -> float | None:
    """Return the share of the passages that the answer contradicts; from 0.5 on it is flagged."""
    return share(row["contradictions"])


@metric(
    "groundedness",
    source=f"{SPECIFIED}: mean over statements of the model's best rating G(statement, passage)",
    decided_by=("groundedness",),
    version=2,
)
def llm_groundedness(row: Row) -> float | None:
    """Return the mean over statements of a model's best rating of one passage as their support."""
    return share(row["groundedness"])


def supporting_contexts(row: Row) -> list[Row]:
    """Return the contexts that supported statements rest on, in their order."""
    supported = (statement for statement in row["statements"] if statement["verdict"] == "supported")
    places = {statement["context"] for statement in supported} - {None}
    return [row["contexts"][place] for place in sorted(places)]
