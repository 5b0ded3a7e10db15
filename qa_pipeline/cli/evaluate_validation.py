"""`qa-pipeline eval validation`: verification and judge held against labels."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Json,
    MaxCalls,
    MaxCost,
    check_exists,
    named_settings,
)
from qa_pipeline.cli.evaluate_dataset import Scorer, means_of, settings_of
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def validation(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files or folders of labelled answers, as calibrate reads them."),
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
    with errors_as_exit_codes(resumable=True):
        check_exists(*files)
        import polars as pl

        from qa_pipeline.calibration.rows import read_complete
        from qa_pipeline.cli.console import show
        from qa_pipeline.evaluation.labelled_files import draw, labelled_files
        from qa_pipeline.evaluation.running import cut_by
        from qa_pipeline.evaluation.summaries import rounded
        from qa_pipeline.evaluation.validation import measure_validation
        from qa_pipeline.text.rendering import words

        items = pl.concat([draw(read_complete(path).items, limit) for path in labelled_files(files)])
        named_values = named_settings(max_calls=max_calls, max_cost=max_cost)
        settings = cut_by(settings_of(data, change, named_values, scorer))
        means = means_of(settings, scorer, "unknown")
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
