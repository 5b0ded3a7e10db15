"""Metrics of answers: whether they answer the question, agree with the reference and with themselves."""

from qa_pipeline.evaluation.metrics.base import SPECIFIED, STATEMENTS_VERSION, entropy, metric, share
from qa_pipeline.evaluation.metrics.grounding import faithfulness, supporting_contexts
from qa_pipeline.evaluation.signals.means import Row

WEIGHT_FAITHFULNESS, WEIGHT_SIMILARITY = 0.6, 0.4
"""Parts of answer_correctness that the specification of the metrics sets (docs/evaluation.md)."""
WEIGHT_COVERAGE, WEIGHT_SYNTHESIS = 0.6, 0.4
"""Parts of information_integration that the specification of the metrics sets (docs/evaluation.md)."""


@metric(
    "relevance",
    source="Es et al. 2024, RAGAS: mean cosine of the question and 3 questions asked back from the answer",
    range=(-1.0, 1.0),
    decided_by=("relevance",),
)
def answer_relevance(row: Row) -> float | None:
    """Return the likeness of the question to questions that the answer would answer."""
    return row["relevance"]  # type: ignore[no-any-return]


@metric(
    "reference_statements",
    "reference_similarity",
    source=f"{SPECIFIED}: 0.6 faithfulness to the reference + 0.4 cosine to it",
    decided_by=("reference_statements", "reference_similarity"),
    version=STATEMENTS_VERSION,
)
def answer_correctness(row: Row) -> float | None:
    """Return 0.6 of the statements that the right answer supports, and 0.4 of the cosine to it."""
    faithful = share(statement["supported"] for statement in row["reference_statements"])
    if faithful is None:
        return None
    return WEIGHT_FAITHFULNESS * faithful + WEIGHT_SIMILARITY * float(row["reference_similarity"])


@metric(
    "meanings",
    source="Farquhar et al. 2024, semantic entropy, doi:10.1038/s41586-024-07421-0, discrete, in bits",
    range=(0.0, None),
    direction="lower",
    decided_by=("meanings",),
)
def answer_uncertainty(row: Row) -> float | None:
    """Return the entropy, in bits, over the meanings of several answers to the same question."""
    return entropy(row["meanings"])


@metric(
    "refused",
    "must_refuse",
    source="Chen et al. 2024, RGB, arXiv:2309.01431, negative rejection, both ways",
    decided_by=("refused",),
)
def refusal_correct(row: Row) -> float | None:
    """Return 1 if the answer refuses where it should and only there, else 0."""
    return float(row["refused"] == row["must_refuse"])


@metric(
    "covered",
    "statements",
    "true_claims",
    "contexts",
    source=f"{SPECIFIED}: 0.6 true claims stated + 0.4 their sources that the answer draws on",
    decided_by=("covered", "statements"),
    version=STATEMENTS_VERSION,
)
def information_integration(row: Row) -> float | None:
    """Return 0.6 of the right statements that the answer makes, and 0.4 of their sources."""
    coverage = share(point["supported"] for point in row["covered"])
    sources = {claim["source"] for claim in row["true_claims"]}
    if coverage is None or not sources or None in sources or faithfulness(row) is None:
        return None
    used = {context["document"] for context in supporting_contexts(row)}
    return WEIGHT_COVERAGE * coverage + WEIGHT_SYNTHESIS * len(sources & used) / len(sources)


@metric(
    "conflicts",
    source=f"{SPECIFIED}: contradictions between contexts that the answer names or leaves open",
    decided_by=("conflicts",),
)
def contradiction_handling(row: Row) -> float | None:
    """Return the share of contradictions between passages that the answer names or leaves open."""
    return share(row["conflicts"])
