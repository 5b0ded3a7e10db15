"""The commands `eval`: comparison and gate of runs, and measures against labels and ratings of people."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.console import print_line, show, show_table
from qa_pipeline.cli.evaluate_dataset import Data, Scorer, means_of, run, settings_of
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.cli.options import Change, Json, MaxCalls, MaxCost, check_exists
from qa_pipeline.cli.settings import model_options
from qa_pipeline.errors import InputError
from qa_pipeline.storage.files import write_bytes

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
    from qa_pipeline.evaluation.gate import gate as check_gate
    from qa_pipeline.evaluation.report_folder import read_report

    limits = Limits(thresholds=_thresholds(threshold or []), accept_likeness=accept_likeness)
    earlier = read_report(baseline) if baseline else None
    golden_rows = read_golden(golden) if golden else None
    document = check_gate(read_report(current), earlier, limits, golden_rows)
    title = f"Evaluation gate {document['outcome']}"
    _show_page("gate", title, document, gate_page(document), out, as_json=as_json)
    raise typer.Exit({"passed": OK, "failed": FAILED}.get(document["outcome"], BAD_INPUT))


def _thresholds(texts: list[str]) -> dict[str, float]:
    """Return the bound of each metric; a number without a name is for faithfulness."""
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
    from qa_pipeline.evaluation.comparison_pages import markdown
    from qa_pipeline.evaluation.summaries import rounded

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


evaluation = typer.Typer(
    name="eval",
    no_args_is_help=True,
    help="Measure answered questions of any system.",
)
for command in (run, compare, gate):
    evaluation.command()(command)


@evaluation.command()
def raters(
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders of ratings: .parquet, .jsonl, .json or .csv.")
    ],
    criterion: Annotated[
        str | None, typer.Option(help="Criterion to measure, if the ratings have several.")
    ] = None,
    categories: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Valid ratings; others are left out and counted.")
    ] = None,
    min_kappa: Annotated[
        float, typer.Option(min=-1, max=1, help="Label items only if Fleiss' kappa is above this.")
    ] = 0.6,
    out: Annotated[Path | None, typer.Option(help="JSONL file for the label of each item.")] = None,
    as_json: Json = False,
) -> None:
    """Measure agreement between raters (Fleiss' kappa), and label items by majority.

    A row is a rating (id, annotator, rating, optional criterion), or an item whose `ratings` maps annotators
    to ratings. Items without a majority get null.
    """
    check_exists(*files)
    from qa_pipeline.evaluation.raters import of_criterion, rating_figures, read_ratings
    from qa_pipeline.evaluation.summaries import rounded

    listed = [part.strip() for part in (categories or "").split(",") if part.strip()]
    read = read_ratings(files, listed)
    figures, agreed = rating_figures(of_criterion(read.items, criterion), least_kappa=min_kappa)
    if out is not None:
        write_bytes(out, agreed.write_ndjson().encode())
    kappa = figures["kappa"]
    screen = {
        "rows left out": read.left_out,
        f"{figures['criterion']}: ratings of {figures['items']:,} items": figures["annotators"],
        "Fleiss' kappa": "unknown" if kappa is None else f"{kappa:.3f}",
        "items with a label": figures["labelled"],
        "without a label": [f"{count:,} {reason}" for reason, count in figures["set_aside"].items()],
    }
    if not figures["is_used"]:
        screen["not used"] = (
            f"kappa is unknown or not above {figures['least_kappa']:g}; agree on the meaning of the "
            "categories and rate again, or choose another --min-kappa"
        )
    show({"left_out": read.left_out, **rounded(figures)}, as_json=as_json, screen=screen)


@evaluation.command()
def validation(
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders of labelled answers, as calibrate reads them.")
    ],
    limit: Annotated[int | None, typer.Option(min=1, help="Rows of each file, spread over groups.")] = None,
    scorer: Annotated[
        Scorer, typer.Option(help="local: rules and local models. model: also verifier and judge.")
    ] = "local",
    data: Data = Path("data"),
    change: Change = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Compare hallucinations and tokens with and without validation.

    An answer passes if all its claims are supported and the judge accepts it. Verification and judge are
    also compared with the labels. Tokens are those of drafting and validating each answer.
    """
    check_exists(*files)
    import polars as pl

    from qa_pipeline.calibration.fitting import read_all_rows
    from qa_pipeline.evaluation.labelled_files import draw, labelled_files
    from qa_pipeline.evaluation.running import cut_by
    from qa_pipeline.evaluation.summaries import rounded
    from qa_pipeline.evaluation.validation import measure_validation
    from qa_pipeline.text.rendering import words

    items = pl.concat([draw(read_all_rows(path).items, limit) for path in labelled_files(files)])
    options = model_options(max_calls=max_calls, max_cost=max_cost)
    means = means_of(cut_by(settings_of(data, change, options, scorer)), scorer, "unknown")
    document = rounded(measure_validation(items, means.resources, means.verifier, means.judge))
    sides = ("without_validation", "with_validation")
    steps = [{"step": name, **document[name]} for name in ("verification", "judge") if document[name]]
    screen = {
        "Hallucinations (95 % intervals)": [{"": words(side), **document[side]} for side in sides],
        **{name: document[name] for name in ("fewer_hallucinations", "tokens")},
        "Against the labels": steps,
        "judge": None if document["judge"] else "none: add --scorer model, and name one in llm.judge",
    }
    show(document, as_json=as_json, screen=screen)
