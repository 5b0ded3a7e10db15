"""All metrics, in the order of reports."""

from collections.abc import Sequence

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics import grounding
from qa_pipeline.evaluation.metrics.base import Metric, by_name

METRICS = by_name([*grounding.METRICS])
"""By name. `LIMITS`-like numbers of a metric stand beside it, in its family's file."""


def chosen_metrics(names: Sequence[str]) -> list[Metric]:
    """The metrics named, in the order of the registry; all where none is named.

    Raises:
        InputError: there is no such metric.
    """
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise InputError(f"there is no metric {unknown[0]}; there are {', '.join(METRICS)}")
    return [metric for name, metric in METRICS.items() if not names or name in names]
