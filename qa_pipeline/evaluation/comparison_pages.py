"""Comparisons and gates as Markdown for a pull request; names of data sets, rows and metrics stay data."""

from collections.abc import Iterator, Mapping
from typing import Any

from qa_pipeline.publishing.card import markdown_table

Document = Mapping[str, Any]
_MARKS = {"failed": "❌ failed", "within_noise": "within noise", "passed": "✅ passed"}
_LONGEST = 300


def comparison_rows(compared: Document) -> list[list[object]]:
    """A row of `COMPARISON_COLUMNS` for each metric."""
    return [
        [
            name,
            one["baseline"],
            one["current"],
            interval(one["difference"], one["low"], one["high"]),
            one["p"],
            one["p_holm"],
            one["cohens_d"],
            _better(one["better"]),
        ]
        for name, one in compared["metrics"].items()
    ]


COMPARISON_COLUMNS = ("metric", "baseline", "current", "difference", "p", "p_holm", "d", "better")
CHECK_COLUMNS = ("check", "what", "outcome", "detail")


def check_rows(found: Document) -> list[list[str]]:
    """A row for each check of a gate, failures first, then what is within noise."""
    order = list(_MARKS)
    checks = sorted(found["checks"], key=lambda one: order.index(one["outcome"]))
    return [
        [
            one["kind"],
            f"{one['name']} (critical)" if one.get("critical") else _printable(one["name"]),
            _MARKS[one["outcome"]],
            _printable(one["detail"]),
        ]
        for one in checks
    ]


def comparison_markdown(compared: Document) -> str:
    """The page of `compare_paired` or `compare_unpaired`."""
    return "\n".join(_comparison(compared))


def gate_markdown(found: Document) -> str:
    """The page of `gates.gate`; checks that passed are folded away."""
    return "\n".join(_gate(found))


def _comparison(compared: Document) -> Iterator[str]:
    yield "## Two evaluations compared\n"
    yield markdown_table(["run", "place", "data set", "sha256"], _sides(compared))
    yield counted(compared) + "\n"
    yield markdown_table(COMPARISON_COLUMNS, comparison_rows(compared))
    if decision := compared.get("decision"):
        yield markdown_table(
            ["metric", "decision", "why"],
            [[decision[name] for name in ("metric", "decision", "why")]],
            _LONGEST,
        )
    yield from _cautions(compared)


def _gate(found: Document) -> Iterator[str]:
    yield f"## Evaluation gate {'passed' if found['passed'] else 'failed'}\n"
    sides = [[name, *_side(found[name])] for name in ("current", "baseline") if found[name]]
    yield markdown_table(["run", "place", "data set", "sha256"], sides)
    if rows := found["rows"]:
        yield f"{_counts(rows)}\n"
    if golden := found["golden"]:
        columns = ("name", "version", "rows", "sha256")
        shown = [*(golden[name] for name in columns[:-1]), golden["sha256"][:12]]
        yield markdown_table(["golden set", *columns[1:]], [shown])
    rows = check_rows(found)
    told = [row for row in rows if row[2] != _MARKS["passed"]]
    if told:
        yield markdown_table(CHECK_COLUMNS, told, _LONGEST)
    passed = rows[len(told) :]
    if passed:
        table = markdown_table(CHECK_COLUMNS, passed, _LONGEST)
        yield f"<details><summary>{len(passed)} passed</summary>\n\n{table}\n</details>\n"
    yield from _cautions(found)


def cautions(found: Document) -> list[str]:
    """What a reader must know before the figures are believed: what was left out, and measured otherwise."""
    excluded = [f"{name} is not compared: {why}" for name, why in found["excluded"].items()]
    otherwise = [
        f"measured otherwise: {name} is {_printable(how)}"
        for name, how in found["measured_otherwise"].items()
    ]
    return excluded + otherwise


def _cautions(found: Document) -> Iterator[str]:
    tables = {
        "Not compared": "excluded",
        "Measured otherwise, so that scores may differ for that alone": "measured_otherwise",
    }
    for title, name in tables.items():
        if found[name]:
            yield f"{title}:\n"
            yield markdown_table(["what", "why"], list(found[name].items()), _LONGEST)


def counted(compared: Document) -> str:
    """How many rows were compared, and what the columns are."""
    rows = compared["rows"]
    if not compared["paired"]:
        return (
            f"{rows['baseline']:,} rows against {rows['current']:,} others, as independent samples: p of "
            "Welch's t test, p_holm adjusted over metrics (Holm), d by the pooled deviation."
        )
    return (
        f"{_counts(rows)} Intervals (95 %) and p by document, p_holm adjusted over metrics (Holm), d by the "
        "pooled deviation."
    )


def _counts(rows: Mapping[str, int]) -> str:
    return (
        f"{rows['both']:,} rows in both, {rows['baseline_only']:,} only in the baseline, "
        f"{rows['current_only']:,} only in the current run."
    )


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """A difference and its interval, as far as they are known."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if low is None or high is None else f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def _sides(compared: Document) -> list[list[str]]:
    return [[name, *_side(compared[name])] for name in ("baseline", "current")]


def _side(one: Document) -> list[str]:
    return [one["place"], one["dataset"], one["dataset_sha256"][:12]]


def _better(better: bool | None) -> str:
    return "–" if better is None else "current" if better else "baseline"


def _printable(text: str) -> str:
    """Ids of rows come from files: none may steer a terminal."""
    return "".join(one if one.isprintable() else "�" for one in text)
