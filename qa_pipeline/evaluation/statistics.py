"""Intervals by resampling groups, items of one source rising and falling together; exact bounds of shares."""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binomtest

from qa_pipeline.errors import InputError
from qa_pipeline.settings.thresholds import Interval

Floats = npt.NDArray[np.float64]

_CELLS = 2_000_000
"""Weights held at a time, so that a large set needs no more memory than a small one."""
_LEAST_SHARE = 0.5


class Estimate(TypedDict):
    """A figure with the percentile interval of its resamples (Efron 1979); None where it has no meaning."""

    value: float | None
    low: float | None
    high: float | None


class Resamples:
    """Draws of the groups of one set of items with replacement; the same for every scorer, hence paired.

    Args:
        groups: the group of each item.
        key: name of the set; with the seed it fixes the draws, whatever other sets there are.
        count: resamples.
        seed: of the draws.
    """

    def __init__(self, groups: Sequence[str], key: str, count: int, seed: int = 0) -> None:
        self.count = count
        _, self._group = np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True)
        self._groups = int(self._group.max()) + 1 if len(groups) else 0
        self._entropy = [seed, int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")]

    def blocks(self) -> Iterator[Floats]:
        """Weights of the items: first all ones in a block of its own, then the resamples, block by block."""
        yield np.ones((1, len(self._group)))
        if not self._groups:
            return
        drawn = np.random.default_rng(self._entropy)
        left, most = self.count, max(1, _CELLS // max(1, len(self._group)))
        share = np.full(self._groups, 1 / self._groups)
        while left:
            rows = min(left, most)
            of_groups = drawn.multinomial(self._groups, share, size=rows).astype(np.float64)
            yield of_groups[:, self._group]
            left -= rows

    def over(self, measured: Callable[[Floats], dict[str, Floats]]) -> dict[str, Floats]:
        """What is measured on the items as they are (place 0) and on each resample, by figure."""
        blocks = [measured(weights) for weights in self.blocks()]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def estimate(values: Floats) -> Estimate:
    """A figure of `Resamples.over` with its 95 % interval.

    An interval needs half of the resamples: fewer have a meaning only where a class is nearly empty.
    """
    value, drawn = values[0], values[1:]
    if np.isnan(value):
        return Estimate(value=None, low=None, high=None)
    usable = drawn[~np.isnan(drawn)]
    if not len(usable) or len(usable) < _LEAST_SHARE * len(drawn):
        return Estimate(value=float(value), low=None, high=None)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Estimate(value=float(value), low=float(low), high=float(high))


_PLACES = 4


def rounded(value: Any) -> Any:
    """A document with its fractions rounded to four places."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, _PLACES) if isinstance(value, float) else value


_MOST_TRIALS = 10_000_000
_CONFIDENCE = 0.95


def lower_bound(right: int, trials: int, confidence: float) -> float:
    """The share that the true one exceeds with this confidence; 0 without trials."""
    return float(beta.ppf(1 - confidence, right, trials - right + 1)) if right else 0.0


def interval(right: int, trials: int) -> Interval:
    """The share seen and its two-sided 95 % interval, 0 to 1 without trials."""
    if not trials:
        return Interval(value=None, low=0.0, high=1.0, n=0)
    found = binomtest(right, trials).proportion_ci(_CONFIDENCE, method="exact")
    return Interval(value=right / trials, low=float(found.low), high=float(found.high), n=trials)


def trials_needed(target: float, confidence: float, wrong_share: float = 0.0) -> int | None:
    """The least trials whose lower bound reaches the target when so large a share of them is wrong.

    Without an error these are ln(1 - confidence) / ln(target), rounded up. None where no number would do.
    """
    if not wrong_share:
        return math.ceil(math.log(1 - confidence) / math.log(target) - 1e-9)
    if 1 - wrong_share <= target:
        return None

    def enough(trials: int) -> bool:
        wrong = math.ceil(wrong_share * trials)
        return lower_bound(trials - wrong, trials, confidence) >= target

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_TRIALS:
            return None
    return bisect_left(range(high), True, lo=high // 2 + 1, key=enough)


def check_levels(target: float, confidence: float) -> None:
    """Refuse levels that no bound can reach, or that ask for nothing.

    Raises:
        InputError: saying which.
    """
    for name, value in (("target precision", target), ("confidence", confidence)):
        if not 0 < value < 1:
            raise InputError(f"the {name} must lie between 0 and 1, and is {value}")
