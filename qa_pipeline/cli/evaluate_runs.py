"""`qa-pipeline eval compare`, `gate` and `sample-size`: what changed from one run to the next."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK, errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.evaluation.gates.changed_verdicts import Run
    from qa_pipeline.evaluation.gates.comparison_pages import Page

BARE_THRESHOLD = "faithfulness"
"""The metric of a threshold that names none."""

Written = Annotated[Path | None, typer.Option(help="Folder to write the result to, as JSON and Markdown.")]


def compare(
    baseline: Annotated[Path, typer.Argument(help="Report folder of the run before.")],
    current: Annotated[list[Path], typer.Argument(help="Report folders of the runs to hold against it.")],
    unpaired: Annotated[
        bool, typer.Option(help="Compare runs over different rows, as independent samples.")
    ] = False,
    decide: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="Say whether to deploy the one run current, by this metric: p < 0.05 and d > 0.1.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="File to write a page to: metrics side by side, and the answers that changed."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print all metrics; else the eight that eval run prints.")
    ] = False,
    out: Written = None,
    as_json: Json = False,
) -> None:
    """Compare evaluations row by row: differences with intervals, tests, and sizes of effect.

    Rows about one document rise and fall together; intervals and p respect that. A metric of another
    version is left out and named; another data set is refused, unless the runs are compared --unpaired.
    """
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.evaluation.gates.comparison import compare_runs
    from qa_pipeline.evaluation.gates.comparison_report import TEXTS, comparison_report
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        runs = _runs([baseline, *current], () if html is None else TEXTS)
        reports = [run.report for run in runs]
        comparisons = compare_runs(reports[0], reports[1:], paired=not unpaired)
        if decide is not None:
            comparisons[0]["decision"] = _decision(comparisons, decide)
        document, page = _compared(runs, comparisons)
        if html is not None:
            write_bytes(html, comparison_report(runs, comparisons).encode())
        title = f"{_NUMBERS.get(len(runs), len(runs))} evaluations compared"
        _tell("comparison", title, document, page, out, as_json=as_json, every=every)
        if html is not None and not as_json:
            print_line(f"Page: {html}")


_NUMBERS = {2: "Two", 3: "Three", 4: "Four"}


def _runs(folders: list[Path], texts: Sequence[str]) -> "list[Run]":
    """Read runs; each has the last part of its path for a name, or all of it where two share that."""
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.gates.changed_verdicts import Run
    from qa_pipeline.evaluation.reports.stored_report import read_report, read_statements

    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is given twice; name each run once")
    last_parts = [folder.resolve().name for folder in folders]
    return [
        Run(
            name if last_parts.count(name) == 1 else str(folder),
            read_report(folder, texts),
            read_statements(folder),
        )
        for folder, name in zip(folders, last_parts, strict=True)
    ]


def _compared(runs: "list[Run]", comparisons: list[dict[str, Any]]) -> "tuple[dict[str, Any], Page]":
    """Return the document and the page of compared runs, with the counts of changed verdicts."""
    from qa_pipeline.evaluation.gates.changed_verdicts import changes_of_runs
    from qa_pipeline.evaluation.gates.comparison_pages import changes_table, comparison_page, runs_page

    names = [run.name for run in runs]
    changes = changes_of_runs(runs) if comparisons[0]["paired"] else None
    if len(comparisons) == 1:
        document = {**comparisons[0], "changed_verdicts": changes}
        page = comparison_page(document)
    else:
        document = {"runs": names, "comparisons": comparisons, "changed_verdicts": changes}
        page = runs_page(names, comparisons)
    return document, [*page, *changes_table(changes or [])]


def gate(
    current: Annotated[Path, typer.Option(help="Report folder of the run to be held to account.")],
    baseline: Annotated[
        Path | None, typer.Option(help="Report folder of the run before; without it nothing is compared.")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Worst mean allowed of a metric; a number alone is for faithfulness. Repeatable.",
        ),
    ] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Golden set: rows with criteria of their own, .jsonl or .parquet.")
    ] = None,
    drop: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Relative loss of a metric that fails the gate. Default: 0.05."),
    ] = None,
    critical_drop: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The same of a critical metric. Default: 0.02."),
    ] = None,
    critical: Annotated[
        list[str] | None, typer.Option(help="Critical metric, in place of the usual ones; repeatable.")
    ] = None,
    accept_likeness: Annotated[
        bool,
        typer.Option(
            "--accept-likeness",
            help="Let figures that likeness alone decided pass and fail critical checks too.",
        ),
    ] = False,
    limits_file: Annotated[
        Path | None,
        typer.Option(
            "--limits", help="YAML file of thresholds, drop, critical_drop, critical, accept_likeness."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="File to write a JUnit report to: a test case for each check.")
    ] = None,
    out: Written = None,
    as_json: Json = False,
) -> None:
    """Fail where an evaluation got worse than the one before, misses a threshold or fails a golden row.

    A loss fails only where chance is ruled out (95 %, paired, by document); else it is named as within
    noise, with the rows needed to tell. Usually critical: faithfulness, hallucination, fabricated_citations
    and citation_accuracy. Exit codes: 0 passed, 1 failed, 2 undecided, since likeness alone decided what is
    critical, or the input cannot be used.
    """
    from qa_pipeline.evaluation.gates.comparison_pages import gate_page, junit_xml
    from qa_pipeline.evaluation.gates.gate import gate as held
    from qa_pipeline.evaluation.gates.gate import read_limits
    from qa_pipeline.evaluation.gates.golden import read_golden
    from qa_pipeline.evaluation.reports.stored_report import read_report
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        options = {"drop": drop, "critical_drop": critical_drop, "critical": critical or None}
        options |= {"accept_likeness": accept_likeness or None}
        limits = read_limits(limits_file, options, _thresholds(threshold or []))
        before = read_report(baseline) if baseline else None
        rows = read_golden(golden) if golden else None
        checked = held(read_report(current), before, limits, rows)
        if junit is not None:
            write_bytes(junit, junit_xml(checked))
        title = f"Evaluation gate {checked['outcome']}"
        _tell("gate", title, checked, gate_page(checked), out, as_json=as_json)
        raise typer.Exit({"passed": OK, "failed": FAILED}.get(checked["outcome"], BAD_INPUT))


def sample_size(
    difference: Annotated[
        float, typer.Argument(help="Difference of means that is to be found, such as 0.05.")
    ],
    deviation: Annotated[
        float,
        typer.Argument(help="Standard deviation: of rows' differences where paired, else of their scores."),
    ],
    unpaired: Annotated[bool, typer.Option(help="The runs answer different rows.")] = False,
    power: Annotated[float, typer.Option(help="How often the difference is to be found.")] = 0.8,
    significance: Annotated[float, typer.Option(help="How often one is called that is none.")] = 0.05,
) -> None:
    """Print how many rows each run needs, so that a difference of this size is found."""
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.statistics import MOST_ROWS, rows_needed

    with errors_as_exit_codes():
        needed = rows_needed(
            difference, deviation, paired=not unpaired, power=power, significance=significance
        )
        print_line(f"more than {MOST_ROWS}" if needed is None else str(needed))


def _decision(comparisons: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.gates.comparison import ab_decision

    if len(comparisons) > 1:
        raise InputError("--decide is of one run against the one before; name two runs")
    compared = comparisons[0]
    if metric not in compared["metrics"]:
        raise InputError(f"--decide {metric}: not compared; there are {', '.join(compared['metrics'])}")
    return {"metric": metric, **ab_decision(compared["metrics"][metric])}


def _thresholds(texts: list[str]) -> dict[str, float]:
    """Return the bounds by metric.

    Raises:
        InputError: one is no number, or a metric has two.
    """
    import math

    from qa_pipeline.errors import InputError

    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        name = name.strip() or BARE_THRESHOLD
        try:
            bound = float(value)
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound) or name in thresholds:
            why = (
                "is given twice" if name in thresholds else "should be NAME=NUMBER, such as faithfulness=0.85"
            )
            raise InputError(f"--threshold {text} {why}")
        thresholds[name] = bound
    return thresholds


def _tell(
    name: str,
    title: str,
    document: dict[str, Any],
    page: "Page",
    out: Path | None,
    *,
    as_json: bool,
    every: bool = True,
) -> None:
    """Print a result as tables or JSON, and write it as NAME.json and NAME.md, where a folder is named.

    Without `every`, a folded table is only named.
    """
    import json

    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.evaluation.gates.comparison_pages import markdown
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.storage.files import write_bytes

    printed = rounded(document)
    if out is not None:
        write_bytes(out / f"{name}.json", f"{json.dumps(printed, indent=2, allow_nan=False)}\n".encode())
        write_bytes(out / f"{name}.md", markdown(title, page).encode())
    if as_json:
        print_document(printed)
        return
    for part in page:
        if isinstance(part, str):
            print_line(part)
        elif part.folded and not every:
            print_line(f"{part.title}: --all prints them")
        else:
            show_table(part.title, part.columns, part.rows)
