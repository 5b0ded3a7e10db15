"""All metrics, in the order of reports."""

from collections.abc import Sequence

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.base import METRICS, Metric
from qa_pipeline.evaluation.metrics.retrieval import metric_at

__all__ = ["METRICS", "SUMMARY", "chosen_metrics"]
SUMMARY = (
    "faithfulness", "grounding", "hallucination", "citation_accuracy", "fabricated_citations",
    "context_recall", "answer_relevance", "answer_correctness",
)  # fmt: skip
"""The metrics that people ask for first: is the answer supported, cited, to the question and right, and could
it be. Those that a gate treats as critical are among them."""


def chosen_metrics(names: Sequence[str]) -> list[Metric]:
    """Return the named metrics, in the order of the registry; all where none is named.

    Rankings may be measured at any depth (`precision_at_3`); those not in the registry come last.

    Raises:
        InputError: there is no such metric.
    """
    chosen = [metric for name, metric in METRICS.items() if not names or name in names]
    for name in (name for name in dict.fromkeys(names) if name not in METRICS):
        further = metric_at(name)
        if further is None:
            raise InputError(f"there is no metric {name}; there are {', '.join(METRICS)}")
        chosen.append(further)
    return chosen
