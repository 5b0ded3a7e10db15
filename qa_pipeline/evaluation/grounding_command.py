"""`qa-pipeline eval grounding`: how far source verification can be trusted.

What belongs here: its arguments, and what runs after what. What does not: scores, figures and printing.
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.evaluation.arguments import (
    Data,
    Json,
    Limit,
    MaxCalls,
    MaxCost,
    Out,
    Resampled,
    Seed,
    settings_of,
)
from qa_pipeline.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:  # heavy: imported where a command needs them, so that --help answers at once
    from qa_pipeline.evaluation.files import Labelled
    from qa_pipeline.evaluation.grounding import Options
    from qa_pipeline.evaluation.scores import ScoreColumn
    from qa_pipeline.evaluation.scoring import Scored
    from qa_pipeline.settings.tree import Settings


class By(StrEnum):
    """What parts labelled items into sets."""

    dataset = "dataset"
    task = "task"
    language = "language"


def grounding(
    data: Data,
    scorer: Annotated[
        list[str] | None,
        typer.Option(
            help="similarity, consistency, combined, entailment, spans, cascade, or llm, which asks a model "
            "about every claim; repeatable. Without: all but llm."
        ),
    ] = None,
    by: Annotated[By, typer.Option(help="What parts the items into sets.")] = By.dataset,
    limit: Limit = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Set to leave out of the mean; repeatable.")
    ] = None,
    target: Annotated[
        float, typer.Option(min=0.5, max=1.0, help="Precision at which coverage is told.")
    ] = 0.98,
    resamples: Resampled = 1000,
    seed: Seed = 0,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for pictures of risk, coverage and reliability.")
    ] = None,
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Measure how well each scorer tells supported answers from unsupported ones.

    Items have the columns id, dataset, language, context (list of passages), answer, label (1 = supported)
    and group_id; task, question and spans where known. Three trivial baselines stand beside the scorers:
    length, word overlap and cosine. Intervals are of 95 %, resampled by group.
    """
    from qa_pipeline.console import print_document, print_line, watching
    from qa_pipeline.evaluation.grounding import Options, measure_grounding
    from qa_pipeline.evaluation.grounding_document import grounding_document
    from qa_pipeline.evaluation.grounding_screen import show_grounding
    from qa_pipeline.evaluation.labelled import draw, read_labelled
    from qa_pipeline.evaluation.plots import check_plots
    from qa_pipeline.evaluation.scores import chosen_scorers
    from qa_pipeline.evaluation.scoring import evaluation_settings, score_items
    from qa_pipeline.parts import Parts

    with errors_as_exit_codes():
        scorers = chosen_scorers(scorer)
        settings = evaluation_settings(settings_of(out, max_calls, max_cost))
        labelled = read_labelled(data, settings.pairs_file)
        items = draw(labelled.items, limit)
        options = Options(by.value, target, resamples, seed, tuple(without or ()))
        if plots is not None:
            check_plots()
        with watching(quiet=False) as watch:
            scored = score_items(items, Parts(settings), scorers, watch("evaluation", "claims"))
            found = measure_grounding(
                scored.items, scorers, settings.verification, options, watch("evaluation", "figures")
            )
        pictures = [] if plots is None else _pictures(scored, scorers, options, plots)
        if as_json:
            about = _about(labelled, scored, settings, options)
            print_document({**about, **grounding_document(found), "plots": pictures})
        else:
            show_grounding(found, labelled.left_out)
            for name in pictures:
                print_line(name)


def _pictures(
    scored: "Scored", scorers: "Sequence[ScoreColumn]", options: "Options", folder: Path
) -> list[str]:
    from qa_pipeline.evaluation.baselines import NAMES
    from qa_pipeline.evaluation.plots import draw_plots

    names = [*(one.name for one in scorers), *NAMES]
    probabilities = [one.name for one in scorers if one.probability]
    drawn = draw_plots(scored.items, options.by, names, probabilities, folder, options.target)
    return [str(path) for path in drawn]


def _about(
    labelled: "Labelled", scored: "Scored", settings: "Settings", options: "Options"
) -> dict[str, Any]:
    return {
        "items": scored.items.height,
        "left_out": labelled.left_out.to_dicts(),
        "by": options.by,
        "target_precision": options.target,
        "resamples": options.resamples,
        "seed": options.seed,
        "thresholds_id": settings.verification.thresholds_id,
        "embedding": settings.embedding.model,
        "models": scored.models,
    }
