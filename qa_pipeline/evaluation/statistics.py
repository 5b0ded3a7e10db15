"""Intervals and tests by resampling groups, items of one source rising and falling together; exact bounds."""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binomtest, norm, t

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


@dataclass(frozen=True, slots=True)
class Sums:
    """What a mean over rows needs of each group, for many figures at once: groups × figures.

    Args:
        groups: names, each once.
        totals: sum of the known values of each group.
        counts: how many are known.
    """

    groups: Sequence[str]
    totals: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """The mean over all known rows of each figure; NaN where none is known."""
        known = self.counts.sum(axis=0)
        found = np.full(known.shape, np.nan)
        np.divide(self.totals.sum(axis=0), known, out=found, where=known > 0)
        return found

    @property
    def rests(self) -> Floats:
        """How far each group's sum is from what the mean would give; rounding errors are taken for zero."""
        found = self.totals - np.nan_to_num(self.means) * self.counts
        return np.where(np.abs(found) <= _ROUNDING * (1 + np.abs(self.totals)), 0.0, found)

    @property
    def errors(self) -> Floats:
        """Standard error of each mean, robust to groups (Cameron and Miller 2015); NaN below two groups."""
        used = (self.counts > 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.sqrt((self.rests**2).sum(axis=0) * used / (used - 1.0))
            return np.where(used > 1, spread / self.counts.sum(axis=0), np.nan)


Bounds = tuple[Floats, Floats]
"""Low and high of each figure; NaN where they are not known, infinite where nothing bounds them."""
_ROUNDING = 1e-12


def mean_bounds(
    sums: Sums, draws: Resamples, lowest: Floats, highest: Floats, confidence: Floats | float = 0.95
) -> Bounds:
    """Intervals of means: symmetric bootstrap-t over groups (Hall 1988), cut to what can be.

    Each resample's mean is divided by its own error, so that few or unequal groups widen the interval; the
    percentile interval of few groups covers less than it says. A resample in which all are equal says
    nothing of the error and counts as infinitely far. Below two groups nothing is known.

    Args:
        sums: of the groups that `draws` draws.
        draws: over the names in `sums.groups`, each once.
        lowest: least value that each mean can have.
        highest: greatest value; infinite where nothing bounds it.
        confidence: of each interval, or of all.
    """
    rests, counts = sums.rests, sums.counts
    parts = (rests, counts, rests**2, rests * counts, counts**2)

    def measured(weights: Floats) -> dict[str, Floats]:
        rest, count, squares, crossed, sizes = (weights @ part for part in parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            off = rest / count
            spread = np.maximum(squares - 2 * off * crossed + off**2 * sizes, 0)
            far = np.abs(off) * count / np.sqrt(spread)
        return {"far": np.where(off == 0, 0.0, np.where(np.isnan(far), np.inf, far))}

    far = draws.over(measured)["far"][1:]
    if not len(far):
        return np.full(rests.shape[1], np.nan), np.full(rests.shape[1], np.nan)
    used = (counts > 0).sum(axis=0)
    levels = np.broadcast_to(confidence, used.shape)
    quantiles = np.full(used.shape, np.nan)
    for level in np.unique(levels):
        at = levels == level
        quantiles[at] = np.quantile(far[:, at], level, axis=0, method="higher")
    with np.errstate(invalid="ignore"):
        reach = quantiles * (rests**2).sum(axis=0) ** 0.5
        reach = np.where(used > 1, reach / counts.sum(axis=0), np.nan)
    return np.maximum(sums.means - reach, lowest), np.minimum(sums.means + reach, highest)


def share_bounds(sums: Sums) -> Bounds:
    """95 % intervals of shares of yes/no rows (Wilson 1927), by as many rows as they are worth.

    Where every group has one row these are the rows. Else they are p(1-p) / error² with Student's t in
    place of the normal quantile (Korn and Graubard 1998; Dean and Pagano 2015): rows of one document rise
    and fall together. Where all rows agree nothing tells how far, and each document counts once.
    """
    shares, known, used = sums.means, sums.counts.sum(axis=0), (sums.counts > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = np.where(sums.errors > 0, shares * (1 - shares) / sums.errors**2, used)
        reach = t.ppf((1 + _CONFIDENCE) / 2, used - 1)
    alone = sums.counts.max(axis=0, initial=0) <= 1
    trials = np.where(alone, known, np.minimum(worth, known))
    quantile = np.where(alone, norm.ppf((1 + _CONFIDENCE) / 2), reach)
    return wilson(shares, trials, quantile)


def wilson(share: Floats, trials: Floats, quantile: Floats) -> Bounds:
    """Score interval (Wilson 1927) of shares of any number of trials, as of the quantile of its test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = quantile**2 / trials
        middle = (share + spread / 2) / (1 + spread)
        reach = np.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return np.maximum(middle - reach, 0), np.minimum(middle + reach, 1)


_MOST_GROUPS_EXACT = 12
"""Groups up to which all ways to flip their signs are tried; 4,096 of them."""


def flip_p(totals: Floats, count: int, seed: int) -> Floats:
    """The p value of paired differences by permutation: whole groups change sides (Fisher 1935), two-sided.

    Without a difference between two runs, the sum of a group's differences is as likely with the other
    sign. A row's own sign is not free: rows of one document change together.

    Args:
        totals: sum of the differences of each group, groups × figures.
        count: random ways to flip signs; few groups are flipped in all ways.
        seed: of the random ways.

    Returns:
        The share of ways that give a mean at least as far from zero, what was seen among them.
    """
    groups = len(totals)
    seen = np.abs(totals.sum(axis=0)) * (1 - 1e-9)
    if groups <= _MOST_GROUPS_EXACT:
        ways = np.arange(2**groups)[:, None] >> np.arange(groups) & 1
        return (np.abs((2.0 * ways - 1) @ totals) >= seen).mean(axis=0)  # type: ignore[no-any-return]
    drawn, most = np.random.default_rng(seed), max(1, _CELLS // groups)
    reached = np.zeros(totals.shape[1])
    for start in range(0, count, most):
        signs = drawn.integers(0, 2, (min(most, count - start), groups), dtype=np.int8) * 2.0 - 1
        reached += (np.abs(signs @ totals) >= seen).sum(axis=0)
    return (reached + 1) / (count + 1)


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """The p values of several tests, adjusted so that one false alarm among them is as rare (Holm 1979).

    A test without a p value counts for none.
    """
    known = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    least = 0.0
    for place, (p, name) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - place)))
        adjusted[name] = least
    return adjusted
