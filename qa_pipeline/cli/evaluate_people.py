"""`qa-pipeline eval annotators` and `eval next`: what ratings are worth, and which to ask for next."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from qa_pipeline.cli.arguments import Json, Resampled
from qa_pipeline.cli.common import errors_as_exit_codes

Criterion = Annotated[
    str | None, typer.Option(help="What is rated; needed where the ratings are of several criteria.")
]


def annotators(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders of ratings, .parquet, .jsonl, .json or .csv: id, annotator, rating."
        ),
    ],
    criterion: Criterion = None,
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
    from qa_pipeline.evaluation.annotations import of_criterion, read_ratings
    from qa_pipeline.evaluation.consensus import annotation_figures
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.storage import write_bytes

    with errors_as_exit_codes():
        order = _listed(categories)
        read = read_ratings(files, order)
        rows = of_criterion(read.items, criterion)
        found, agreed = annotation_figures(rows, consensus, gold=gold, order=order, resamples=resamples)
        if out is not None:
            write_bytes(out, agreed.write_ndjson().encode())
        if as_json:
            print_document({"left_out": read.left_out, **rounded(found)})
        else:
            show_annotators(found, read.left_out)


def next_to_rate(
    report: Annotated[Path, typer.Argument(help="Folder that eval run wrote.")],
    labelled: Annotated[
        list[Path],
        typer.Option(help="File or folder of the ratings there are, as for annotators; repeatable."),
    ],
    out: Annotated[Path, typer.Option(help="File for the rows to rate, .jsonl.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="Rows wanted.")] = 50,
    metric: Annotated[
        str, typer.Option(help="Metric that is calibrated on the labels; its uncertainty counts.")
    ] = "faithfulness",
    against: Annotated[
        list[str] | None, typer.Option(help="Metric whose disagreement with it counts; repeatable.")
    ] = None,
    criterion: Criterion = None,
    right: Annotated[
        str, typer.Option(metavar="A,B,…", help="Ratings that call a row right; all others call it wrong.")
    ] = "1,true,yes,supported,right",
    calibration: Annotated[
        Literal["logistic", "isotonic"], typer.Option(help="Platt's logistic curve, or isotonic regression.")
    ] = "logistic",
    uncertainty: Annotated[float, typer.Option(min=0, help="Weight of nearness to the decision.")] = 1.0,
    disagreement: Annotated[
        float, typer.Option(min=0, help="Weight of scorers and annotators that differ.")
    ] = 1.0,
    diversity: Annotated[
        float, typer.Option(min=0, help="Weight of scores unlike those of labelled rows.")
    ] = 1.0,
    chance: Annotated[float, typer.Option(min=0, help="Weight of chance; alone, rows are drawn.")] = 3.0,
    seed: Annotated[int, typer.Option(min=0, help="Of chance, and of the order of rows of equal value.")] = 0,
    resamples: Resampled = 1000,
    as_json: Json = False,
) -> None:
    """Choose which rows of a report people should rate next, and write them with a place for the rating.

    Scores and verdicts are left out of the file, so that nobody rates as a model did. Filled in, the file is
    one of ratings.
    """
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.cli.evaluation_tables import show_next
    from qa_pipeline.evaluation.active_learning import Mix, next_rows, rating_sheet
    from qa_pipeline.evaluation.annotations import of_criterion, read_ratings
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.evaluation.stored_report import read_report
    from qa_pipeline.storage import write_bytes

    with errors_as_exit_codes():
        read = read_ratings(labelled)
        ratings = of_criterion(read.items, criterion)
        chosen, told = next_rows(
            read_report(report, ("query", "answer")),
            ratings,
            Mix(uncertainty, disagreement, diversity, chance),
            count=count,
            metric=metric,
            against=against or (),
            right=_listed(right),
            fit=calibration,
            seed=seed,
            resamples=resamples,
        )
        sheet = rating_sheet(report, chosen, ratings["criterion"][0])
        write_bytes(out, sheet.write_ndjson().encode())
        values = chosen.select("id", "value", "uncertainty", "disagreement", "diversity", "query")
        document = {**told, "left_out": read.left_out, "file": str(out)}
        if as_json:
            print_document({**rounded(document), "chosen": values})
        else:
            show_next(document, values)


def _listed(text: str | None) -> list[str]:
    return [one.strip() for one in (text or "").split(",") if one.strip()]
