"""Intervals and tests by groups, items of one source rising and falling together; exact bounds."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, binomtest, permutation_test, t

from qa_pipeline.errors import InputError
from qa_pipeline.settings.thresholds import Interval
from qa_pipeline.storage.hashes import draw_number

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
        self._entropy = [seed, draw_number(key)]

    def blocks(self) -> Iterator[Floats]:
        """Weights of the items: first all ones in a block of its own, then the resamples, block by block."""
        yield np.ones((1, len(self._group)))
        if not self._groups:
            return
        drawn = np.random.default_rng(self._entropy)
        remaining, most = self.count, max(1, _CELLS // max(1, len(self._group)))
        share = np.full(self._groups, 1 / self._groups)
        while remaining:
            rows = min(remaining, most)
            of_groups = drawn.multinomial(self._groups, share, size=rows).astype(np.float64)
            yield of_groups[:, self._group]
            remaining -= rows

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


def ratio(part: Floats, total: Floats) -> Floats:
    """Divide part by whole; NaN where the whole is nothing."""
    shares: Floats = np.divide(part, total, out=np.full(np.shape(part), np.nan), where=total > 0)
    return shares


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
    bounds = binomtest(right, trials).proportion_ci(_CONFIDENCE, method="exact")
    return Interval(value=right / trials, low=float(bounds.low), high=float(bounds.high), n=trials)


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
        totals: sum of the known values of each group.
        counts: how many are known.
    """

    totals: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """The mean over all known rows of each figure; NaN where none is known."""
        with np.errstate(invalid="ignore"):
            row_means: Floats = self.totals.sum(axis=0) / self.counts.sum(axis=0)
        return row_means

    @property
    def errors(self) -> Floats:
        """Standard error of each mean, by leaving out one group at a time; NaN below two groups.

        Rows of a group may rise and fall together in any way (the cluster jackknife, CV3 of MacKinnon,
        Nielsen and Webb 2023), and one group may have nearly all rows.
        """
        rests, used = self.totals - self.means * self.counts, (self.counts > 0).sum(axis=0)
        # rounding errors of equal scores are no spread
        rests[np.abs(rests) <= _ROUNDING * (1 + np.abs(self.totals))] = 0
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = rests / (self.counts.sum(axis=0) * (1 - self._sizes))
            standard_errors: Floats = np.sqrt((moved**2).sum(axis=0) * (used - 1) / used)
        return standard_errors

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of the errors (Bell and McCaffrey 2002); NaN below two groups.

        Groups less one where all are of one size, and fewer the more their sizes differ.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            squares, pulls = self._sizes**2, self._sizes**2 / (1 - self._sizes)
            freedoms: Floats = 1 / (squares.sum(axis=0) + pulls.sum(axis=0) ** 2 - (pulls**2).sum(axis=0))
        return freedoms

    @property
    def _sizes(self) -> Floats:
        """The share of the known rows that each group has."""
        with np.errstate(invalid="ignore"):
            sizes: Floats = self.counts / self.counts.sum(axis=0)
        return sizes


Bounds = tuple[Floats, Floats]
"""Low and high of each figure; NaN where they are not known."""
_ROUNDING = 1e-12


def t_bounds(sums: Sums, confidence: Floats | float = _CONFIDENCE) -> Bounds:
    """Intervals of means by Student's t over groups (Imbens and Kolesár 2016); NaN below two groups.

    Args:
        sums: of the groups.
        confidence: of each interval, or of all.
    """
    reach = t.ppf((1 + np.asarray(confidence)) / 2, sums.freedom) * sums.errors
    return sums.means - reach, sums.means + reach


def t_p(sums: Sums) -> Floats:
    """The two-sided p values of means being zero, by the t of `t_bounds`; NaN below two groups."""
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.where(sums.means == 0, 0, np.abs(sums.means) / sums.errors)
    return 2 * t.sf(far, sums.freedom)  # type: ignore[no-any-return]


def mean_bounds(sums: Sums, lowest: Floats, highest: Floats) -> Bounds:
    """95 % intervals of means that can lie in a range, NaN below two groups.

    The score interval (Wilson 1927) of a mean as a share of its range, of as many yes/no rows as its rows
    are worth: p(1-p) / error², with Student's t in place of the normal quantile (Korn and Graubard 1998;
    Dean and Pagano 2015). Near an end of the range it reaches further away from it than towards it, as a
    mean does. Where all rows agree nothing tells how far, and each group counts once. Where nothing bounds
    a mean from above, the interval is that of `t_bounds`.

    Args:
        sums: of the groups.
        lowest: least value that each mean can have.
        highest: greatest value; infinite where nothing bounds it.
    """
    spans, groups = highest - lowest, (sums.counts > 0).sum(axis=0)
    low, high = t_bounds(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, errors = np.clip((sums.means - lowest) / spans, 0, 1), sums.errors / spans
        spread = shares * (1 - shares)
        worth = np.where(spread * errors > 0, spread / errors**2, groups)
        of_range = wilson(shares, worth, t.ppf((1 + _CONFIDENCE) / 2, sums.freedom))
        bounded_low, bounded_high = (lowest + spans * end for end in of_range)
    bounded = np.isfinite(highest)
    return np.where(bounded, bounded_low, np.maximum(low, lowest)), np.where(bounded, bounded_high, high)


def wilson(share: Floats, trials: Floats, quantile: Floats) -> Bounds:
    """Score interval (Wilson 1927) of shares of any number of trials, as of the quantile of its test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = quantile**2 / trials
        middle = (share + spread / 2) / (1 + spread)
        reach = np.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return np.maximum(middle - reach, 0), np.minimum(middle + reach, 1)


_WAYS = 10_000


def permutation_p(totals: Floats) -> Floats:
    """The p values of paired differences by permutation: whole groups change sides (Fisher 1935), two-sided.

    Without a difference between two runs, the sum of a group's differences is as likely with the other
    sign. A row's own sign is not free: rows of one document change together.

    Args:
        totals: sum of the differences of each group, groups × figures.

    Returns:
        The share of ways that give a mean at least as far from zero: of all ways for few groups, else of
        10,000, the same each time. NaN below two groups.
    """
    if len(totals) < 2:
        return np.full(totals.shape[1], np.nan)
    tested = permutation_test(
        (totals.T,),
        lambda drawn, axis: drawn.sum(axis=axis),
        permutation_type="samples",
        n_resamples=_WAYS,
        batch=max(1, _CELLS // totals.size),
        axis=1,
        rng=0,
    )
    return np.asarray(tested.pvalue)


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """The p values of several tests, adjusted so that one false alarm among them is as rare (Holm 1979).

    A test without a p value counts for none.
    """
    ranked = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    least = 0.0
    for place, (p, name) in enumerate(ranked):
        least = max(least, min(1.0, p * (len(ranked) - place)))
        adjusted[name] = least
    return adjusted
