"""`qa-pipeline eval sheet` and `eval annotators`: rows to rate, and what the ratings are worth."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from qa_pipeline.cli.arguments import Json, Resampled
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def annotators(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders of ratings, .parquet, .jsonl, .json or .csv: id, annotator, rating."
        ),
    ],
    criterion: Annotated[
        str | None, typer.Option(help="What is rated; needed where the ratings are of several criteria.")
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="All ratings there may be, from low to high; others are left out and counted.",
        ),
    ] = None,
    gold: Annotated[
        str, typer.Option(help="Annotator whose ratings are known to be right, where there is one.")
    ] = "gold",
    consensus: Annotated[
        Literal["majority", "dawid-skene"],
        typer.Option(help="More than half of the ratings, or the model of Dawid and Skene."),
    ] = "majority",
    min_kappa: Annotated[
        float,
        typer.Option(
            min=-1,
            max=1,
            help="Fleiss' kappa that must be exceeded before the consensus is used; else no "
            "item gets a label. -1 uses any that is known.",
        ),
    ] = 0.6,
    out: Annotated[
        Path | None, typer.Option(help="File for the label of each item, .jsonl; null without consensus.")
    ] = None,
    resamples: Resampled = 1000,
    as_json: Json = False,
) -> None:
    """Measure how far annotators agree, what they agree on, and how often each is right.

    A row is one rating (id, annotator, rating) or one item with an object `ratings` of annotator to rating;
    criterion and group are optional. Agreement is Fleiss' kappa and Krippendorff's alpha. Intervals are of
    95 %, resampled by group.
    """
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.cli.evaluation_tables import show_annotators
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.review.annotations import of_criterion, read_ratings
    from qa_pipeline.review.consensus import annotation_figures
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        order = _listed(categories)
        read = read_ratings(files, order)
        rows = of_criterion(read.items, criterion)
        figures, agreed = annotation_figures(
            rows, consensus, gold=gold, order=order, resamples=resamples, least_kappa=min_kappa
        )
        if out is not None:
            write_bytes(out, agreed.write_ndjson().encode())
        if as_json:
            print_document({"left_out": read.left_out, **rounded(figures)})
        else:
            show_annotators(figures, read.left_out)


def sheet(
    report: Annotated[Path, typer.Argument(help="Folder that eval run wrote.")],
    out: Annotated[Path, typer.Option(help="File for the sheet, .jsonl.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="Rows to draw.")] = 50,
    criterion: Annotated[str, typer.Option(help="What is to be rated.")] = "faithfulness",
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
    categories: Annotated[
        str, typer.Option(metavar="A,B,…", help="Ratings that the review app offers.")
    ] = "yes,partly,no",
) -> None:
    """Draw rows of a report at random, and write them with a place for annotator and rating.

    Scores and verdicts are left out, so that nobody rates as a model did. Filled in, the sheet is a file of
    ratings. A larger --count with the same seed begins with the same rows.
    """
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.evaluation.reports.rating_sheet import rating_sheet
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        rows = rating_sheet(report, count, criterion, seed, _listed(categories))
        write_bytes(out, rows.write_ndjson().encode())
        print_line(f"{out}: {rows.height} rows to rate")


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]
