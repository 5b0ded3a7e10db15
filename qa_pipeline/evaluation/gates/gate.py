"""The regression gate: what may not get worse from one evaluation to the next, and what must hold at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.gates.comparison import compare_paired
from qa_pipeline.evaluation.gates.golden import GoldenSet, golden_outcomes
from qa_pipeline.evaluation.report_folder import StoredReport
from qa_pipeline.evaluation.summaries import describe_deciders, is_undecided, summarise
from qa_pipeline.settings.base import read_settings_file

Document = dict[str, Any]
CRITICAL = ("faithfulness", "hallucination", "fabricated_citations", "citation_accuracy")
PASSED, FAILED, WITHIN_NOISE, UNDECIDED = "passed", "failed", "within_noise", "undecided"
_BY_LIKENESS = "not decided: likeness stands behind too much"
MOST_NAMED = 20
"""Golden rows that are named one by one, so that a report stays readable; all are counted."""


class Limits(BaseModel):
    """The limits of a gate.

    Attributes:
        drop: loss of a metric relative to the baseline's mean that fails, and share of rows that the
            baseline knew and the current run does not.
        critical_drop: the same of critical metrics.
        critical: names of critical metrics; those that neither run has count for none.
        thresholds: the worst mean allowed, by metric: the least where higher is better, else the greatest.
        accept_likeness: if figures that likeness alone decided pass and fail critical checks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    drop: Annotated[float, Field(ge=0, le=1)] = 0.05
    critical_drop: Annotated[float, Field(ge=0, le=1)] = 0.02
    critical: tuple[str, ...] = CRITICAL
    thresholds: dict[str, FiniteFloat] = Field(default_factory=dict)
    accept_likeness: bool = False

    def of(self, name: str) -> float:
        """Return the loss that fails this metric."""
        return self.critical_drop if name in self.critical else self.drop


def read_limits(path: Path | None, options: Mapping[str, Any], thresholds: Mapping[str, float]) -> Limits:
    """Return the limits of a YAML file, with what the command line says in the place of theirs.

    Args:
        path: the file; None reads none.
        options: limits by name; None says nothing.
        thresholds: of the command line, which stand beside those of the file.

    Raises:
        InputError: there is no such file, or it holds something else than limits.
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
    """Check a run against the one before, thresholds and a golden set.

    A drop fails only where its `p_holm` is below 0.05, adjusted over the critical metrics or the others:
    the gate fails one run in twenty at most where nothing changed. Else the drop is `within_noise`.
    A golden row fails the gate where it fails now and was not seen to fail in the baseline.
    A critical metric, a threshold and a golden criterion are undecided where likeness alone decided most of
    the figure in either run, unless `limits.accept_likeness`.

    Returns:
        outcome (passed, failed or undecided), passed, current and baseline and golden (what they are), rows
        (in both, and in one alone), excluded and measured_otherwise (as of `compare_paired`), and checks:
        each with kind (drop, unknown, threshold or golden), name, outcome (passed, failed, within_noise or
        undecided), a sentence about it, who decided the figure, and its figures.

    Raises:
        InputError: the runs cannot be compared, a critical metric is of another version, a threshold names
            a metric that the run does not have, or there is nothing to check.
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
    outcome = next((outcome_word for outcome_word in (FAILED, UNDECIDED) if outcome_word in outcomes), PASSED)
    return {
        "outcome": outcome,
        "passed": outcome == PASSED,
        "current": _described(current),
        "baseline": _described(baseline) if baseline else None,
        "golden": golden.document() if golden else None,
        "limits": limits.model_dump(mode="json", exclude={"thresholds"}),
        **{name: compared[name] for name in ("rows", "excluded", "measured_otherwise")},
        "checks": checks,
    }


def _described(report: StoredReport) -> Document:
    return {
        "place": str(report.place),
        "dataset": report.dataset,
        "dataset_sha256": report.dataset_sha256,
        "rows": report.rows.height,
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
    limit = limits.of(name)
    about = {"name": name, "critical": name in limits.critical, "limit": limit}
    figures = {key: metric[key] for key in _FIGURES}
    rows_before = metric["rows"] + metric["lost"]
    if metric["lost"] > limit * rows_before:
        detail = f"{metric['lost']} of {rows_before} rows that the baseline knew are unknown now"
        yield {"kind": "unknown", **about, "outcome": FAILED, "detail": detail, **figures}
    if not metric["rows"]:
        return
    # from a mean of zero any loss is more than allowed
    relative = metric["relative"]
    fell = metric["gain"] < 0 and (relative is None or -relative >= limit - 1e-9)
    if not fell:
        yield {"kind": "drop", **about, "outcome": PASSED, "detail": _change(metric), **figures}
    elif metric["better"] is False:
        detail = f"{_change(metric)}; more than {limit:.0%} worse, and not by chance"
        yield {"kind": "drop", **about, "outcome": FAILED, "detail": detail, **figures}
    else:
        detail = f"{_change(metric)}; chance alone would do this in {metric['rows']:,} rows"
        yield {"kind": "drop", **about, "outcome": WITHIN_NOISE, "detail": detail, **figures}


_FIGURES = (
    "baseline", "current", "relative", "low", "high", "p", "p_holm", "rows", "groups",
)  # fmt: skip


def _change(metric: Document) -> str:
    relative = "" if metric["relative"] is None else f" ({metric['relative']:+.1%})"
    low, high = metric["low"], metric["high"]
    between = "interval unknown: one document" if low is None else f"difference {low:+.3f} to {high:+.3f}"
    return f"{metric['baseline']:.3f} → {metric['current']:.3f}{relative}, {between}"


def _thresholds(current: StoredReport, thresholds: Mapping[str, float]) -> Iterator[Document]:
    for name in thresholds:
        if name not in current.metrics:
            raise InputError(
                f"--threshold {name}: {current.place} has no such metric; it has {', '.join(current.metrics)}"
            )
    ranges = {name: current.metrics[name].range for name in thresholds}
    measured = summarise(current.rows.select("group", *thresholds), ranges)
    for name, bound in thresholds.items():
        metric_now, higher = measured["metrics"][name], current.metrics[name].direction == "higher"
        mean = metric_now["mean"]
        if mean is None:
            outcome, detail = FAILED, "not measured: no row has a score"
        else:
            outcome = PASSED if (mean >= bound if higher else mean <= bound) else FAILED
            side = "at least" if higher else "at most"
            detail = f"{mean:.3f}, should be {side} {bound:g}"
            if metric_now["low"] is not None and metric_now["low"] <= bound <= metric_now["high"]:
                detail += f"; the interval {metric_now['low']:.3f} to {metric_now['high']:.3f} holds both"
        figures = {
            "current": mean,
            "low": metric_now["low"],
            "high": metric_now["high"],
            "rows": metric_now["known"],
        }
        yield {
            "kind": "threshold", "name": name, "limit": bound, "outcome": outcome, "detail": detail, **figures
        }  # fmt: skip


def _golden(
    current: StoredReport, baseline: StoredReport | None, golden: GoldenSet, limits: Limits
) -> Iterator[Document]:
    """Yield a check of all rows together, and one of each of the first that newly fail.

    Criteria over figures that likeness alone decided are a check of their own, which is undecided.
    """
    likeness = {name for name, metric in current.metrics.items() if is_undecided(metric.decided_by)}
    metrics_named = {name for bounds in golden.criteria.values() for name in bounds}
    if likeness & metrics_named and not limits.accept_likeness:
        doubtful = ", ".join(sorted(likeness & metrics_named))
        rows, would_pass = len(golden.criteria), golden_outcomes(current, golden)["passed"].sum()
        yield {
            "kind": "golden",
            "name": golden.name,
            "outcome": UNDECIDED,
            "detail": f"{would_pass} of {rows} rows would pass; {_BY_LIKENESS} of {doubtful}",
        }
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
        before = golden_outcomes(baseline, golden)
        seen = before.filter(~pl.col("passed") & pl.col("measured"))
    new = failing.join(seen, on="id", how="anti", maintain_order="left")
    rows = len(golden.criteria)
    detail = f"{rows - failing.height} of {rows} rows pass, {new.height} newly fail"
    still = failing.height - new.height
    yield {
        "kind": "golden",
        "name": golden.name,
        "outcome": FAILED if new.height else PASSED,
        "detail": f"{detail}, {still} fail as before" if still else detail,
        "passing": rows - failing.height,
        "new": new.height,
        "still": still,
    }
    for row in new.head(MOST_NAMED).iter_rows(named=True):
        yield {
            "kind": "golden", "name": row["id"], "outcome": FAILED, "detail": "; ".join(row["failed"])
        }  # fmt: skip
