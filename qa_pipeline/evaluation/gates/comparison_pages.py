"""What comparisons and gates say, for the screen and as Markdown; names of data sets and rows stay data."""

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


@dataclass(frozen=True, slots=True)
class Table:
    """A table; one that is `folded` is of what few will want to read."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    folded: bool = False


Page = Sequence[Table | str]
"""Tables and sentences, in the order in which they are read."""


def comparison_page(compared: Document) -> Page:
    """Return the page of a comparison of two evaluations, with the `decision` where there is one."""
    columns = ("metric", "baseline", "current", "difference", "p", "p_holm", "d", "better", "decided by")
    rows = [
        [
            name,
            *(metric[column] for column in ("baseline", "current")),
            _interval(metric),
            *(metric[column] for column in ("p", "p_holm", "cohens_d")),
            {None: "–", True: "current", False: "baseline"}[metric["better"]],
            metric["decided_by"],
        ]
        for name, metric in compared["metrics"].items()
    ]
    decision, row_counts = compared.get("decision"), compared["rows"]
    if compared["paired"]:
        counted = f"{_in_both(row_counts)} {_SAYS_PAIRED}"
    else:
        counted = (
            f"{row_counts['baseline']:,} rows against {row_counts['current']:,} others, "
            f"as independent samples. {_SAYS_UNPAIRED}"
        )
    decided = [f"{decision['decision']}: {decision['why']} ({decision['metric']})"] if decision else []
    return [
        _runs(compared, ("baseline", "current")),
        counted,
        *_metric_tables(columns, rows),
        *decided,
        *cautions(compared),
    ]


def _metric_tables(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Table]:
    """Return the metrics of the summary, and the others, folded where there are any of the summary."""
    first, others = ([row for row in rows if (row[0] in SUMMARY) == kind] for kind in (True, False))
    if not first or not others:
        return [Table("Metrics", columns, rows)]
    return [Table("Metrics", columns, first), Table("Other metrics", columns, others, folded=True)]


def gate_page(checked: Document) -> Page:
    """Return the page of a gate: failures first, then what is within noise."""
    page = [_runs(checked, [name for name in ("current", "baseline") if checked[name]])]
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
            title = (
                f"{len(checks)} {' or '.join(outcomes).replace('undecided', 'not decided').replace('_', ' ')}"
            )
            names = ("check", "what", "outcome", "detail", "decided by")
            page.append(Table(title, names, checks, folded=outcomes == ("passed",)))
    counted = [_in_both(checked["rows"])] if checked["rows"] else []
    undecided = any(check["outcome"] == "undecided" for check in checked["checks"])
    advice = [_ASK_FOR_LIKENESS] if undecided else []
    sentence = (
        "The gate is not decided." if checked["outcome"] == "undecided" else f"The gate {checked['outcome']}."
    )
    return [*page, *counted, *cautions(checked), *advice, sentence]


def markdown(title: str, page: Page) -> str:
    """A page for a pull request, in which nothing of the data is markup, a link or mentions a person."""
    return render_markdown("evaluation/gates/comparison_page.md.j2", title=title, page=page)


def cautions(compared: Document) -> list[str]:
    """Return what a reader must know before believing the figures: what is missing or measured otherwise."""
    reasons: dict[str, list[str]] = {}
    for name, why in compared["excluded"].items():
        reasons.setdefault(why, []).append(name)
    parts = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
    excluded = [f"not compared: {parts}"] if parts else []
    otherwise = [
        f"measured otherwise: {name} is {_printable(how)}"
        for name, how in compared["measured_otherwise"].items()
    ]
    return excluded + otherwise


_SAYS_PAIRED = "Intervals (95 %) and p by document, p_holm adjusted over the metrics of its table (Holm)."
_SAYS_UNPAIRED = "p of Welch's t test, p_holm adjusted over the metrics of its table (Holm)."


def _in_both(rows: Mapping[str, int]) -> str:
    return (
        f"{rows['both']:,} rows in both, {rows['baseline_only']:,} only in the baseline, "
        f"{rows['current_only']:,} only in the current run."
    )


def _interval(metric: Document) -> str:
    """A difference and its interval, as far as they are known."""
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
    """Ids of rows come from files: none may steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
