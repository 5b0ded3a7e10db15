"""Metrics of grounding: the support of an answer by its contexts, and their contradictions."""

import math
from collections.abc import Sequence
from itertools import islice

from qa_pipeline.evaluation.metrics import statements as statements
from qa_pipeline.evaluation.metrics.base import (
    MODEL,
    STATEMENTS_VERSION,
    Means,
    Row,
    ask,
    judge_request,
    metric,
    share,
    signal,
)
from qa_pipeline.records import ContextReply, GroundednessReply
from qa_pipeline.verification.deciding import QUOTATION

_BY_SCORES = {"decided_by": ("statements.scored_by",), "version": STATEMENTS_VERSION}


@signal("contexts", "statements", decided_by=QUOTATION, judged=True)
def find_contradictions(rows: list[Row], means: Means) -> list[list[bool | None] | None]:
    """Return for each context True if it contradicts the answer.

    Without a judge it does if it denies a statement. That is a lower bound, and unknown if every statement
    is undecided.
    """
    if means.judge is None:
        return [_denied_contexts(row) for row in rows]
    requests = [
        judge_request(row, "contradicts", ContextReply, means, [context])
        for row in rows
        for context in row["contexts"]
    ]
    verdicts = {"yes": True, "no": False}
    flags = (None if reply is None else verdicts.get(reply.contradicts) for reply in ask(requests, means))
    return [[*islice(flags, len(row["contexts"]))] for row in rows]


def _denied_contexts(row: Row) -> list[bool | None] | None:
    verdicts = [(statement["verdict"], statement["context"]) for statement in row["statements"]]
    if all(verdict == "undecided" for verdict, _ in verdicts):
        return None
    return [("contradicted", index) in verdicts for index in range(len(row["contexts"]))]


@signal("contexts", "statements", decided_by=MODEL)
def find_groundedness(rows: list[Row], means: Means) -> list[list[float | None] | None]:
    """Return for each statement the judge's best rating of a context as its support, from 0 to 1."""
    if means.judge is None:
        return [None] * len(rows)
    claims = [(row, statement["claim"]) for row in rows for statement in row["statements"]]
    requests = [
        judge_request({**row, "answer": claim}, "groundedness", GroundednessReply, means, [context])
        for row, claim in claims
        for context in row["contexts"]
    ]
    replies = ask(requests, means)
    best: list[float | None] = []
    for row, _ in claims:
        claim_replies = [*islice(replies, len(row["contexts"]))]
        ratings = [reply.groundedness for reply in claim_replies if reply is not None]
        best.append(max(ratings) if ratings and len(ratings) == len(claim_replies) else None)
    best_in_order = iter(best)
    return [[*islice(best_in_order, len(row["statements"]))] for row in rows]


@metric("statements", version=STATEMENTS_VERSION)
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


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_uniform(row: Row) -> float | None:
    """Return the share of supported statements, every statement counting alike."""
    return faithfulness(row)


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_position(row: Row) -> float | None:
    """Return the share of supported statements, the first statements counting most."""
    return _weighted(row, [1 / (statement["position"] + 1) for statement in row["statements"]])


@metric("statements", version=STATEMENTS_VERSION)
def weighted_faithfulness_semantic(row: Row) -> float | None:
    """Return the share of supported statements, weighted by similarity to the question."""
    return _weighted(row, [max(0.0, statement["relevance"]) for statement in row["statements"]])


@metric("statements", **_BY_SCORES)
def grounding(row: Row) -> float | None:
    """Return the mean over statements of the score of the best single passage."""
    return share(statement["score"] for statement in row["statements"])


@metric("statements", **_BY_SCORES)
def multi_document_grounding(row: Row) -> float | None:
    """Return the mean over statements of the score of the best passage or pair of passages."""
    return share(statement["pair_score"] for statement in row["statements"])


@metric("contradictions", direction="lower", version=STATEMENTS_VERSION)
def hallucination(row: Row) -> float | None:
    """Return the share of the passages that the answer contradicts, flagged from 0.5."""
    return share(row["contradictions"])


@metric("groundedness", version=2)
def llm_groundedness(row: Row) -> float | None:
    """Return the mean over statements of a model's best rating of one passage as their support."""
    return share(row["groundedness"])


def supporting_contexts(row: Row) -> list[Row]:
    """Return the contexts that prove a statement, in their order."""
    supported = (statement for statement in row["statements"] if statement["verdict"] == "supported")
    indices = {statement["context"] for statement in supported} - {None}
    return [row["contexts"][index] for index in sorted(indices)]
