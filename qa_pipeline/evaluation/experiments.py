"""Decide between two evaluated configurations, and say how many rows that needs."""

import math
from bisect import bisect_left
from typing import Any

from scipy.stats import nct, t

from qa_pipeline.errors import InputError

Document = dict[str, Any]
SIGNIFICANCE, LEAST_EFFECT, POWER = 0.05, 0.1, 0.8
MOST_ROWS = 10**9  # no figure is given where more would be needed


def ab_decision(compared: Document) -> Document:
    """Return whether to deploy the change: p < 0.05 and Cohen's d > 0.1 for the better, else keep.

    The metric is to be chosen before the figures are seen: p is not adjusted for others. d is the gain by
    the pooled deviation of scores, so that it means the same of paired and unpaired runs (Lakens 2013).

    Args:
        compared: one metric of `compare_paired` or `compare_unpaired`.

    Returns:
        decision (`deploy` or `keep`), p, cohens_d, and why in words.
    """
    p, effect = compared["p"], compared["cohens_d"]
    if p is None or effect is None:
        why = "no test: too few scores are known, or all are equal"
    elif effect <= 0:
        why = "it is not better"
    elif p >= SIGNIFICANCE:
        why = f"chance alone would do this: p is {p:.3g}, {SIGNIFICANCE} or more"
    elif effect <= LEAST_EFFECT:
        why = f"it is better by too little: d is {effect:.3f}, {LEAST_EFFECT} or less"
    else:
        why = f"p is {p:.3g}, below {SIGNIFICANCE}, and d is {effect:.3f}, above {LEAST_EFFECT}"
        return {"decision": "deploy", "p": p, "cohens_d": effect, "why": why}
    return {"decision": "keep", "p": p, "cohens_d": effect, "why": why}


def rows_needed(
    difference: float,
    deviation: float,
    *,
    paired: bool = True,
    power: float = POWER,
    significance: float = SIGNIFICANCE,
) -> int | None:
    """Return the least rows of each run in which a two-sided t test finds a difference with `power`.

    By the noncentral t distribution (Cohen 1988), for rows that do not depend on each other.

    Args:
        difference: of the means, that is to be found.
        deviation: standard deviation of the differences of rows where paired, else of scores.
        paired: whether both runs answer the same rows.
        power: how often it is to be found.
        significance: how often a difference may be called that is none.

    Returns:
        None where more than a thousand million would be needed.

    Raises:
        InputError: a number makes no sense.
    """
    if not (math.isfinite(difference) and math.isfinite(deviation) and difference and deviation > 0):
        raise InputError("the difference should not be zero, and the deviation above it")
    if not 0 < significance < power < 1:
        raise InputError("significance should lie above 0, and power between it and 1")
    effect = min(abs(difference) / deviation, _OBVIOUS)

    def is_enough(rows: int) -> bool:
        return _power(rows, effect, significance, paired=paired) >= power

    high = 2
    while not is_enough(high):
        high *= 2
        if high > MOST_ROWS:
            return None
    return bisect_left(range(high), True, lo=2, key=is_enough)


_OBVIOUS = 30.0
"""Deviations from which on any two rows show a difference."""


def _power(rows: int, effect: float, significance: float, *, paired: bool) -> float:
    free = rows - 1 if paired else 2 * rows - 2
    shift = effect * math.sqrt(rows if paired else rows / 2)
    # only the right side counts as found: the other one is next to nothing, and NaN far out in SciPy
    return float(nct.sf(t.ppf(1 - significance / 2, free), free, shift))
