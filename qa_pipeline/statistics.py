"""Intervals and tests for counts and arrays, by SciPy where available.

SciPy is imported inside the functions that use it, since most of the package imports this module.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Bounds = tuple[Floats, Floats]
"""Lower and upper bounds of each figure; NaN if unknown."""
Operand = TypeVar("Operand", pl.Expr, Floats)
CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
Z95 = 1.959963984540054
"""97.5 % quantile of the normal distribution, for a two-sided 95 % interval."""
_NO_SPREAD = 1e-12
"""Deviations up to this size are rounding errors of equal scores."""


def wilson_interval(successes: pl.Expr, trials: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the 95 % score interval (Wilson 1927) of a share in columns; null without trials."""
    n = pl.when(trials > 0).then(trials.cast(pl.Float64))
    centre, variance, scale = _score_terms(successes / n, n, Z95)
    margin = Z95 * variance.sqrt()
    return ((centre - margin) / scale).clip(0.0, 1.0), ((centre + margin) / scale).clip(0.0, 1.0)


def wilson(share: Floats, trials: Floats, quantile: Floats | float = Z95) -> Bounds:
    """Return the score interval (Wilson 1927) of shares; trials may be fractional."""
    with np.errstate(invalid="ignore", divide="ignore"):
        centre, variance, scale = _score_terms(share, trials, quantile)
        margin = quantile * np.sqrt(variance)
        return np.maximum((centre - margin) / scale, 0), np.minimum((centre + margin) / scale, 1)


def wilson_bounds(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % score interval (Wilson 1927) of a share; `trials` must be positive."""
    low, high = wilson(np.array(successes / trials), np.array(float(trials)))
    return float(low), float(high)


def _score_terms(
    share: Operand, trials: Operand, quantile: Floats | float
) -> tuple[Operand, Operand, Operand]:
    """Return terms of Wilson's score interval: its bounds are (centre ± quantile · √variance) / scale."""
    square = quantile**2
    centre = share + square / (2 * trials)
    variance = share * (1 - share) / trials + square / (4 * trials**2)
    scale = 1 + square / trials
    return centre, variance, scale


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums and counts of known values: arrays of groups × figures."""

    totals: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """Return the mean of each figure over all known rows; NaN without any."""
        with np.errstate(invalid="ignore"):
            row_means: Floats = self.totals.sum(axis=0) / self.counts.sum(axis=0)
        return row_means

    @property
    def errors(self) -> Floats:
        """Return the standard error of each mean by the cluster jackknife; NaN below two groups.

        CV3 of MacKinnon, Nielsen and Webb (2023): rows within a group may be correlated in any way.
        """
        deviations = self.totals - self.means * self.counts  # groups × figures
        # do not count rounding errors of equal scores as spread
        deviations[np.abs(deviations) <= _NO_SPREAD * (1 + np.abs(self.totals))] = 0
        groups = (self.counts > 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # without a group, a mean moves by (its total - mean * its rows) / the remaining rows, 0/0 if none
            moves = deviations / (self.counts.sum(axis=0) * (1 - self._group_shares))
            standard_errors: Floats = np.sqrt((moves**2).sum(axis=0) * (groups - 1) / groups)
        return standard_errors

    @property
    def degrees_of_freedom(self) -> Floats:
        """Return the degrees of freedom of the errors (Bell and McCaffrey 2002); NaN below two groups."""
        with np.errstate(invalid="ignore", divide="ignore"):
            squares, leverages = self._group_shares**2, self._group_shares**2 / (1 - self._group_shares)
            freedoms: Floats = 1 / (
                squares.sum(axis=0) + leverages.sum(axis=0) ** 2 - (leverages**2).sum(axis=0)
            )
        return freedoms

    @property
    def _group_shares(self) -> Floats:
        """Return the share of each group in the known rows of each figure."""
        with np.errstate(invalid="ignore"):
            shares: Floats = self.counts / self.counts.sum(axis=0)
        return shares


def t_bounds(sums: Sums, confidence: Floats | float = CONFIDENCE) -> Bounds:
    """Return intervals of means by Student's t over groups; NaN below two groups."""
    from scipy.stats import t

    margin = t.ppf((1 + np.asarray(confidence)) / 2, sums.degrees_of_freedom) * sums.errors
    return sums.means - margin, sums.means + margin


def t_p(sums: Sums) -> Floats:
    """Return two-sided p values for a mean of zero, by Student's t as in `t_bounds`; NaN below two groups."""
    from scipy.stats import t

    with np.errstate(invalid="ignore", divide="ignore"):
        distances = np.where(sums.means == 0, 0, np.abs(sums.means) / sums.errors)
    return 2 * t.sf(distances, sums.degrees_of_freedom)  # type: ignore[no-any-return]


def mean_bounds(sums: Sums, lowest: Floats, highest: Floats, confidence: float = CONFIDENCE) -> Bounds:
    """Return intervals of means of scores from `lowest` to `highest`; NaN below two groups.

    Each mean is treated as a share p of its range. Its score interval uses Student's t and the effective
    number of Bernoulli trials, p(1-p) / error² (Korn and Graubard 1998); if the error is 0, each group is a
    trial. If `highest` is infinite, the interval comes from `t_bounds`, cut at `lowest`.
    """
    from scipy.stats import t

    ranges = highest - lowest
    groups = (sums.counts > 0).sum(axis=0)
    t_low, t_high = t_bounds(sums, confidence)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, errors = np.clip((sums.means - lowest) / ranges, 0, 1), sums.errors / ranges
        variances = shares * (1 - shares)
        has_spread = (variances > 0) & (errors > 0)
        trials = np.where(has_spread, variances / errors**2, groups)
        quantiles = t.ppf((1 + confidence) / 2, sums.degrees_of_freedom)  # NaN below two groups
        share_low, share_high = wilson(shares, trials, quantiles)
        low, high = lowest + ranges * share_low, lowest + ranges * share_high  # inf or NaN if unbounded
    is_bounded = np.isfinite(highest)
    return np.where(is_bounded, low, np.maximum(t_low, lowest)), np.where(is_bounded, high, t_high)


def compare_independent(first: Floats, second: Floats) -> dict[str, float | None]:
    """Compare two independent samples by Welch's t (second minus first) and the Mann-Whitney test.

    Returns the 95 % interval of the difference, `low` to `high`, with `p` and `mann_whitney_p`. All are None
    below two rows, or without any spread.
    """
    from scipy.stats import mannwhitneyu, ttest_ind

    if min(len(first), len(second)) < 2 or not (np.ptp(first) > 0 or np.ptp(second) > 0):
        return dict.fromkeys(("low", "high", "p", "mann_whitney_p"))
    welch = ttest_ind(second, first, equal_var=False)
    low, high = (number(bound) for bound in welch.confidence_interval(CONFIDENCE))
    rank_p = number(mannwhitneyu(second, first).pvalue)
    return {"low": low, "high": high, "p": number(welch.pvalue), "mann_whitney_p": rank_p}


def pooled_deviation(first: Floats, second: Floats) -> float:
    """Return the pooled standard deviation of two samples (Cohen 1988); 0 below two rows."""
    if min(len(first), len(second)) < 2:
        return 0
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in (first, second))
    return math.sqrt(squares / (len(first) + len(second) - 2))


def quotient(part: float | None, total: float) -> float | None:
    """Divide part by total; None if the part is unknown or the total is zero within rounding."""
    return part / total if part is not None and total > _NO_SPREAD else None


def number(value: float | np.floating | None) -> float | None:
    """Return a figure for JSON: None if it is unknown or not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return p values adjusted for multiple tests (Holm 1979); tests without a p value are not counted."""
    ranked = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, float | None] = dict.fromkeys(p_values)
    adjusted_p = 0.0
    for index, (p, name) in enumerate(ranked):
        # never below the adjusted value of a smaller p value
        adjusted_p = max(adjusted_p, min(1.0, p * (len(ranked) - index)))
        adjusted[name] = adjusted_p
    return adjusted
