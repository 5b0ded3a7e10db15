"""`qa-pipeline eval validation`: verification and judge held against labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from qa_pipeline.cli.arguments import Change, Json, MaxCalls, MaxCost, named_settings
from qa_pipeline.cli.evaluate_dataset import Scorer, means_of, settings_of
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def validation(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders of labelled answers, as calibrate reads them: id, language, question, "
            "context, answer, label (1 is supported), group_id."
        ),
    ],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Rows of each file, spread over groups; the same each time.")
    ] = None,
    scorer: Annotated[
        Scorer,
        typer.Option(help="local: rules and local models. model: verifier and judge of the settings too."),
    ] = "local",
    data: Annotated[Path, typer.Option(help="Folder for caches: vectors and paid replies.")] = Path("data"),
    change: Change = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Measure hallucinations and tokens with and without validation, and the judge against labels.

    An answer passes if all its claims are supported and the judge accepts it. The judge is asked about every
    answer. Tokens are those of the request that would draft each answer, and of the validation.
    """
    import polars as pl

    from qa_pipeline.calibration.rows import read_complete
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.evaluation.datasets.grounding_items import draw
    from qa_pipeline.evaluation.datasets.labelled_files import labelled_files
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.evaluation.validation import measure_validation

    with errors_as_exit_codes(resumable=True):
        items = pl.concat([draw(read_complete(path).items, limit) for path in labelled_files(files)])
        settings = settings_of(data, change, named_settings(None, None, max_calls, max_cost), scorer, "rules")
        means = means_of(settings, scorer, "unknown")
        document = rounded(measure_validation(items, means.resources, means.verifier, means.judge))
        if as_json:
            print_document(document)
        else:
            _show(document)


def _show(document: dict[str, Any]) -> None:
    from qa_pipeline.cli.console import print_line, show_table

    sides = ("without_validation", "with_validation")
    names = ("answers", "wrong", "rate", "low", "high")
    rows = [[side.replace("_", " "), *(document[side][name] for name in names)] for side in sides]
    show_table("Hallucinations (95 % intervals)", ["", *names], rows)
    tokens, fewer = document["tokens"], document["fewer_hallucinations"]
    print_line(f"Fewer hallucinations: {'unknown' if fewer is None else f'{fewer:.0%}'}")
    factor = "unknown" if tokens["factor"] is None else f"{tokens['factor']:.2f} times the tokens"
    print_line(f"Tokens: {tokens['drafting']:,} to draft, {tokens['validation']:,} to validate; {factor}")
    judged = {step: document[step] for step in ("verification", "judge") if document[step] is not None}
    columns = [*next(iter(judged.values()))]
    cells = [[step, *figures.values()] for step, figures in judged.items()]
    show_table("Against the labels", ["", *(name.replace("_", " ") for name in columns)], cells)
    if document["judge"] is None:
        print_line("No judge: add --scorer model, and name one in llm.judge", "yellow")
