"""`qa-pipeline eval raters`: how far people agree, and what the majority says."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    Json,
    check_exists,
)
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

    A row is a rating: id, annotator, rating and optionally criterion. Agreement is Fleiss' kappa.
    """
    with errors_as_exit_codes():
        check_exists(*files)
        from qa_pipeline.cli.console import show
        from qa_pipeline.evaluation.raters import of_criterion, rating_figures, read_ratings
        from qa_pipeline.evaluation.summaries import rounded
        from qa_pipeline.storage.files import write_bytes

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
            "set aside": [f"{count:,} {reason}" for reason, count in figures["set_aside"].items()],
        }
        if not figures["is_used"]:
            screen["not used"] = (
                f"kappa is not above {figures['least_kappa']:g}, or unknown; agree on what the categories "
                "mean and rate again, or choose another --min-kappa"
            )
        show({"left_out": read.left_out, **rounded(figures)}, as_json=as_json, screen=screen)
