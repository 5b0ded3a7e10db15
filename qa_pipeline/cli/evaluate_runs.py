"""The commands `eval compare` and `eval gate`: changes between runs."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.cli.options import Json, check_exists
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.evaluation.comparison_pages import Page

BARE_THRESHOLD = "faithfulness"
"""The metric of a threshold without a name."""

Written = Annotated[Path | None, typer.Option(help="Folder for the result as JSON and Markdown.")]


def compare(
    baseline: Annotated[Path, typer.Argument(help="Report folder of the earlier run.")],
    current: Annotated[Path, typer.Argument(help="Report folder of the new run.")],
    unpaired: Annotated[bool, typer.Option(help="Compare runs over different rows.")] = False,
    decide: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Recommend deployment by this metric: p < 0.05 and d > 0.1."),
    ] = None,
    out: Written = None,
    as_json: Json = False,
) -> None:
    """Compare two evaluations row by row: differences, intervals, tests and effect sizes.

    Intervals and tests treat rows of a document as dependent. Metrics of different versions are not
    compared. Different data sets need --unpaired.
    """
    check_exists(baseline, current)
    from qa_pipeline.evaluation.comparison import ab_decision, compare_paired, compare_unpaired
    from qa_pipeline.evaluation.comparison_pages import comparison_page
    from qa_pipeline.evaluation.report_folder import read_report

    reports = read_report(baseline), read_report(current)
    document = compare_unpaired(*reports) if unpaired else compare_paired(*reports)
    if decide is not None:
        if decide not in document["metrics"]:
            raise InputError(f"--decide {decide}: not compared; there are {', '.join(document['metrics'])}")
        document["decision"] = {"metric": decide, **ab_decision(document["metrics"][decide])}
    page = comparison_page(document)
    _show_page("comparison", "Two evaluations compared", document, page, out, as_json=as_json)


def gate(
    current: Annotated[Path, typer.Option(help="Report folder to check.")],
    baseline: Annotated[Path | None, typer.Option(help="Report folder of the earlier run.")] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Worst allowed mean; repeatable.")
    ] = None,
    golden: Annotated[Path | None, typer.Option(help="Golden set: rows with their own criteria.")] = None,
    accept_likeness: Annotated[
        bool, typer.Option("--accept-likeness", help="Accept likeness alone on critical checks.")
    ] = False,
    out: Written = None,
    as_json: Json = False,
) -> None:
    """Fail if an evaluation is worse than an earlier one, misses a threshold or fails a golden row.

    A loss must be significant (95 %, paired, by document). Exit codes: 0 passed; 1 failed; 2 undecided,
    because likeness alone decided a critical check.
    """
    check_exists(current, baseline, golden)
    from qa_pipeline.evaluation.comparison_pages import gate_page
    from qa_pipeline.evaluation.gate import Limits, read_golden
    from qa_pipeline.evaluation.gate import gate as check
    from qa_pipeline.evaluation.report_folder import read_report

    limits = Limits(thresholds=_thresholds(threshold or []), accept_likeness=accept_likeness)
    before = read_report(baseline) if baseline else None
    rows = read_golden(golden) if golden else None
    checked = check(read_report(current), before, limits, rows)
    title = f"Evaluation gate {checked['outcome']}"
    _show_page("gate", title, checked, gate_page(checked), out, as_json=as_json)
    raise typer.Exit({"passed": OK, "failed": FAILED}.get(checked["outcome"], BAD_INPUT))


def _thresholds(texts: list[str]) -> dict[str, float]:
    """Return the bound of each metric.

    Raises:
        InputError: a bound is not a number, or a metric has two.
    """
    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        name = name.strip() or BARE_THRESHOLD
        try:
            bound = float(value)
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound) or name in thresholds:
            raise InputError(
                f"--threshold {text} should be NAME=NUMBER, such as faithfulness=0.85, and given once"
            )
        thresholds[name] = bound
    return thresholds


def _show_page(
    name: str, title: str, document: dict[str, Any], page: "Page", out: Path | None, *, as_json: bool
) -> None:
    """Print a result, and write it to `out` as NAME.json and NAME.md."""
    import json

    from qa_pipeline.cli.console import print_line, show, show_table
    from qa_pipeline.evaluation.comparison_pages import markdown
    from qa_pipeline.evaluation.summaries import rounded
    from qa_pipeline.storage.files import write_bytes

    printed = rounded(document)
    if out is not None:
        write_bytes(out / f"{name}.json", f"{json.dumps(printed, indent=2, allow_nan=False)}\n".encode())
        write_bytes(out / f"{name}.md", markdown(title, page).encode())
    if as_json:
        show(printed, as_json=True)
        return
    for part in page:
        if isinstance(part, str):
            print_line(part)
        else:
            show_table(part.title, [dict(zip(part.columns, row, strict=True)) for row in part.rows])
