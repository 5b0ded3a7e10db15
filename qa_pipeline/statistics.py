"""Intervals, tests and sample sizes, each computed here alone and with the source of its method.

What belongs here: functions of counts and arrays. What does not: tables, metrics by name, and what follows
from a figure. SciPy is imported by the functions that use it, since every layer above imports this module.
"""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Bounds = tuple[Floats, Floats]
"""Low and high of each figure; NaN where they are unknown."""
Operand = TypeVar("Operand", pl.Expr, Floats)

CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
Z95 = 1.959963984540054
"""97.5 % quantile of the normal distribution: two-sided 95 %."""
_CELLS = 2_000_000
"""Weights in memory at a time, so that a large set needs no more of it than a small one."""
_NO_SPREAD = 1e-12
"""Deviations up to here are rounding errors of equal scores."""


# Shares


def wilson_interval(successes: pl.Expr, trials: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the lower and upper 95 % bound of a share; null without trials.

    The score interval of E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", JASA 22 (1927): it stays inside 0..1 and is usable for a handful of trials.
    """
    n = pl.when(trials > 0).then(trials.cast(pl.Float64))
    centre, variance, scale = _score_terms(successes / n, n, Z95)
    margin = Z95 * variance.sqrt()
    return ((centre - margin) / scale).clip(0.0, 1.0), ((centre + margin) / scale).clip(0.0, 1.0)


def wilson(share: Floats, trials: Floats, quantile: Floats | float = Z95) -> Bounds:
    """Return the score interval (Wilson 1927) of shares of any number of trials.

    Args:
        share: of successes.
        trials: above 0; need not be whole.
        quantile: of the distribution of the test, the normal one at 95 % by default.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        centre, variance, scale = _score_terms(share, trials, quantile)
        margin = quantile * np.sqrt(variance)
        return np.maximum((centre - margin) / scale, 0), np.minimum((centre + margin) / scale, 1)


def wilson_bounds(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % score interval (Wilson 1927) of one share of at least one trial."""
    low, high = wilson(np.array(successes / trials), np.array(float(trials)))
    return float(low), float(high)


def _score_terms(
    share: Operand, trials: Operand, quantile: Floats | float
) -> tuple[Operand, Operand, Operand]:
    """Return centre, variance and scale of the score interval, of columns or of arrays."""
    square = quantile**2
    return (
        share + square / (2 * trials),
        share * (1 - share) / trials + square / (4 * trials**2),
        1 + square / trials,
    )


def lower_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the share that the true one exceeds with this confidence; 0 without trials.

    The one-sided exact bound of C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
    illustrated in the case of the binomial", Biometrika 26 (1934), by quantiles of the beta distribution.
    """
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, successes, trials - successes + 1)) if successes else 0.0


def upper_bound(
    successes: int, trials: int, confidence: float = CONFIDENCE, population: int | None = None
) -> float:
    """Return the share that the true one stays below with this confidence (Clopper and Pearson 1934).

    Args:
        successes: among the trials.
        trials: drawn at random, at least one.
        confidence: one-sided.
        population: number of rows they are drawn from; where each of them was drawn, nothing is left to
            chance.
    """
    from scipy.stats import beta

    if trials == population:
        return min(1.0, successes / trials)
    return 1.0 if successes >= trials else float(beta.ppf(confidence, successes + 1, trials - successes))


def exact_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson 1934); 0 to 1 without trials."""
    from scipy.stats import binomtest

    if not trials:
        return 0.0, 1.0
    bounds = binomtest(successes, trials).proportion_ci(CONFIDENCE, method="exact")
    return float(bounds.low), float(bounds.high)


# Sample sizes


def trials_needed(target: float, confidence: float, wrong_share: float = 0.0) -> int | None:
    """Return the least trials whose `lower_bound` reaches the target when so large a share of them is wrong.

    Without an error these are ln(1 - confidence) / ln(target), rounded up. None where no number would do.
    """
    if not wrong_share:
        return math.ceil(math.log(1 - confidence) / math.log(target) - 1e-9)
    if 1 - wrong_share <= target:
        return None

    def is_enough(trials: int) -> bool:
        wrong = math.ceil(wrong_share * trials)
        return lower_bound(trials - wrong, trials, confidence) >= target

    trials = _least(is_enough, 1, _MOST_TRIALS)
    return trials if trials <= _MOST_TRIALS else None


def further_trials_needed(successes: int, trials: int, target: float, confidence: float = CONFIDENCE) -> int:
    """Return how many more trials without a success would bring the `upper_bound` down to the target."""
    return _least(lambda more: upper_bound(successes, trials + more, confidence) <= target, 0)


def rows_needed(
    difference: float,
    deviation: float,
    *,
    paired: bool = True,
    power: float = 0.8,
    significance: float = SIGNIFICANCE,
) -> int | None:
    """Return the least rows of each run in which a two-sided t test detects a difference as often as `power`.

    By the noncentral t distribution (J. Cohen, Statistical power analysis for the behavioral sciences, 1988),
    for rows that do not depend on each other.

    Args:
        difference: of the means, that is to be detected.
        deviation: standard deviation of the differences of rows where paired, else of scores.
        paired: whether both runs answer the same rows.
        power: how often it is to be detected.
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
    rows = _least(lambda rows: _power(rows, effect, significance, paired=paired) >= power, 2, MOST_ROWS)
    return rows if rows <= MOST_ROWS else None


MOST_ROWS = 10**9
_MOST_TRIALS = 10_000_000
_OBVIOUS = 30.0
"""Deviations from which on any two rows show a difference."""


def _power(rows: int, effect: float, significance: float, *, paired: bool) -> float:
    from scipy.stats import nct, t

    freedom = rows - 1 if paired else 2 * rows - 2
    shift = effect * math.sqrt(rows if paired else rows / 2)
    # only the right side counts: the other one is next to nothing, and NaN far out in SciPy
    return float(nct.sf(t.ppf(1 - significance / 2, freedom), freedom, shift))


def _least(is_enough: Callable[[int], bool], first: int, most: float = math.inf) -> int:
    """Return the least number from `first` on that is enough; one above `most` where none up to it is."""
    if is_enough(first):
        return first
    high = max(1, 2 * first)
    while not is_enough(high):
        high *= 2
        if high > most:
            return high
    return bisect_left(range(high), True, lo=high // 2 + 1, key=is_enough)


# Resamples of groups


class Estimate(TypedDict):
    """Hold a figure with the percentile interval of its resamples; None where it has no meaning."""

    value: float | None
    low: float | None
    high: float | None


class Resamples:
    """Draw the groups of one set of items with replacement, alike for every scorer and hence paired.

    The bootstrap of B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7
    (1979), over whole groups, whose items rise and fall together.

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
        """Yield weights of the items: first all ones in a block of its own, then the resamples, in blocks."""
        yield np.ones((1, len(self._group)))
        if not self._groups:
            return
        generator = np.random.default_rng(self._entropy)
        remaining, most = self.count, max(1, _CELLS // max(1, len(self._group)))
        share = np.full(self._groups, 1 / self._groups)
        while remaining:
            rows = min(remaining, most)
            group_counts = generator.multinomial(self._groups, share, size=rows).astype(np.float64)
            yield group_counts[:, self._group]
            remaining -= rows

    def over(self, measure: Callable[[Floats], dict[str, Floats]]) -> dict[str, Floats]:
        """Return figures by name: of the items as they are (place 0), then of each resample."""
        blocks = [measure(weights) for weights in self.blocks()]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


_LEAST_SHARE = 0.5


def estimate(values: Floats) -> Estimate:
    """Return a figure of `Resamples.over` with its 95 % percentile interval (Efron 1979).

    An interval needs half of the resamples: fewer have a meaning only where a class is nearly empty.
    """
    value, resampled = values[0], values[1:]
    if np.isnan(value):
        return Estimate(value=None, low=None, high=None)
    usable = resampled[~np.isnan(resampled)]
    if not len(usable) or len(usable) < _LEAST_SHARE * len(resampled):
        return Estimate(value=float(value), low=None, high=None)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Estimate(value=float(value), low=float(low), high=float(high))


def ratio(part: Floats, total: Floats) -> Floats:
    """Divide part by total; NaN where the total is nothing."""
    shares: Floats = np.divide(part, total, out=np.full(np.shape(part), np.nan), where=total > 0)
    return shares


# Means over groups


@dataclass(frozen=True, slots=True)
class Sums:
    """Hold what means over rows need of each group, for many figures at once: groups × figures.

    Args:
        totals: sum of the known values of each group.
        counts: how many are known.
    """

    totals: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """Return the mean over all known rows of each figure; NaN where none is known."""
        with np.errstate(invalid="ignore"):
            row_means: Floats = self.totals.sum(axis=0) / self.counts.sum(axis=0)
        return row_means

    @property
    def errors(self) -> Floats:
        """Return the standard error of each mean, by leaving out one group at a time; NaN below two groups.

        Rows of a group may rise and fall together in any way, and one group may have nearly all rows: the
        cluster jackknife, CV3 of J. G. MacKinnon, M. Ø. Nielsen and M. D. Webb, "Fast and reliable jackknife
        and bootstrap methods for cluster-robust inference", Journal of Applied Econometrics 38 (2023).
        """
        rests, used = self.totals - self.means * self.counts, (self.counts > 0).sum(axis=0)
        # rounding errors of equal scores are no spread
        rests[np.abs(rests) <= _NO_SPREAD * (1 + np.abs(self.totals))] = 0
        with np.errstate(invalid="ignore", divide="ignore"):
            moves = rests / (self.counts.sum(axis=0) * (1 - self._sizes))
            standard_errors: Floats = np.sqrt((moves**2).sum(axis=0) * (used - 1) / used)
        return standard_errors

    @property
    def freedom(self) -> Floats:
        """Return the degrees of freedom of the errors; NaN below two groups.

        Those of R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with
        multi-stage samples", Survey Methodology 28 (2002): groups less one where all are of one size, and
        fewer the more their sizes differ.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            squares, leverages = self._sizes**2, self._sizes**2 / (1 - self._sizes)
            freedoms: Floats = 1 / (
                squares.sum(axis=0) + leverages.sum(axis=0) ** 2 - (leverages**2).sum(axis=0)
            )
        return freedoms

    @property
    def _sizes(self) -> Floats:
        """Return the share of the known rows that each group has."""
        with np.errstate(invalid="ignore"):
            sizes: Floats = self.counts / self.counts.sum(axis=0)
        return sizes


def t_bounds(sums: Sums, confidence: Floats | float = CONFIDENCE) -> Bounds:
    """Return intervals of means by Student's t over groups; NaN below two groups.

    As G. W. Imbens and M. Kolesár recommend in "Robust standard errors in small samples", Review of Economics
    and Statistics 98 (2016).

    Args:
        sums: of the groups.
        confidence: of each interval, or of all.
    """
    from scipy.stats import t

    margin = t.ppf((1 + np.asarray(confidence)) / 2, sums.freedom) * sums.errors
    return sums.means - margin, sums.means + margin


def t_p(sums: Sums) -> Floats:
    """Return two-sided p values of means being zero, by the t of `t_bounds`; NaN below two groups."""
    from scipy.stats import t

    with np.errstate(invalid="ignore", divide="ignore"):
        distances = np.where(sums.means == 0, 0, np.abs(sums.means) / sums.errors)
    return 2 * t.sf(distances, sums.freedom)  # type: ignore[no-any-return]


def mean_bounds(sums: Sums, lowest: Floats, highest: Floats) -> Bounds:
    """Return 95 % intervals of means that can lie in a range, NaN below two groups.

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
    from scipy.stats import t

    spans, groups = highest - lowest, (sums.counts > 0).sum(axis=0)
    low, high = t_bounds(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, errors = np.clip((sums.means - lowest) / spans, 0, 1), sums.errors / spans
        spread = shares * (1 - shares)
        worth = np.where(spread * errors > 0, spread / errors**2, groups)
        share_bounds = wilson(shares, worth, t.ppf((1 + CONFIDENCE) / 2, sums.freedom))
        bounded_low, bounded_high = (lowest + spans * end for end in share_bounds)
    bounded = np.isfinite(highest)
    return np.where(bounded, bounded_low, np.maximum(low, lowest)), np.where(bounded, bounded_high, high)


# Means of bounded scores


_TRUNCATED = 0.75
_STEPS = 2**14
"""Places that an end of an interval may have; it is taken from the safe side."""


def betting_interval(values: Floats, error: float) -> tuple[float, float]:
    """Return an interval that contains the mean of scores between 0 and 1 but for a chance of `error`.

    It holds for any such scores and any number of them: hedged capital with predictable plug-in bets of
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86
    (2024). It takes rows as independent. It depends on their order, which must not depend on them; that of
    time does not.

    Args:
        values: the scores, each between 0 and 1; an empty array has the interval 0 to 1.
        error: chance of an interval that lacks the mean, both ends together.
    """
    return _lower_end(values, error), 1 - _lower_end(1 - values, error)


def _lower_end(values: Floats, error: float) -> float:
    """Return the highest mean excluded as too low: bets on a higher one ever made the capital too large."""
    count = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread])[: len(values)]
    needed = math.log(2 / error)
    bets = np.sqrt(2 * needed / (before * len(values))) if len(values) else values

    def is_possible(step: int) -> bool:
        mean = step / _STEPS
        most = _TRUNCATED / mean if mean else np.inf
        capital = np.cumsum(np.log1p(np.minimum(bets, most) * (values - mean)))
        return bool(capital.max(initial=-np.inf) < needed)

    return max(bisect_left(range(_STEPS), True, key=is_possible) - 1, 0) / _STEPS


# Tests of two runs


_PERMUTATIONS = 10_000


def permutation_p(totals: Floats) -> Floats:
    """Return two-sided p values of paired differences by permutation: whole groups change sides.

    The test of R. A. Fisher, The design of experiments (1935). Without a difference between two runs, the sum
    of a group's differences is as likely with the other sign. The sign of a row is not free: rows of one
    document change together.

    Args:
        totals: sum of the differences of each group, groups × figures.

    Returns:
        The share of permutations that give a mean at least as far from zero: of all for few groups, else of
        10,000, the same each time. NaN below two groups.
    """
    from scipy.stats import permutation_test

    if len(totals) < 2:
        return np.full(totals.shape[1], np.nan)
    tested = permutation_test(
        (totals.T,),
        lambda signed, axis: signed.sum(axis=axis),
        permutation_type="samples",
        n_resamples=_PERMUTATIONS,
        batch=max(1, _CELLS // totals.size),
        axis=1,
        rng=0,
    )
    return np.asarray(tested.pvalue)


def mcnemar_p(gained: int, lost: int) -> float | None:
    """Return the exact p value that yes/no rows are lost as often as gained; None where none changed.

    The test of Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947), by the binomial distribution.
    """
    from scipy.stats import binomtest

    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else None


def wilcoxon_p(gains: Floats) -> float | None:
    """Return the p value of the signed ranks of the rows that changed; None where none did.

    The test of F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945), by its
    normal limit.
    """
    from scipy.stats import wilcoxon

    changed = gains[np.abs(gains) > _NO_SPREAD]
    return number(wilcoxon(changed, method="asymptotic").pvalue) if len(changed) else None


class SampleTests(TypedDict):
    """Hold the 95 % interval of a difference of means and the p values of two tests; None where unknown."""

    low: float | None
    high: float | None
    p: float | None
    mann_whitney_p: float | None


def compare_independent(first: Floats, second: Floats) -> SampleTests:
    """Test whether two independent samples differ; without figures below two rows or without any spread.

    The t test of B. L. Welch, "The generalization of Student's problem when several different population
    variances are involved", Biometrika 34 (1947), for second less first, and the rank test of H. B. Mann and
    D. R. Whitney, Annals of Mathematical Statistics 18 (1947).
    """
    from scipy.stats import mannwhitneyu, ttest_ind

    if min(len(first), len(second)) < 2 or not (np.ptp(first) > 0 or np.ptp(second) > 0):
        return SampleTests(low=None, high=None, p=None, mann_whitney_p=None)
    welch = ttest_ind(second, first, equal_var=False)
    low, high = (number(bound) for bound in welch.confidence_interval(CONFIDENCE))
    rank_p = number(mannwhitneyu(second, first).pvalue)
    return SampleTests(low=low, high=high, p=number(welch.pvalue), mann_whitney_p=rank_p)


def quotient(part: float | None, total: float) -> float | None:
    """Divide part by total; None where the part is unknown or the total nothing but rounding."""
    return part / total if part is not None and total > _NO_SPREAD else None


def pooled_deviation(first: Floats, second: Floats) -> float:
    """Return the pooled standard deviation of two samples (Cohen 1988); 0 below two rows."""
    freedom = len(first) + len(second) - 2
    if min(len(first), len(second)) < 2:
        return 0
    spread = sum(float(((values - values.mean()) ** 2).sum()) for values in (first, second))
    return float(np.sqrt(spread / freedom))


def number(value: float | np.floating | None) -> float | None:
    """Return a figure as documents have it: None where it is unknown or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


# Tests of a sample against a reference


BINS = 10
_EXCHANGES = 1999


def stability_index(sample: Counts, reference: Counts) -> Floats:
    """Return the population stability index of counts in equal bins (last axis).

    The sum over bins of (s - r) * ln(s / r), for the shares s and r: the symmetric divergence of H. Jeffreys
    (1946), as credit scoring uses it (N. Siddiqi, Credit risk scorecards, 2006). Half a row is added to each
    bin, since an empty one would make it infinite.
    """
    shares = (sample + 0.5) / (sample.sum(-1, keepdims=True) + 0.5 * sample.shape[-1])
    before = (reference + 0.5) / (reference.sum(-1, keepdims=True) + 0.5 * reference.shape[-1])
    index: Floats = ((shares - before) * np.log(shares / before)).sum(-1)
    return index


def bin_counts(values: Floats, edges: Floats) -> Counts:
    """Count between edges, and on each of them: scores that many rows share have a bin to themselves."""
    places = np.searchsorted(edges, values, "left") + np.searchsorted(edges, values, "right")
    return np.bincount(places, minlength=2 * len(edges) + 1).astype(np.int64)


def quantile_edges(reference: Floats) -> Floats:
    """Return the inner edges of ten bins with equally many rows of the reference; equal edges are merged."""
    edges: Floats = np.unique(np.quantile(reference, np.linspace(0, 1, BINS + 1)[1:-1]))
    return edges


def compare_with_reference(values: Floats, reference: Floats, seed: int) -> tuple[float, float, float]:
    """Return KS distance, stability index, and the chance of so large a difference where there is none.

    Two tests: that of A. N. Kolmogorov (1933) and N. V. Smirnov (1939) by its limit, and the stability index
    against random exchanges between sample and reference (Fisher 1935). The smaller of both chances counts,
    doubled (Bonferroni).

    Args:
        values: of the sample, at least one.
        reference: likewise.
        seed: of the exchanges.
    """
    from scipy.stats import ks_2samp

    tested = ks_2samp(values, reference, method="asymp")
    edges = quantile_edges(reference)
    sample_counts, reference_counts = bin_counts(values, edges), bin_counts(reference, edges)
    is_present = sample_counts + reference_counts > 0
    pooled = (sample_counts + reference_counts)[is_present]
    index = float(stability_index(sample_counts[is_present], reference_counts[is_present]))
    generator = np.random.default_rng(seed)
    exchanges = generator.multivariate_hypergeometric(
        pooled, len(values), size=_EXCHANGES, method="marginals"
    )
    as_large = np.count_nonzero(stability_index(exchanges, pooled - exchanges) >= index - 1e-12)
    exchange_p = (1 + as_large) / (1 + _EXCHANGES)
    return float(tested.statistic), index, min(1.0, 2 * min(float(tested.pvalue), exchange_p))


# Corrections for several tests


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return p values adjusted so that one false alarm among the tests is as rare.

    The step-down procedure of S. Holm, "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6 (1979). A test without a p value counts for none.
    """
    ranked = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    least = 0.0
    for place, (p, name) in enumerate(ranked):
        least = max(least, min(1.0, p * (len(ranked) - place)))
        adjusted[name] = least
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted so that what lies below a rate has that false discovery rate.

    The step-up procedure of Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57
    (1995).
    """
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(p_values)] if p_values else []
