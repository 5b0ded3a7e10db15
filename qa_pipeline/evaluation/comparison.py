"""Comparisons of two evaluations: the size of each difference, and its probability by chance.

Differences are those of the second run, `current`, minus the first, `baseline`. Paired figures use the rows
known in both. Their interval, `p` and `p_holm` treat the rows of a document as one unit; tests of unpaired
runs treat rows as independent.
"""

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from qa_pipeline import statistics
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.registry import SUMMARY
from qa_pipeline.evaluation.report_folder import MetricFacts, StoredReport
from qa_pipeline.evaluation.summaries import Document, describe_deciders, group_sums

LEAST_EFFECT = 0.1
"""Cohen's d above which a gain is worth a change: half of Cohen's small effect."""
_NOW = " of current"
"""Suffix of the columns of the second run where both runs are joined."""


def compare_paired(
    baseline: StoredReport, current: StoredReport, *, critical: Collection[str] = SUMMARY
) -> Document:
    """Compare two runs over one data set row by row.

    The p values of the `critical` metrics are adjusted as a family of their own. Raises `InputError` if the
    data sets differ, they share no row, or no metric can be compared.

    Returns:
        paired: True.
        baseline, current: place, data set and its hash.
        rows: counts of the rows in `both`, `baseline_only` and `current_only`.
        excluded: metrics that are not compared, with the reason.
        measured_otherwise: settings that differ between the runs, such as a stricter model.
        metrics: by metric
            baseline, current, difference: means over the rows known in both runs, and their difference,
            low, high, error, p: its 95 % interval, standard error and p (t by document),
            p_holm: p adjusted over the family (Holm),
            gain, relative: the difference, positive if current is better, and its share of the baseline,
            cohens_d: the gain by the pooled deviation,
            better: True or False if p_holm is below 0.05, else None,
            rows, groups, lost, found: rows and documents compared, and rows known in a single run,
            direction, decided_by: facts of the metric in current.
    """
    if baseline.dataset_sha256 != current.dataset_sha256:
        raise InputError(
            f"{current.place} and {baseline.place} are of different data sets; evaluate both on one "
            "data set, or compare them as independent samples (--unpaired)"
        )
    names, excluded = _comparable(baseline, current)
    both = baseline.rows.join(current.rows.drop("group"), on="id", suffix=_NOW, maintain_order="left")
    if not both.height:
        raise InputError(f"{baseline.place} and {current.place} share no row id; evaluate the same rows")
    # rounded, so that 0.3 less 0.1 + 0.2 is no difference
    differences = (pl.col(name + _NOW).sub(pl.col(name)).round(12).alias(name) for name in names)
    sums = group_sums(both.select("group", *differences), names)
    ranges = [current.metrics[name].range for name in names]
    # a difference is at most as large as the range of its metric
    widest = np.array([np.inf if greatest is None else greatest - least for least, greatest in ranges])
    low, high = (np.clip(end, -widest, widest) for end in statistics.t_bounds(sums))
    p_values = statistics.t_p(sums)
    metrics = {}
    for index, name in enumerate(names):
        before, after = both[name], both[name + _NOW]  # scores of baseline and current, null if unknown
        is_shared = before.is_not_null() & after.is_not_null()
        metrics[name] = {
            **_means(before.filter(is_shared), after.filter(is_shared), current.metrics[name]),
            "rows": int(is_shared.sum()),
            "groups": int((sums.counts[:, index] > 0).sum()),
            "lost": int((before.is_not_null() & after.is_null()).sum()),
            "found": int((before.is_null() & after.is_not_null()).sum()),
            "low": statistics.number(low[index]),
            "high": statistics.number(high[index]),
            "error": statistics.number(sums.errors[index]),
            "p": statistics.number(p_values[index]),
        }
    return {
        **_facts_of_runs(baseline, current),
        "paired": True,
        "rows": {
            "both": both.height,
            "baseline_only": baseline.rows.height - both.height,
            "current_only": current.rows.height - both.height,
        },
        "excluded": excluded,
        "metrics": _with_significance(metrics, critical),
    }


def compare_unpaired(baseline: StoredReport, current: StoredReport) -> Document:
    """Compare two runs over different rows as independent samples; `InputError` without common metrics.

    Returns:
        The fields of `compare_paired` without groups, lost and found. `rows` are counted for each run. `low`,
        `high` and `p` are of Welch's t test, and `mann_whitney_p` is added.
    """
    names, excluded = _comparable(baseline, current)
    metrics = {}
    for name in names:
        before, after = baseline.rows[name].drop_nulls(), current.rows[name].drop_nulls()
        metrics[name] = {
            **_means(before, after, current.metrics[name]),
            "rows": {"baseline": len(before), "current": len(after)},
            **statistics.compare_independent(before.to_numpy(), after.to_numpy()),
        }
    return {
        **_facts_of_runs(baseline, current),
        "paired": False,
        "rows": {"baseline": baseline.rows.height, "current": current.rows.height},
        "excluded": excluded,
        "metrics": _with_significance(metrics, SUMMARY),
    }


def ab_decision(metric: Document) -> Document:
    """Decide to deploy if a compared metric improves with p < 0.05 and Cohen's d > 0.1.

    Choose the metric of a comparison before looking at the figures: p is not adjusted for other metrics. d is
    the gain by the pooled deviation, equal for paired and unpaired runs (Lakens 2013). Returns decision
    (`deploy` or `keep`), p, cohens_d, and why in words.
    """
    p, effect = metric["p"], metric["cohens_d"]
    decision = "keep"
    if p is None or effect is None:
        why = "no test: too few scores are known, or all are equal"
    elif effect <= 0:
        why = "it is not better"
    elif p >= statistics.SIGNIFICANCE:
        why = f"chance alone would do this: p is {p:.3g}, {statistics.SIGNIFICANCE} or more"
    elif effect <= LEAST_EFFECT:
        why = f"it is better by too little: d is {effect:.3f}, {LEAST_EFFECT} or less"
    else:
        decision = "deploy"
        why = f"p is {p:.3g}, below {statistics.SIGNIFICANCE}, and d is {effect:.3f}, above {LEAST_EFFECT}"
    return {"decision": decision, "p": p, "cohens_d": effect, "why": why}


def _facts_of_runs(baseline: StoredReport, current: StoredReport) -> Document:
    """Return the facts of both runs, and the settings that differ."""
    before, now = baseline.settings, current.settings
    names = [name for name in dict.fromkeys((*before, *now)) if name != "limit"]  # it changes no score
    differ = [name for name in names if before.get(name) != now.get(name)]
    return {
        "baseline": run_facts(baseline),
        "current": run_facts(current),
        "measured_otherwise": {
            name: f"{before.get(name)} in baseline, {now.get(name)} in current" for name in differ
        },
    }


def run_facts(report: StoredReport) -> Document:
    """Return place, data set and hash of a run."""
    return {"place": str(report.place), "dataset": report.dataset, "dataset_sha256": report.dataset_sha256}


def _comparable(baseline: StoredReport, current: StoredReport) -> tuple[list[str], dict[str, str]]:
    """Return the metrics of equal meaning in the order of current, and the others with the reason."""
    excluded = {}
    for name in dict.fromkeys((*current.metrics, *baseline.metrics)):
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
            "evaluate the baseline again"
        )
    return names, excluded


def _means(before: pl.Series, after: pl.Series, facts: MetricFacts) -> Document:
    """Return both means and their difference, None if a side has no value, with its effect size."""
    first, second = before.to_numpy(), after.to_numpy()
    baseline = current = difference = gain = None
    if len(first) and len(second):
        baseline, current = float(first.mean()), float(second.mean())
        difference = current - baseline
        gain = difference * (1 if facts.direction == "higher" else -1) + 0.0  # no -0.0
    return {
        "direction": facts.direction,
        "baseline": baseline,
        "current": current,
        "difference": difference,
        "gain": gain,
        "relative": statistics.quotient(gain, abs(baseline or 0)),  # None without a gain or baseline
        "decided_by": describe_deciders(facts.decided_by),
        "cohens_d": statistics.quotient(gain, statistics.pooled_deviation(first, second)),
    }


def _with_significance(metrics: Mapping[str, Document], critical: Collection[str]) -> dict[str, Document]:
    """Add p_holm, adjusted among critical or other metrics, and better: True, False, or None by chance."""
    adjusted: dict[str, float | None] = {}
    for is_critical in (True, False):
        family = {name: metric["p"] for name, metric in metrics.items() if (name in critical) == is_critical}
        adjusted |= statistics.holm(family)
    completed = {}
    for name, metric in metrics.items():
        p, gain = adjusted[name], metric["gain"]
        is_significant = p is not None and p < statistics.SIGNIFICANCE and bool(gain)
        completed[name] = {**metric, "p_holm": p, "better": gain > 0 if is_significant else None}
    return completed


def comparison_screen(compared: Document) -> Document:
    """Return the tables and lines of a comparison, the metrics of the summary first."""
    better_run = {None: "–", True: "current", False: "baseline"}
    metrics = sorted(compared["metrics"].items(), key=lambda item: item[0] not in SUMMARY)
    rows = [
        {
            "metric": name,
            "baseline": metric["baseline"],
            "current": metric["current"],
            "difference (95 %)": _interval(metric),
            "p_holm": metric["p_holm"],
            "d": metric["cohens_d"],
            "better": better_run[metric["better"]],
            "decided by": metric["decided_by"],
        }
        for name, metric in metrics
    ]
    screen = {"runs": runs_of(compared), "rows": compared["rows"], "metrics": rows}
    if decision := compared.get("decision"):
        screen["decision"] = f"{decision['decision']}: {decision['why']} ({decision['metric']})"
    return screen | {"note": cautions(compared)}


def _interval(metric: Document) -> str | None:
    value, low, high = (metric[name] for name in ("difference", "low", "high"))
    if value is None or low is None or high is None:
        return None if value is None else f"{value:+.3f}"
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def runs_of(compared: Document) -> list[Document]:
    """Return a row for each run of a comparison or gate."""
    runs = [(name, compared[name]) for name in ("baseline", "current") if compared[name]]
    return [
        {"run": name, "place": run["place"], "data set": f"{run['dataset']} {run['dataset_sha256'][:8]}"}
        for name, run in runs
    ]


def cautions(compared: Document) -> list[str]:
    """Return cautions about the figures: metrics that are not compared, and settings that differ."""
    excluded = [f"{name} is not compared: {why}" for name, why in compared["excluded"].items()]
    settings = compared["measured_otherwise"].items()
    return excluded + [f"measured otherwise: {name} is {how}" for name, how in settings]
