"""`qa-pipeline eval raters`: how far people agree, and what the majority says."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Json
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def raters(
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
        typer.Option(metavar="A,B,…", help="All ratings there may be; others are left out and counted."),
    ] = None,
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
    as_json: Json = False,
) -> None:
    """Measure how far people agree, and label each item by the majority of its ratings.

    A row is one rating (id, annotator, rating) or one item with an object `ratings` of annotator to rating;
    criterion is optional. Agreement is Fleiss' kappa.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.evaluation.raters import of_criterion, rating_figures, read_ratings
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        listed = [part.strip() for part in (categories or "").split(",") if part.strip()]
        read = read_ratings(files, listed)
        figures, agreed = rating_figures(of_criterion(read.items, criterion), min_kappa)
        if out is not None:
            write_bytes(out, agreed.write_ndjson().encode())
        if as_json:
            print_document({"left_out": read.left_out, **rounded(figures)})
            return
        if read.left_out.height:
            show_table("Rows left out", read.left_out.columns, read.left_out.rows())
        title = f"{figures['criterion']}: {figures['ratings']:,} ratings of {figures['items']:,} items"
        show_table(title, ["annotator", "ratings"], [[*item] for item in figures["annotators"].items()])
        value = "unknown" if figures["kappa"] is None else f"{figures['kappa']:.3f}"
        print_line(f"Fleiss' kappa: {value}")
        aside = ", ".join(f"{count:,} {reason}" for reason, count in figures["set_aside"].items()) or "none"
        print_line(f"Consensus: {figures['labelled']:,} items have a label; set aside: {aside}")
        if not figures["is_used"]:
            print_line(
                f"The consensus is not used: kappa is not above {figures['least_kappa']:g}, or unknown. "
                "Agree on what the categories mean and rate again, or choose another --min-kappa",
                "yellow",
            )
