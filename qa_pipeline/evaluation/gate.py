"""The regression gate: losses against the last evaluation, thresholds, and a golden set.

A golden set has rows that state the scores which a good answer must reach.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import Field

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.answered_questions import is_unanswerable
from qa_pipeline.evaluation.comparison import cautions, compare_paired, run_facts, runs_of
from qa_pipeline.evaluation.labelled_files import LabelledRow, Row, Text, read_file
from qa_pipeline.evaluation.report_folder import StoredReport
from qa_pipeline.evaluation.summaries import Document, describe_deciders, is_undecided, summarise
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.row_files import Fault

CRITICAL = ("faithfulness", "hallucination", "fabricated_citations", "citation_accuracy")
PASSED, FAILED, WITHIN_NOISE, UNDECIDED = "passed", "failed", "within_noise", "undecided"
_BY_LIKENESS = "not decided: likeness alone decided"
"""A figure follows, such as "its score". Likeness is cosines and words in common."""
_ASK_FOR_LIKENESS = (
    "Not decided: likeness (cosines and words in common) overlooks a swapped name or negation. Name a "
    "cross-encoder, evaluate with --scorer model, or accept such figures with --accept-likeness."
)
MOST_NAMED = 20
"""Golden rows that are reported one by one; all are counted."""
_FIGURES = ("baseline", "current", "relative", "low", "high", "p", "p_holm", "rows", "groups")
REFUSAL = "refusal_correct"
"""The metric of rightly refused or answered questions."""
Bounds = Mapping[str, float]
"""The bound of each metric: the least score if higher is better, else the greatest."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a gate.

    Args:
        drop: loss, relative to the mean of the baseline, that fails; and the share of rows that may become
            unknown.
        critical_drop: the same for critical metrics.
        critical: names of critical metrics.
        thresholds: the worst mean allowed by metric: the least if higher is better, else the greatest.
        accept_likeness: let figures that likeness alone decided pass and fail critical checks.
    """

    drop: float = 0.05
    critical_drop: float = 0.02
    critical: tuple[str, ...] = CRITICAL
    thresholds: Bounds = field(default_factory=dict)
    accept_likeness: bool = False


class GoldenRow(LabelledRow):
    """The criteria of a row of a golden set; the columns of a data set are ignored."""

    columns = pl.Schema(
        {
            **dict.fromkeys(("file", "id", "dataset", "version"), pl.String()),
            "criteria": pl.List(pl.Struct({"metric": pl.String(), "bound": pl.Float64()})),
        }
    )
    id: Text = Field(description="a text that no other row of the file has")
    dataset: Text | None = None
    version: Annotated[Text | None, Field(max_length=100)] = None
    criteria: dict[str, Annotated[float, Field(allow_inf_nan=False)] | None] = Field(
        default_factory=dict, max_length=100
    )
    must_refuse: bool | None = None

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the fields of a row; its ground truth or reference decides `must_refuse` unless stated.

        A ground truth is an answer, or a mapping such as {"answer": "14 days", "must_refuse": False}.
        """
        truth, answer = values.get("ground_truth"), values.get("reference")
        if isinstance(truth, Mapping):
            answer = truth.get("answer")
            values = {**values, "must_refuse": truth.get("must_refuse", values.get("must_refuse"))}
        elif truth is not None:
            answer = truth
        if values.get("must_refuse") is None and isinstance(answer, str) and answer.strip():
            values = {**values, "must_refuse": is_unanswerable(answer)}
        return super().from_values(values)

    def row(self) -> Row | Fault:
        """Return the row with its criteria; a row without criteria would pass with any answer."""
        bounds = {name: bound for name, bound in self.criteria.items() if bound is not None}
        # any other criterion already implies that the question is answered
        must_only_answer = self.must_refuse is False and not bounds
        if self.must_refuse or must_only_answer:
            # the metric is 1 if the answer refuses or answers as the row of the data set says
            bounds[REFUSAL] = 1.0
        if not bounds:
            return Fault("missing_field", "criteria is empty; name what the row must reach, or must_refuse")
        criteria = [{"metric": name, "bound": float(bounds[name])} for name in sorted(bounds)]
        return {"id": self.id, "dataset": self.dataset, "version": self.version, "criteria": criteria}


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set: name, version (None if its rows have none), hash of the file, and criteria by row id."""

    name: str
    version: str | None
    sha256: str
    criteria: Mapping[str, Bounds]

    def document(self) -> Document:
        """Return the facts of the set for reports."""
        return {"name": self.name, "version": self.version, "sha256": self.sha256, "rows": len(self.criteria)}


def read_golden(path: Path) -> GoldenSet:
    """Read a golden set: id, criteria, must_refuse or ground_truth, dataset (its name) and version.

    `criteria` maps metrics to bounds (`{"faithfulness": 0.95, "fabricated_citations": 0}`). `must_refuse`
    requires a score of 1 of `refusal_correct`, as does the ground truth UNANSWERABLE. A row with another
    ground truth and no criteria must be answered. Raises `InputError` if the file or a row of it cannot be
    used, or rows name different sets or versions.
    """
    read = read_file(path, GoldenRow)
    if read.left_out.height:
        first = read.left_out.row(0, named=True)
        raise InputError(
            f"{path}, row {first['first_row']}: {first['detail']}; correct it, since every row of a golden "
            "set counts"
        )
    for column in ("dataset", "version"):
        values = read.items[column].unique(maintain_order=True).to_list()
        if len(values) > 1:
            raise InputError(f"{path} mixes rows of {column} {values[0]!r} and {values[1]!r}; split it")
    # `GoldenRow` has turned the criteria, must_refuse and the ground truth of a row into a list of bounds
    criteria = {
        row_id: {bound["metric"]: bound["bound"] for bound in bounds}
        for row_id, bounds in read.items.select("id", "criteria").iter_rows()
    }
    name, version = read.items.select("dataset", "version").row(0)
    return GoldenSet(name, version, hash_file(path), criteria)


def golden_outcomes(report: StoredReport, golden: GoldenSet) -> pl.DataFrame:
    """Check the rows of a golden set in a run. A missing row, metric or score fails as not measured.

    Returns:
        A row for each row of the set: id, `passed`, `measured` (True if every score is known), and `failed`
        (a sentence for each failed criterion).
    """
    scores = {row["id"]: row for row in report.rows.iter_rows(named=True)}
    outcomes = []
    for row_id, bounds in golden.criteria.items():
        row = scores.get(row_id)
        failed = ["not in the run"] if row is None else list(_failures(row, bounds, report))
        measured = row is not None and all(row.get(metric) is not None for metric in bounds)
        outcomes.append((row_id, not failed, measured, failed))
    schema = {"id": pl.String(), "passed": pl.Boolean(), "measured": pl.Boolean()}
    return pl.DataFrame(outcomes, {**schema, "failed": pl.List(pl.String())}, orient="row")


def _failures(row: Row, bounds: Bounds, report: StoredReport) -> Iterator[str]:
    """Yield a sentence for each bound that a row does not reach."""
    for metric, bound in bounds.items():
        score = row.get(metric) if metric in report.metrics else None
        if score is None:
            yield f"{metric} not measured"
        elif report.metrics[metric].direction == "higher" and score < bound:
            yield f"{metric} is {score:.4g}, should be at least {bound:g}"
        elif report.metrics[metric].direction == "lower" and score > bound:
            yield f"{metric} is {score:.4g}, should be at most {bound:g}"


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
    checks: list[Document] = []
    compared: Document = {"rows": None, "excluded": {}, "measured_otherwise": {}}
    if baseline is not None:
        compared = compare_paired(baseline, current, critical=limits.critical)
        for name, why in compared["excluded"].items():
            # a new metric cannot have become worse, nor a metric without a score in the baseline
            has_old_scores = name in baseline.metrics and baseline.rows[name].count() > 0
            if name in limits.critical and has_old_scores:
                raise InputError(
                    f"the critical metric {name} cannot be compared ({why}); evaluate both runs alike"
                )
        for name, metric in compared["metrics"].items():
            checks += _with_deciders(_metric_checks(name, metric, limits), [current, baseline], limits)
    checks += _with_deciders(_threshold_checks(current, limits.thresholds), [current], limits)
    if golden is not None:
        checks += _golden_checks(current, baseline, golden, limits)
    if not checks:
        raise InputError(
            f"{current.place} cannot be checked: no score is known in both runs, and there is no "
            "threshold and no golden set; give --baseline, --threshold or --golden"
        )
    outcomes = {check["outcome"] for check in checks}
    outcome = FAILED if FAILED in outcomes else UNDECIDED if UNDECIDED in outcomes else PASSED
    return {
        "outcome": outcome,
        "passed": outcome == PASSED,
        "current": run_facts(current) | {"rows": current.rows.height},
        "baseline": run_facts(baseline) | {"rows": baseline.rows.height} if baseline else None,
        "golden": golden.document() if golden else None,
        "limits": {name: value for name, value in asdict(limits).items() if name != "thresholds"},
        **{name: compared[name] for name in ("rows", "excluded", "measured_otherwise")},
        "checks": checks,
    }


def _with_deciders(
    checks: Iterable[Document], reports: Sequence[StoredReport], limits: Limits
) -> Iterator[Document]:
    """Yield checks with the deciders of their metric in the current run, the first of `reports`.

    A strict check is undecided if likeness alone decided its metric in any of the reports.
    """
    for check in checks:
        decider_counts = [report.metrics[check["name"]].decided_by for report in reports]
        completed = {**check, "decided_by": describe_deciders(decider_counts[0])}
        is_strict = check["kind"] == "threshold" or (check["kind"] == "drop" and check["critical"])
        if is_strict and not limits.accept_likeness and any(map(is_undecided, decider_counts)):
            completed |= {"outcome": UNDECIDED, "detail": f"{check['detail']}; {_BY_LIKENESS} its score"}
        yield completed


def _metric_checks(name: str, metric: Document, limits: Limits) -> Iterator[Document]:
    """Yield the check "unknown" if too many rows lost their score, and the check "drop" of the means.

    `metric` is an entry of `compare_paired`. If faithfulness falls from 0.80 to 0.76, its `gain` is -0.04 and
    `relative` -0.05; a loss is negative also where lower is better. `better` is None if it may be chance.
    """
    is_critical = name in limits.critical
    limit = limits.critical_drop if is_critical else limits.drop
    facts = {"name": name, "critical": is_critical, "limit": limit}
    figures = {key: metric[key] for key in _FIGURES}
    rows_before = metric["rows"] + metric["lost"]
    if metric["lost"] > limit * rows_before:
        detail = f"{metric['lost']} of {rows_before} rows that the baseline knew are unknown now"
        yield {"kind": "unknown", **facts, "outcome": FAILED, "detail": detail, **figures}
    if not metric["rows"]:  # without a row known in both runs there are no means
        return
    relative_gain, low, high = metric["relative"], metric["low"], metric["high"]
    change = "" if relative_gain is None else f" (gain {relative_gain:+.1%})"
    between = "interval unknown: one document" if low is None else f"difference {low:+.3f} to {high:+.3f}"
    detail = f"{metric['baseline']:.3f} → {metric['current']:.3f}{change}, {between}"
    outcome = PASSED
    # a baseline of zero has no relative loss, and any loss from it is too large
    reaches_limit = relative_gain is None or -relative_gain >= limit - 1e-9  # 1e-9 exceeds rounding errors
    is_large_loss = metric["gain"] < 0 and reaches_limit
    if is_large_loss and metric["better"] is False:
        outcome, detail = FAILED, f"{detail}; more than {limit:.0%} worse, and not by chance"
    elif is_large_loss:  # chance may explain it
        outcome = WITHIN_NOISE
        detail = f"{detail}; chance alone would do this in {metric['rows']:,} rows"
    yield {"kind": "drop", **facts, "outcome": outcome, "detail": detail, **figures}


def _threshold_checks(current: StoredReport, thresholds: Mapping[str, float]) -> Iterator[Document]:
    """Yield the check of the mean of each metric with a threshold; it fails without known scores."""
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
        facts = {"kind": "threshold", "name": name, "limit": bound}
        yield {**facts, "outcome": outcome, "detail": detail, **figures}


def _golden_checks(
    current: StoredReport, baseline: StoredReport | None, golden: GoldenSet, limits: Limits
) -> Iterator[Document]:
    """Yield a check of all golden rows together, and a check of each of the first that newly fail.

    A failing row is new unless it was measured and failed in the baseline. The check of all rows is undecided
    if it would pass, but likeness alone decided any of its metrics.
    """
    failing = golden_outcomes(current, golden).filter(~pl.col("passed"))
    failed_before = pl.DataFrame(schema={"id": pl.String()})
    if baseline is not None:  # an answer that the baseline did not measure may have been right
        failed_before = golden_outcomes(baseline, golden).filter(~pl.col("passed") & pl.col("measured"))
    new = failing.join(failed_before, on="id", how="anti", maintain_order="left")
    row_count, still_failing = len(golden.criteria), failing.height - new.height
    passing = row_count - failing.height
    detail = f"{passing} of {row_count} rows pass, {new.height} newly fail, {still_failing} fail as before"
    outcome = FAILED if new.height else PASSED
    metrics = {name for bounds in golden.criteria.values() for name in bounds} & current.metrics.keys()
    doubtful = sorted(name for name in metrics if is_undecided(current.metrics[name].decided_by))
    if doubtful and outcome == PASSED and not limits.accept_likeness:
        outcome, detail = UNDECIDED, f"{detail}; {_BY_LIKENESS} the scores of {', '.join(doubtful)}"
    facts = {"kind": "golden", "name": golden.name, "outcome": outcome, "detail": detail}
    yield {**facts, "passing": passing, "new": new.height, "still": still_failing}
    for row in new.head(MOST_NAMED).iter_rows(named=True):
        detail = "; ".join(row["failed"])
        yield {"kind": "golden", "name": row["id"], "outcome": FAILED, "detail": detail}


def gate_screen(checked: Document) -> Document:
    """Return the tables and lines of a gate, failures first."""
    order = (FAILED, UNDECIDED, WITHIN_NOISE, PASSED)
    checks = [
        {
            "check": check["kind"],
            "what": f"{check['name']} (critical)" if check.get("critical") else check["name"],
            "outcome": check["outcome"],
            "detail": check["detail"],
            "decided by": check.get("decided_by"),
        }
        for check in sorted(checked["checks"], key=lambda check: order.index(check["outcome"]))
    ]
    notes = cautions(checked)
    if any(check["outcome"] == UNDECIDED for check in checks):
        notes.append(_ASK_FOR_LIKENESS)
    screen = {"runs": runs_of(checked), "golden set": checked["golden"], "rows": checked["rows"]}
    return screen | {"checks": checks, "note": notes, "gate": checked["outcome"]}
