"""The registry of all metrics; importing it registers each family, in the order of reports."""

from collections.abc import Sequence

from qa_pipeline.errors import InputError

# isort: off
from qa_pipeline.evaluation.metrics import grounding as grounding
from qa_pipeline.evaluation.metrics import citations as citations
from qa_pipeline.evaluation.metrics import retrieval as retrieval
from qa_pipeline.evaluation.metrics import answers as answers

# isort: on
from qa_pipeline.evaluation.metrics.base import METRICS, Metric

__all__ = ["METRICS", "SUMMARY", "chosen_metrics"]
SUMMARY = (
    "faithfulness", "grounding", "hallucination", "citation_accuracy", "fabricated_citations",
    "context_recall", "answer_relevance", "answer_correctness",
)  # fmt: skip
"""The metrics of the summary, including the critical metrics of a gate."""


def chosen_metrics(names: Sequence[str]) -> list[Metric]:
    """Return the named metrics in the order of the registry, or all metrics without names.

    Rankings may have any depth, as in `precision_at_3`; depths outside the registry come last. Raises
    `InputError` for an unknown name.
    """
    chosen = [metric for name, metric in METRICS.items() if not names or name in names]
    unregistered = [name for name in dict.fromkeys(names) if name not in METRICS]
    for name in unregistered:
        further = retrieval.metric_at(name)
        if further is None:
            raise InputError(f"metric {name} is unknown; choose from {', '.join(METRICS)}")
        chosen.append(further)
    return chosen
