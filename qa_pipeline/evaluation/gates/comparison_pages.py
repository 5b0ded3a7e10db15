"""What comparisons and gates say, for the screen and as Markdown; names of data sets and rows stay data."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from qa_pipeline.evaluation.metrics.registry import SUMMARY
from qa_pipeline.evaluation.reports.stored_report import dataset_labels
from qa_pipeline.text.rendering import render_markdown

Document = Mapping[str, Any]
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS = {
    "failed": "❌ failed",
    "undecided": "❔ undecided",
    "within_noise": "within noise",
    "passed": "✅ passed",
}
_ASK_FOR_LIKENESS = (
    "Undecided: likeness (cosines and words in common) overlooks a swapped name or negation. Name a "
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
            _better(metric, "baseline", "current"),
            metric["decided_by"],
        ]
        for name, metric in compared["metrics"].items()
    ]
    decision = compared.get("decision")
    decided = [f"{decision['decision']}: {decision['why']} ({decision['metric']})"] if decision else []
    return [
        _runs(compared, ("baseline", "current")),
        f"{_of_rows(compared)} {_SAYS_PAIRED if compared['paired'] else _SAYS_UNPAIRED}",
        *_metric_tables(columns, rows),
        *decided,
        *cautions(compared),
    ]


def runs_page(names: Sequence[str], comparisons: Sequence[Document]) -> Page:
    """Return the page of several runs held against one: a line for each metric and run.

    Args:
        names: of the runs, the baseline first.
        comparisons: of each further run, by `compare_runs`.
    """
    first = comparisons[0]
    sides = [first["baseline"], *(compared["current"] for compared in comparisons)]
    compared_runs = list(zip(names[1:], comparisons, strict=True))
    columns = ("metric", "run", "baseline", "current", "difference", "p_holm", "better")
    rows = [
        [
            name,
            run,
            *(compared["metrics"][name][column] for column in ("baseline", "current")),
            _interval(compared["metrics"][name]),
            compared["metrics"][name]["p_holm"],
            _better(compared["metrics"][name], names[0], run),
        ]
        for name in dict.fromkeys(name for compared in comparisons for name in compared["metrics"])
        for run, compared in compared_runs
        if name in compared["metrics"]
    ]
    return [
        _table_of_runs(names, sides),
        f"Each run against {names[0]}. {_SAYS_PAIRED if first['paired'] else _SAYS_UNPAIRED}",
        *_metric_tables(columns, rows),
        *(f"{run}: {_of_rows(compared)}" for run, compared in compared_runs),
        *(f"{run}: {caution}" for run, compared in compared_runs for caution in cautions(compared)),
    ]


def _metric_tables(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Table]:
    """Return the metrics of the summary, and the others, folded where there are any of the summary."""
    first, others = ([row for row in rows if (row[0] in SUMMARY) == kind] for kind in (True, False))
    if not first or not others:
        return [Table("Metrics", columns, rows)]
    return [Table("Metrics", columns, first), Table("Other metrics", columns, others, folded=True)]


def changes_table(changes: Sequence[Document]) -> list[Table]:
    """Return how many answers went from one verdict to another in each run; nothing where none did."""
    columns = ("run", "before", "now", "change", "rows")
    rows = [[change[column] for column in columns] for change in changes]
    return [Table("Answers whose verdict changed", columns, rows)] if rows else []


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
            title = f"{len(checks)} {' or '.join(outcomes).replace('_', ' ')}"
            names = ("check", "what", "outcome", "detail", "decided by")
            page.append(Table(title, names, checks, folded=outcomes == ("passed",)))
    counted = [_in_both(checked["rows"])] if checked["rows"] else []
    undecided = any(check["outcome"] == "undecided" for check in checked["checks"])
    advice = [_ASK_FOR_LIKENESS] if undecided else []
    return [*page, *counted, *cautions(checked), *advice, gate_sentence(checked)]


def gate_sentence(checked: Document) -> str:
    """Return the outcome of a gate as a sentence."""
    return (
        "The gate is undecided." if checked["outcome"] == "undecided" else f"The gate {checked['outcome']}."
    )


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


_ADJUSTED = "p_holm adjusted over the runs and the metrics of its table (Holm), d by the pooled deviation."
_SAYS_PAIRED = f"Intervals (95 %) and p by document, {_ADJUSTED}"
_SAYS_UNPAIRED = f"p of Welch's t test, {_ADJUSTED}"


def _of_rows(compared: Document) -> str:
    """Say how many rows were compared."""
    rows = compared["rows"]
    if compared["paired"]:
        return _in_both(rows)
    return f"{rows['baseline']:,} rows against {rows['current']:,} others, as independent samples."


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


def _better(metric: Document, baseline: str, current: str) -> str:
    return {None: "–", True: current, False: baseline}[metric["better"]]


def _runs(compared: Document, names: Sequence[str]) -> Table:
    return _table_of_runs(names, [compared[name] for name in names])


def _table_of_runs(names: Sequence[str], sides: Sequence[Document]) -> Table:
    labels = dataset_labels([(side["dataset"], side["dataset_sha256"]) for side in sides])
    rows = [[name, side["place"], label] for name, side, label in zip(names, sides, labels, strict=True)]
    return Table("Runs", ("run", "place", "data set"), rows)


def _printable(text: str) -> str:
    """Ids of rows come from files: none may steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def junit_xml(checked: Document) -> bytes:
    """Return what a gate found as a JUnit report, which CI servers show: a test case for each check.

    What failed is a failure, what is undecided is skipped with the reason, and a loss within noise passes
    with its sentence as output.
    """
    checks = checked["checks"]
    counts = Counter(check["outcome"] for check in checks)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml_text(checked["current"]["dataset"]),
        tests=str(len(checks)),
        failures=str(counts["failed"]),
        errors="0",
        skipped=str(counts["undecided"]),
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=check["kind"], name=_xml_text(check["name"])
        )
        detail = _xml_text(check["detail"])
        if check["outcome"] in ("failed", "undecided"):
            kind = "failure" if check["outcome"] == "failed" else "skipped"
            ElementTree.SubElement(case, kind, message=detail)
        else:
            ElementTree.SubElement(case, "system-out").text = detail
    report: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return report


def _xml_text(text: str) -> str:
    """Return a text without the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
