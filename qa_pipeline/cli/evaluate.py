"""The commands `eval`: comparison and gate of runs, and measures against labels and ratings of people."""

import math
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.cli.evaluate_dataset import Data, Scorer, means_of, run, settings_of
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.cli.options import Change, Json, MaxCalls, MaxCost, check_exists
from qa_pipeline.cli.settings import model_options
from qa_pipeline.errors import InputError
from qa_pipeline.storage.files import write_bytes


def compare(
    baseline: Annotated[Path, typer.Argument(help="Report folder of the earlier run.")],
    current: Annotated[Path, typer.Argument(help="Report folder of the new run.")],
    unpaired: Annotated[bool, typer.Option(help="Compare runs over different rows.")] = False,
    decide: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Recommend deployment by this metric: p < 0.05 and d > 0.1."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two evaluations row by row: differences, intervals, tests and effect sizes.

    Intervals and tests treat rows of a document as dependent. Metrics of different versions are not
    compared. Different data sets need --unpaired.
    """
    check_exists(baseline, current)
    from qa_pipeline.evaluation import comparison
    from qa_pipeline.evaluation.report_folder import read_report
    from qa_pipeline.evaluation.summaries import rounded

    reports = read_report(baseline), read_report(current)
    document = (comparison.compare_unpaired if unpaired else comparison.compare_paired)(*reports)
    if decide is not None:
        if decide not in document["metrics"]:
            raise InputError(f"--decide {decide}: not compared; there are {', '.join(document['metrics'])}")
        decision = comparison.ab_decision(document["metrics"][decide])
        document["decision"] = {"metric": decide, **decision}
    screen = comparison.comparison_screen(document)
    show(rounded(document), as_json=as_json, screen=screen, every=True)


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
    as_json: Json = False,
) -> None:
    """Fail if an evaluation is worse than an earlier one, misses a threshold or fails a golden row.

    A loss must be significant (95 %, paired, by document). Exit codes: 0 passed; 1 failed; 2 undecided,
    because likeness alone decided a critical check.
    """
    check_exists(current, baseline, golden)
    from qa_pipeline.evaluation.gate import Limits, gate_screen, read_golden
    from qa_pipeline.evaluation.gate import gate as check_gate
    from qa_pipeline.evaluation.report_folder import read_report
    from qa_pipeline.evaluation.summaries import rounded

    limits = Limits(thresholds=_thresholds(threshold or []), accept_likeness=accept_likeness)
    earlier = read_report(baseline) if baseline else None
    golden_rows = read_golden(golden) if golden else None
    document = check_gate(read_report(current), earlier, limits, golden_rows)
    show(rounded(document), as_json=as_json, screen=gate_screen(document), every=True)
    raise typer.Exit({"passed": OK, "failed": FAILED}.get(document["outcome"], BAD_INPUT))


def _thresholds(texts: list[str]) -> dict[str, float]:
    """Return the bound of each metric, such as {"faithfulness": 0.85}."""
    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            bound = float(value)
        except ValueError:
            bound = math.nan
        if not name or not math.isfinite(bound):
            raise InputError(f"--threshold {text} should be NAME=NUMBER, such as faithfulness=0.85")
        thresholds[name] = bound
    return thresholds


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
    min_kappa: Annotated[
        float, typer.Option(min=-1, max=1, help="Label items only if Fleiss' kappa is above this.")
    ] = 0.6,
    out: Annotated[Path | None, typer.Option(help="JSONL file for the label of each item.")] = None,
    as_json: Json = False,
) -> None:
    """Measure agreement between raters (Fleiss' kappa), and label items by majority.

    A row is a rating: id of the item, annotator and rating. Items without a majority get null.
    """
    check_exists(*files)
    from qa_pipeline.evaluation.raters import rating_figures, read_ratings
    from qa_pipeline.evaluation.summaries import rounded

    read = read_ratings(files)
    figures, agreed = rating_figures(read.items, least_kappa=min_kappa)
    if out is not None:
        write_bytes(out, agreed.write_ndjson().encode())
    screen = {
        "rows left out": read.left_out,
        f"ratings of {figures['items']:,} items": figures["annotators"],
        **{name: figures[name] for name in ("kappa", "labelled", "set_aside")},
    }
    if not figures["is_used"]:
        screen["not used"] = (
            f"Fleiss' kappa is unknown or not above {min_kappa:g}; agree on the meaning of the categories "
            "and rate again, or choose another --min-kappa"
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
