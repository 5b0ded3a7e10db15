"""The regression gate: losses against the last evaluation, thresholds, and a golden set."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.comparison import compare_paired, described
from qa_pipeline.evaluation.golden import GoldenSet, golden_outcomes
from qa_pipeline.evaluation.report_folder import StoredReport
from qa_pipeline.evaluation.summaries import describe_deciders, is_undecided, summarise
from qa_pipeline.settings.base import read_settings_file

Document = dict[str, Any]
CRITICAL = ("faithfulness", "hallucination", "fabricated_citations", "citation_accuracy")
PASSED, FAILED, WITHIN_NOISE, UNDECIDED = "passed", "failed", "within_noise", "undecided"
_BY_LIKENESS = "not decided: likeness stands behind too much"
MOST_NAMED = 20
"""Golden rows that are reported one by one; all are counted."""
_FIGURES = ("baseline", "current", "relative", "low", "high", "p", "p_holm", "rows", "groups")


class Limits(BaseModel):
    """The limits of a gate.

    Attributes:
        drop: loss, relative to the mean of the baseline, that fails; and the share of rows that may become
            unknown.
        critical_drop: the same for critical metrics.
        critical: names of critical metrics.
        thresholds: the worst mean allowed by metric: the least if higher is better, else the greatest.
        accept_likeness: let figures that likeness alone decided pass and fail critical checks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    drop: Annotated[float, Field(ge=0, le=1)] = 0.05
    critical_drop: Annotated[float, Field(ge=0, le=1)] = 0.02
    critical: tuple[str, ...] = CRITICAL
    thresholds: dict[str, FiniteFloat] = Field(default_factory=dict)
    accept_likeness: bool = False


def read_limits(path: Path | None, options: Mapping[str, Any], thresholds: Mapping[str, float]) -> Limits:
    """Return the limits of a YAML file, overridden by options of the command line that are not None.

    Raises:
        InputError: the file does not exist, or contains anything but limits.
    """
    if path is not None and not path.is_file():
        raise InputError(f"--limits {path} is no file; name a YAML file of limits")
    values = {} if path is None else read_settings_file(path)
    values |= {name: value for name, value in options.items() if value is not None}
    try:
        limits = Limits.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise InputError(
            f"{path}: {where}: {problem['msg']}; it may hold {', '.join(Limits.model_fields)}"
        ) from error
    return limits.model_copy(update={"thresholds": {**limits.thresholds, **thresholds}})


def gate(
    current: StoredReport,
    baseline: StoredReport | None = None,
    limits: Limits | None = None,
    golden: GoldenSet | None = None,
) -> Document:
    """Check a run against the run before, thresholds and a golden set.

    A loss fails only if its `p_holm` is below 0.05, so at most one gate in twenty fails by chance; else it is
    `within_noise`. A golden row fails the gate unless it was measured and failed in the baseline. A critical
    metric, a threshold or a golden criterion is undecided if likeness alone decided most of the figure.

    Returns:
        outcome (passed, failed or undecided), passed, current, baseline, golden, limits, rows, excluded and
        measured_otherwise (as `compare_paired`), and checks: each with kind (drop, unknown, threshold or
        golden), name, outcome (passed, failed, within_noise or undecided), detail, decided_by and figures.

    Raises:
        InputError: the runs cannot be compared, a critical metric has another version, a threshold names an
            unknown metric, or there is nothing to check.
    """
    limits = limits or Limits()
    reports = [current, *([baseline] if baseline else [])]
    checks: list[Document] = []
    compared: Document = {"rows": None, "excluded": {}, "measured_otherwise": {}}
    if baseline is not None:
        compared = compare_paired(baseline, current, critical=limits.critical)
        for name, why in compared["excluded"].items():
            measured_rows = baseline.rows[name].count() if name in baseline.rows.columns else 0
            if name in limits.critical and measured_rows and why != "only in current":
                raise InputError(
                    f"the critical metric {name} cannot be compared ({why}); evaluate both runs alike"
                )
        for name, metric in compared["metrics"].items():
            checks += _unless_likeness(_metric_checks(name, metric, limits), reports, limits)
    checks += _unless_likeness(_thresholds(current, limits.thresholds), [current], limits)
    if golden is not None:
        checks += _golden(current, baseline, golden, limits)
    if not checks:
        raise InputError(
            f"nothing of {current.place} can be checked: no score is known in both runs, and there is no "
            "threshold and no golden set; give --baseline, --threshold or --golden"
        )
    outcomes = {check["outcome"] for check in checks}
    outcome = FAILED if FAILED in outcomes else UNDECIDED if UNDECIDED in outcomes else PASSED
    return {
        "outcome": outcome,
        "passed": outcome == PASSED,
        "current": described(current) | {"rows": current.rows.height},
        "baseline": described(baseline) | {"rows": baseline.rows.height} if baseline else None,
        "golden": golden.document() if golden else None,
        "limits": limits.model_dump(mode="json", exclude={"thresholds"}),
        **{name: compared[name] for name in ("rows", "excluded", "measured_otherwise")},
        "checks": checks,
    }


def _unless_likeness(
    checks: Iterable[Document], reports: Sequence[StoredReport], limits: Limits
) -> Iterator[Document]:
    """Yield the checks with their deciders; strict checks over likeness alone are undecided."""
    for check in checks:
        by = [report.metrics[check["name"]].decided_by for report in reports]
        decided = {**check, "decided_by": describe_deciders(by[0])}
        strict = check["kind"] == "threshold" or (check["kind"] == "drop" and check["critical"])
        if strict and not limits.accept_likeness and any(map(is_undecided, by)):
            decided |= {"outcome": UNDECIDED, "detail": f"{check['detail']}; {_BY_LIKENESS} of it"}
        yield decided


def _metric_checks(name: str, metric: Document, limits: Limits) -> Iterator[Document]:
    is_critical = name in limits.critical
    limit = limits.critical_drop if is_critical else limits.drop
    about = {"name": name, "critical": is_critical, "limit": limit}
    figures = {key: metric[key] for key in _FIGURES}
    rows_before = metric["rows"] + metric["lost"]
    if metric["lost"] > limit * rows_before:
        detail = f"{metric['lost']} of {rows_before} rows that the baseline knew are unknown now"
        yield {"kind": "unknown", **about, "outcome": FAILED, "detail": detail, **figures}
    if not metric["rows"]:
        return
    relative, low, high = metric["relative"], metric["low"], metric["high"]
    change = "" if relative is None else f" ({relative:+.1%})"
    between = "interval unknown: one document" if low is None else f"difference {low:+.3f} to {high:+.3f}"
    detail = f"{metric['baseline']:.3f} → {metric['current']:.3f}{change}, {between}"
    outcome = PASSED
    # from a mean of zero any loss is more than allowed
    if metric["gain"] < 0 and (relative is None or -relative >= limit - 1e-9):
        if metric["better"] is False:
            outcome, detail = FAILED, f"{detail}; more than {limit:.0%} worse, and not by chance"
        else:
            outcome = WITHIN_NOISE
            detail = f"{detail}; chance alone would do this in {metric['rows']:,} rows"
    yield {"kind": "drop", **about, "outcome": outcome, "detail": detail, **figures}


def _thresholds(current: StoredReport, thresholds: Mapping[str, float]) -> Iterator[Document]:
    for name in thresholds:
        if name not in current.metrics:
            raise InputError(
                f"--threshold {name}: {current.place} has no such metric; it has {', '.join(current.metrics)}"
            )
    ranges = {name: current.metrics[name].range for name in thresholds}
    measured = summarise(current.rows.select("group", *thresholds), ranges)["metrics"]
    for name, bound in thresholds.items():
        mean, low, high = (measured[name][key] for key in ("mean", "low", "high"))
        outcome, detail = FAILED, "not measured: no row has a score"
        if mean is not None:
            is_higher = current.metrics[name].direction == "higher"
            outcome = PASSED if (mean >= bound if is_higher else mean <= bound) else FAILED
            detail = f"{mean:.3f}, should be {'at least' if is_higher else 'at most'} {bound:g}"
            if low is not None and low <= bound <= high:
                detail += f"; the interval {low:.3f} to {high:.3f} holds both"
        figures = {"current": mean, "low": low, "high": high, "rows": measured[name]["known"]}
        about = {"kind": "threshold", "name": name, "limit": bound}
        yield {**about, "outcome": outcome, "detail": detail, **figures}


def _golden(
    current: StoredReport, baseline: StoredReport | None, golden: GoldenSet, limits: Limits
) -> Iterator[Document]:
    """Yield a check of all golden rows together, and a check of each of the first that newly fail.

    Criteria over figures that likeness alone decided are a separate, undecided check.
    """
    about = {"kind": "golden", "name": golden.name}
    likeness = {name for name, metric in current.metrics.items() if is_undecided(metric.decided_by)}
    doubtful = likeness & {name for bounds in golden.criteria.values() for name in bounds}
    if doubtful and not limits.accept_likeness:
        rows, would_pass = len(golden.criteria), golden_outcomes(current, golden)["passed"].sum()
        detail = f"{would_pass} of {rows} rows would pass; {_BY_LIKENESS} of {', '.join(sorted(doubtful))}"
        yield {**about, "outcome": UNDECIDED, "detail": detail}
        decided = {
            key: {name: bound for name, bound in bounds.items() if name not in likeness}
            for key, bounds in golden.criteria.items()
        }
        golden = replace(golden, criteria={key: bounds for key, bounds in decided.items() if bounds})
        if not golden.criteria:
            return
    failing = golden_outcomes(current, golden).filter(~pl.col("passed"))
    seen = pl.DataFrame(schema={"id": pl.String()})
    if baseline is not None:
        seen = golden_outcomes(baseline, golden).filter(~pl.col("passed") & pl.col("measured"))
    new = failing.join(seen, on="id", how="anti", maintain_order="left")
    rows, still = len(golden.criteria), failing.height - new.height
    passing = rows - failing.height
    detail = f"{passing} of {rows} rows pass, {new.height} newly fail"
    yield {
        **about,
        "outcome": FAILED if new.height else PASSED,
        "detail": f"{detail}, {still} fail as before" if still else detail,
        "passing": passing,
        "new": new.height,
        "still": still,
    }
    for row in new.head(MOST_NAMED).iter_rows(named=True):
        failed = "; ".join(row["failed"])
        yield {"kind": "golden", "name": row["id"], "outcome": FAILED, "detail": failed}
