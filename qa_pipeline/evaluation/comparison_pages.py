"""Comparisons and gates as tables and sentences, for the screen and as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_pipeline.evaluation.metrics.registry import SUMMARY
from qa_pipeline.evaluation.report_folder import dataset_labels
from qa_pipeline.text.rendering import render_markdown

Document = Mapping[str, Any]
_MARKS = {
    "failed": "❌ failed",
    "undecided": "❔ not decided",
    "within_noise": "within noise",
    "passed": "✅ passed",
}
_ASK_FOR_LIKENESS = (
    "Not decided: likeness (cosines and words in common) overlooks a swapped name or negation. Name a "
    "cross-encoder, evaluate with --scorer model, or accept such figures with --accept-likeness."
)
_PAIRED = "Intervals (95 %) and p by document, p_holm adjusted over the metrics of its table (Holm)."
_UNPAIRED = "p of Welch's t test, p_holm adjusted over the metrics of its table (Holm)."
_COLUMNS = ("metric", "baseline", "current", "difference", "p", "p_holm", "d", "better", "decided by")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


Page = Sequence[Table | str]
"""Tables and sentences in the order of reading."""


def comparison_page(compared: Document) -> Page:
    """Return the page of a comparison of two evaluations, with its `decision` if there is one."""
    rows = [
        [
            name,
            metric["baseline"],
            metric["current"],
            _interval(metric),
            metric["p"],
            metric["p_holm"],
            metric["cohens_d"],
            {None: "–", True: "current", False: "baseline"}[metric["better"]],
            metric["decided_by"],
        ]
        for name, metric in compared["metrics"].items()
    ]
    rows.sort(key=lambda row: row[0] not in SUMMARY)  # the metrics of the summary first
    decision, row_counts = compared.get("decision"), compared["rows"]
    if compared["paired"]:
        counted = f"{_in_both(row_counts)} {_PAIRED}"
    else:
        counted = (
            f"{row_counts['baseline']:,} rows against {row_counts['current']:,} others, "
            f"as independent samples. {_UNPAIRED}"
        )
    decided = [f"{decision['decision']}: {decision['why']} ({decision['metric']})"] if decision else []
    return [
        _runs(compared, ("baseline", "current")),
        counted,
        Table("Metrics", _COLUMNS, rows),
        *decided,
        *cautions(compared),
    ]


def gate_page(checked: Document) -> Page:
    """Return the page of a gate, failures first."""
    page: list[Table | str] = [_runs(checked, [name for name in ("current", "baseline") if checked[name]])]
    if golden := checked["golden"]:
        columns = ("name", "version", "rows")
        page.append(Table("Golden set", columns, [[golden[name] for name in columns]]))
    for outcomes in (("failed", "undecided", "within_noise"), ("passed",)):
        checks = [
            [
                check["kind"],
                f"{_printable(check['name'])}{' (critical)' if check.get('critical') else ''}",
                _MARKS[outcome],
                _printable(check["detail"]),
                _printable(check.get("decided_by", "–")),
            ]
            for outcome in outcomes
            for check in checked["checks"]
            if check["outcome"] == outcome
        ]
        if checks:
            words = " or ".join(outcomes).replace("undecided", "not decided").replace("_", " ")
            names = ("check", "what", "outcome", "detail", "decided by")
            page.append(Table(f"{len(checks)} {words}", names, checks))
    counted = [_in_both(checked["rows"])] if checked["rows"] else []
    undecided = any(check["outcome"] == "undecided" for check in checked["checks"])
    advice = [_ASK_FOR_LIKENESS] if undecided else []
    outcome = "is not decided" if checked["outcome"] == "undecided" else checked["outcome"]
    return [*page, *counted, *cautions(checked), *advice, f"The gate {outcome}."]


def markdown(title: str, page: Page) -> str:
    """Return a page as Markdown for a pull request; texts of the data are escaped."""
    return render_markdown("evaluation/comparison_page.md.j2", title=title, page=page)


def cautions(compared: Document) -> list[str]:
    """Return cautions about the figures: metrics that are not compared, and settings that differ."""
    reasons: dict[str, list[str]] = {}
    for name, why in compared["excluded"].items():
        reasons.setdefault(why, []).append(name)
    parts = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
    excluded = [f"not compared: {parts}"] if parts else []
    settings = compared["measured_otherwise"].items()
    return excluded + [f"measured otherwise: {name} is {_printable(how)}" for name, how in settings]


def _in_both(rows: Mapping[str, int]) -> str:
    return (
        f"{rows['both']:,} rows in both, {rows['baseline_only']:,} only in the baseline, "
        f"{rows['current_only']:,} only in the current run."
    )


def _interval(metric: Document) -> str:
    value, low, high = (metric[name] for name in ("difference", "low", "high"))
    if value is None:
        return "–"
    return f"{value:+.3f}" if low is None or high is None else f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def _runs(compared: Document, names: Sequence[str]) -> Table:
    sides = [compared[name] for name in names]
    labels = dataset_labels([(side["dataset"], side["dataset_sha256"]) for side in sides])
    rows = [[name, side["place"], label] for name, side, label in zip(names, sides, labels, strict=True)]
    return Table("Runs", ("run", "place", "data set"), rows)


def _printable(text: str) -> str:
    """Replace control characters, since ids of rows must not steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
