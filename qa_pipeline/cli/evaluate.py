"""The command `eval`: its group, and measures against labels and ratings of people."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.cli.evaluate_dataset import Data, Scorer, means_of, run, settings_of
from qa_pipeline.cli.evaluate_runs import compare, gate
from qa_pipeline.cli.options import Change, Json, MaxCalls, MaxCost, check_exists
from qa_pipeline.cli.settings import model_options
from qa_pipeline.storage.files import write_bytes

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

    from qa_pipeline.calibration.rows import read_all_rows
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
