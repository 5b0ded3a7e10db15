"""`qa-pipeline eval annotators` and `eval next`: what ratings are worth, and which to ask for next."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import Json
from qa_pipeline.cli.common import errors_as_exit_codes

if TYPE_CHECKING:
    import polars as pl

Criterion = Annotated[
    str | None, typer.Option(help="What is rated; needed where the ratings are of several criteria.")
]
Categories = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…", help="All ratings there may be, from low to high; others are left out and counted."
    ),
]
Resampled = Annotated[int, typer.Option(min=0, max=100_000, help="Resamples of the 95 % intervals.")]


class Unlike(StrEnum):
    """What makes rows unlike each other."""

    scores = "scores"
    texts = "texts"


class Consensus(StrEnum):
    """How a consensus is found."""

    majority = "majority"
    dawid_skene = "dawid-skene"


def annotators(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files or folders of ratings, .parquet or .jsonl: id, annotator, rating."),
    ],
    criterion: Criterion = None,
    categories: Categories = None,
    gold: Annotated[
        str, typer.Option(help="Annotator whose ratings are known to be right, where there is one.")
    ] = "gold",
    consensus: Annotated[
        Consensus, typer.Option(help="More than half of the ratings, or the model of Dawid and Skene.")
    ] = Consensus.majority,
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
    from qa_pipeline.cli.console import print_document, print_line
    from qa_pipeline.cli.evaluation_tables import show_annotators
    from qa_pipeline.evaluation.annotations import of_criterion, read_ratings
    from qa_pipeline.evaluation.consensus import Method, annotation_figures
    from qa_pipeline.evaluation.statistics import rounded

    with errors_as_exit_codes():
        order = _listed(categories)
        read = read_ratings(files, order)
        rows = of_criterion(read.items, criterion)
        found, agreed = annotation_figures(
            rows, Method(consensus.value), gold=gold, order=order, resamples=resamples
        )
        if out is not None:
            _write_lines(out, agreed)
        if as_json:
            print_document({"left_out": read.left_out, **rounded(found)})
        else:
            show_annotators(found, read.left_out)
            if out is not None:
                print_line(str(out))


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
    uncertainty: Annotated[float, typer.Option(min=0, help="Weight of nearness to the decision.")] = 1.0,
    disagreement: Annotated[
        float, typer.Option(min=0, help="Weight of scorers and annotators that differ.")
    ] = 1.0,
    diversity: Annotated[float, typer.Option(min=0, help="Weight of being unlike labelled rows.")] = 1.0,
    chance: Annotated[float, typer.Option(min=0, help="Weight of chance; alone, rows are drawn.")] = 3.0,
    unlike: Annotated[
        Unlike,
        typer.Option(help="What diversity compares: scores, or query and answer by the embedding model."),
    ] = Unlike.scores,
    threshold: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Probability from which a row is taken for right.")
    ] = 0.5,
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
    from qa_pipeline.evaluation.active_learning import Mix, Wanted, next_rows, rating_sheet, read_statements
    from qa_pipeline.evaluation.annotations import of_criterion, read_ratings
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.evaluation.stored_report import read_report
    from qa_pipeline.models.encoder import load_embedder
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes():
        found = read_report(report, ("query", "answer"))
        lower = [name for name, one in found.metrics.items() if one.direction == "lower"]
        mix = Mix(uncertainty, disagreement, diversity, chance)
        wanted = Wanted(count, metric, tuple(against or ()), lower, _listed(right), mix, threshold, seed)
        read = read_ratings(labelled)
        ratings = of_criterion(read.items, criterion)
        encoder = load_embedder(load_settings().embedding) if unlike is Unlike.texts else None
        chosen, told = next_rows(found.rows, ratings, wanted, encoder, resamples)
        _write_lines(out, rating_sheet(chosen, read_statements(report), ratings["criterion"][0]))
        document = {**told, "left_out": read.left_out, "file": str(out)}
        values = chosen.select("id", "value", "uncertainty", "disagreement", "diversity", "query")
        if as_json:
            print_document({**rounded(document), "chosen": values})
        else:
            show_next(document, values)


def _listed(text: str | None) -> list[str]:
    return [one.strip() for one in (text or "").split(",") if one.strip()]


def _write_lines(path: Path, rows: "pl.DataFrame") -> None:
    import io

    from qa_pipeline.storage import write_bytes

    lines = io.BytesIO()
    rows.write_ndjson(lines)
    write_bytes(path, lines.getvalue())
