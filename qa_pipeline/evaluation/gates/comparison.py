"""Two evaluations held against each other: how far apart, and whether chance alone would do that.

All differences are those of the second run, `current`, less the first, `baseline`. Paired figures rest on
the rows that both know. The interval, `p` and `p_holm` let the rows of a document change together; the tests
of unpaired runs take rows for independent.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.registry import SUMMARY
from qa_pipeline.evaluation.report_folder import MetricFacts, StoredReport, dataset_labels
from qa_pipeline.evaluation.summaries import describe_deciders, group_sums
from qa_pipeline.statistics import (
    SIGNIFICANCE,
    Floats,
    Sums,
    compare_independent,
    holm,
    number,
    pooled_deviation,
    quotient,
    t_bounds,
    t_p,
)

Document = dict[str, Any]
LEAST_EFFECT = 0.1
"""Cohen's d above which a gain is worth a change, half of what Cohen calls small: with many rows the p of a
gain that nobody would notice is small too."""


def compare_paired(
    baseline: StoredReport, current: StoredReport, *, critical: Collection[str] = SUMMARY
) -> Document:
    """Return the comparison of two runs over one data set, row by row.

    Args:
        baseline: the run before.
        current: the run to hold against it.
        critical: metrics that are a family of their own where figures are adjusted for their number.

    Returns:
        baseline, current: place, data set and its hash.
        rows: how many both have (`both`), and how many one alone.
        excluded: metrics that are not compared, and why.
        measured_otherwise: settings by which the runs were measured that differ, and how: a model that reads
        more strictly lowers scores as worse answers do.
        metrics: of each metric direction, `decided_by` (who decided those of current), `baseline` and
        `current` (means over the rows known in both),
        `difference` with `low` and `high` (95 %, t by document) and `error` (standard error by document),
        `gain` (the difference, above zero where current is
        better), `relative` (the gain by the baseline's mean; None where that is zero), `rows` and `groups`
        compared, `lost` and `found` (rows known in baseline alone, and in current alone), `p` (of the
        same t), `p_holm` (Holm over the family), `cohens_d` (gain by the pooled deviation of scores), and
        `better`: whether current is, None where chance would do (p_holm at least 0.05).

    Raises:
        InputError: the data sets differ, no row is in both, or no metric can be compared.
    """
    if baseline.dataset_sha256 != current.dataset_sha256:
        now, before = dataset_labels([(run.dataset, run.dataset_sha256) for run in (current, baseline)])
        raise InputError(
            f"{current.place} is of the data set {now} and {baseline.place} of {before}; evaluate both on "
            "one data set, or compare them as independent samples (--unpaired)"
        )
    names, excluded = _comparable(baseline, current)
    both = baseline.rows.join(current.rows.drop("group"), on="id", suffix=_NOW, maintain_order="left")
    if not both.height:
        raise InputError(f"{baseline.place} and {current.place} share no row id; evaluate the same rows")
    # rounded, so that 0.3 less 0.1 + 0.2 is no difference
    gaps = (pl.col(name + _NOW).sub(pl.col(name)).round(12).alias(name) for name in names)
    differences = both.select("group", *gaps)
    sums = group_sums(differences, names)
    families = _families(names, critical)
    bounds = _difference_bounds(sums, current, names)
    p_values = t_p(sums)
    metrics = {}
    for place, name in enumerate(names):
        compared = _paired(both.select(pl.col(name), pl.col(name + _NOW).alias("now")), current.metrics[name])
        compared["groups"] = int((sums.counts[:, place] > 0).sum())
        compared |= {end: number(bound[place]) for end, bound in bounds.items()}
        compared["error"], compared["p"] = number(sums.errors[place]), number(p_values[place])
        metrics[name] = compared
    return {
        **_sides(baseline, current),
        "paired": True,
        "rows": {
            "both": both.height,
            "baseline_only": baseline.rows.height - both.height,
            "current_only": current.rows.height - both.height,
        },
        "excluded": excluded,
        "metrics": _decided(metrics, families),
    }


def compare_unpaired(baseline: StoredReport, current: StoredReport) -> Document:
    """Return the comparison of two runs over different rows, as independent samples.

    Returns:
        As `compare_paired`, `rows` being those of each run. Of a metric: `difference` with `low` and `high`
        and `p` of Welch's t test, `mann_whitney_p`, `cohens_d` by the pooled deviation, and `rows` of each.

    Raises:
        InputError: no metric can be compared.
    """
    names, excluded = _comparable(baseline, current)
    metrics = {
        name: _unpaired(baseline.rows[name], current.rows[name], current.metrics[name]) for name in names
    }
    return {
        **_sides(baseline, current),
        "paired": False,
        "rows": {"baseline": baseline.rows.height, "current": current.rows.height},
        "excluded": excluded,
        "metrics": _decided(metrics, _families(names, SUMMARY)),
    }


def ab_decision(compared: Document) -> Document:
    """Decide whether to deploy what was tried: p < 0.05 and Cohen's d > 0.1 for the better, else not.

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


_NOW = " of current"


def _sides(baseline: StoredReport, current: StoredReport) -> Document:
    sides = {"baseline": baseline, "current": current}
    return {
        side: {
            "place": str(side_rows.place),
            "dataset": side_rows.dataset,
            "dataset_sha256": side_rows.dataset_sha256,
        }
        for side, side_rows in sides.items()
    } | {"measured_otherwise": _measured_otherwise(baseline.settings, current.settings)}


def _measured_otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    names = [name for name in dict.fromkeys((*before, *now)) if name != "limit"]  # it changes no score
    differ = [name for name in names if before.get(name) != now.get(name)]
    return {name: f"{before.get(name)} in baseline, {now.get(name)} in current" for name in differ}


def _comparable(baseline: StoredReport, current: StoredReport) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that mean the same in both, in the order of current; the others, with the reason."""
    excluded = {}
    for name in [*current.metrics, *(metric for metric in baseline.metrics if metric not in current.metrics)]:
        before, now = baseline.metrics.get(name), current.metrics.get(name)
        if before is None or now is None:
            excluded[name] = f"only in {'current' if before is None else 'baseline'}"
        elif before.version != now.version:
            excluded[name] = f"version {before.version} in baseline, {now.version} in current"
        elif (before.direction, before.range) != (now.direction, now.range):
            excluded[name] = "other direction or range"
    names = [name for name in current.metrics if name not in excluded]
    if not names:
        first, why = next(iter(excluded.items()))
        raise InputError(
            f"no metric of {current.place} can be compared with {baseline.place} ({first}: {why}); "
            "evaluate the baseline anew"
        )
    return names, excluded


def _families(names: Sequence[str], critical: Collection[str]) -> list[list[str]]:
    return [[name for name in names if (name in critical) == kind] for kind in (True, False)]


def _difference_bounds(sums: Sums, current: StoredReport, names: Sequence[str]) -> dict[str, Floats]:
    """Return bounds of each difference at 95 %, within the metric's range."""
    ranges = [current.metrics[name].range for name in names]
    widest = np.array([np.inf if high is None else high - low for low, high in ranges])
    low, high = (np.clip(end, -widest, widest) for end in t_bounds(sums))
    return {"low": low, "high": high}


def _paired(pair: pl.DataFrame, facts: MetricFacts) -> Document:
    before, after = (pair[name] for name in pair.columns)
    both = pair.drop_nulls()
    first, second = (both[name].to_numpy() for name in pair.columns)
    means = _means(first, second, facts)
    return {
        **means,
        "rows": both.height,
        "lost": int((before.is_not_null() & after.is_null()).sum()),
        "found": int((before.is_null() & after.is_not_null()).sum()),
        "cohens_d": quotient(means["gain"], pooled_deviation(first, second)),
    }


def _unpaired(before: pl.Series, after: pl.Series, facts: MetricFacts) -> Document:
    first, second = (values.drop_nulls().to_numpy() for values in (before, after))
    tested = _means(first, second, facts)
    return {
        **tested,
        "rows": {"baseline": len(first), "current": len(second)},
        **compare_independent(first, second),
        "cohens_d": quotient(tested["gain"], pooled_deviation(first, second)),
    }


def _means(first: Floats, second: Floats, facts: MetricFacts) -> Document:
    """Return both means and their difference; None where one side has no value."""
    is_measured = bool(len(first) and len(second))
    before, now = (float(values.mean()) if is_measured else None for values in (first, second))
    difference = None if before is None or now is None else now - before
    sign = 1 if facts.direction == "higher" else -1
    gain = None if difference is None else difference * sign + 0.0  # no -0.0
    return {
        "direction": facts.direction,
        "baseline": before,
        "current": now,
        "difference": difference,
        "gain": gain,
        "relative": quotient(gain, abs(before) if before is not None else 0),
        "decided_by": describe_deciders(facts.decided_by),
    }


def _decided(metrics: Mapping[str, Document], families: Sequence[Sequence[str]]) -> dict[str, Document]:
    adjusted: dict[str, float | None] = {}
    for family in families:
        adjusted |= holm({name: metrics[name]["p"] for name in family})
    decided = {}
    for name, change in metrics.items():
        p = adjusted[name]
        real = p is not None and p < SIGNIFICANCE and change["gain"]
        decided[name] = {**change, "p_holm": p, "better": change["gain"] > 0 if real else None}
    return decided
