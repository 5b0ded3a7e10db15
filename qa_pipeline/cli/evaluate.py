"""`qa-pipeline eval`: answered questions, verification and the judge on labelled data, and generation."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json, MaxCalls, MaxCost, Out, Resampled, named_settings
from qa_pipeline.cli.common import errors_as_exit_codes
from qa_pipeline.cli.evaluate_abilities import abilities
from qa_pipeline.cli.evaluate_dataset import run
from qa_pipeline.cli.evaluate_generation import generation
from qa_pipeline.cli.evaluate_people import annotators, sheet
from qa_pipeline.cli.evaluate_runs import choose, compare, gate, record, sample_size

if TYPE_CHECKING:
    from qa_pipeline.evaluation.datasets import Labelled
    from qa_pipeline.evaluation.grounding import Options
    from qa_pipeline.evaluation.scorers import ScoreColumn
    from qa_pipeline.evaluation.scoring import Scored
    from qa_pipeline.llm.base import LanguageModel
    from qa_pipeline.resources import Resources
    from qa_pipeline.settings.tree import Settings


Data = Annotated[
    list[Path],
    typer.Option(help="File or folder of labelled items, .parquet, .jsonl, .json or .csv; repeatable."),
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Items of each data set, drawn by group; the same ones each time.")
]


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
            help="similarity, entailment, spans, cascade, or llm, which asks a model "
            "about every claim; repeatable. Default: all but llm."
        ),
    ] = None,
    by: Annotated[By, typer.Option(help="Column that splits the items into sets.")] = By.dataset,
    limit: Limit = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Set to leave out of the mean; repeatable.")
    ] = None,
    target: Annotated[
        float, typer.Option(min=0.5, max=1.0, help="Precision at which coverage is reported.")
    ] = 0.98,
    resamples: Resampled = 1000,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for plots of risk, coverage and reliability.")
    ] = None,
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Measure how well each scorer tells supported answers from unsupported ones.

    Items have the columns id, dataset, language, context (list of passages), answer, label (1 = supported)
    and group_id; task, question and spans where known. Three trivial baselines are reported too: length,
    word overlap and cosine. Intervals are of 95 %, resampled by group.
    """
    from qa_pipeline.cli.console import print_document, print_line, watching
    from qa_pipeline.cli.evaluation_tables import show_grounding
    from qa_pipeline.evaluation.datasets import draw, read_labelled
    from qa_pipeline.evaluation.grounding import Options, measure_grounding
    from qa_pipeline.evaluation.scorers import chosen_scorers
    from qa_pipeline.evaluation.scoring import evaluation_settings, score_items
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.resources import Resources

    with errors_as_exit_codes():
        scorers = chosen_scorers(scorer)
        settings = evaluation_settings(_settings(out, max_calls, max_cost))
        labelled = read_labelled(data, settings.pairs_file)
        items = draw(labelled.items, limit)
        options = Options(by.value, target, resamples, tuple(without or ()))
        with watching(quiet=False) as watch:
            scored = score_items(items, Resources(settings), scorers, watch("evaluation", "claims"))
            found = measure_grounding(
                scored.items, scorers, settings.verification, options, watch("evaluation", "figures")
            )
        pictures = [] if plots is None else _pictures(scored, scorers, options, plots)
        if as_json:
            about = _about(labelled, scored, settings, options)
            print_document({**about, **rounded(found), "plots": pictures})
        else:
            show_grounding(found, labelled.left_out)
            for name in pictures:
                print_line(name)


def _settings(out: Path, max_calls: int | None, max_cost: float | None) -> "Settings":
    """The settings of all sources, with the output folder and caps of the command line."""
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings

    return load_settings(out=out, **read_assignments([], named_settings(None, None, max_calls, max_cost)))


def _pictures(
    scored: "Scored", scorers: "Sequence[ScoreColumn]", options: "Options", folder: Path
) -> list[str]:
    from qa_pipeline.evaluation.plots import draw_plots
    from qa_pipeline.evaluation.scorers import NAMES

    names = [*(one.name for one in scorers), *NAMES]
    probabilities = [one.name for one in scorers if one.probability]
    drawn = draw_plots(scored.items, options.by, names, probabilities, folder, options.target)
    return [str(path) for path in drawn]


def _about(
    labelled: "Labelled", scored: "Scored", settings: "Settings", options: "Options"
) -> dict[str, Any]:
    return {
        "items": scored.items.height,
        "left_out": labelled.left_out,
        "by": options.by,
        "target_precision": options.target,
        "resamples": options.resamples,
        "thresholds_id": settings.verification.thresholds_id,
        "embedding": settings.embedding.model,
        "models": scored.models,
    }


def judge(
    data: Data,
    repeats: Annotated[
        int, typer.Option(min=1, max=100, help="How often each request is sent, each time with another seed.")
    ] = 1,
    limit: Limit = None,
    resamples: Resampled = 1000,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Measure the judge that llm.judge names against ratings and choices of people.

    Files of ratings have the columns id, dataset, language, passage, question, answer, group_id and ratings
    such as relevance or answer_consistency. Files of choices have prompt, response_a, response_b and
    preferred (a, b or tie); each pair is judged in both orders. A request is never paid for twice.
    """
    from qa_pipeline.cli.console import print_document, watching
    from qa_pipeline.cli.evaluation_tables import show_judge
    from qa_pipeline.evaluation.datasets import draw
    from qa_pipeline.evaluation.judge import compare_responses, score_answers
    from qa_pipeline.evaluation.judge_figures import paired_figures, rated_figures
    from qa_pipeline.evaluation.judged_datasets import read_judged
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.resources import Resources

    with errors_as_exit_codes():
        resources = Resources(_settings(out, max_calls, max_cost))
        settings = resources.settings
        model = _model(resources)
        rated, paired, left_out = read_judged(data, settings.pairs_file)
        answers, responses = draw(rated, limit), draw(paired, limit)
        how = (model, settings.judging, settings.llm, repeats)
        with watching(quiet=False) as watch:
            scored = score_answers(answers, *how, watch("judge", "answers"))
            chosen = compare_responses(responses, *how, watch("judge", "pairs"))
        of_rated = rated_figures(answers, scored, resamples=resamples)
        of_paired = paired_figures(responses, chosen, resamples=resamples)
        if as_json:
            about = {"judge": model.name, "left_out": left_out, "repeats": repeats, "resamples": resamples}
            print_document({**about, **rounded({"rated": of_rated, "paired": of_paired})})
        else:
            show_judge(of_rated, of_paired, left_out)


def _model(resources: "Resources") -> "LanguageModel":
    from qa_pipeline.errors import SettingsError

    model = resources.reviewer("judge")
    if model is None:
        raise SettingsError(
            "no model judges under these settings; set llm.judge.provider "
            "(QA_PIPELINE_LLM__JUDGE__PROVIDER) to gemini or openai, and its model and key"
        )
    return model


def metrics(
    data: Data,
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric; repeatable.")] = None,
    limit: Limit = None,
    resamples: Resampled = 1000,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask the models that llm.verifier and llm.judge name.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="JSON file for what reports say of each metric.", dir_okay=False)
    ] = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Measure how far the metrics of eval run agree with people, against the length of the answer.

    Files hold labelled items, as for eval grounding, or ratings, as for eval judge. A metric is better than
    length where its lead is above 0 with its whole interval.
    """
    from qa_pipeline.cli.console import print_document, watching
    from qa_pipeline.cli.evaluation_tables import show_agreement
    from qa_pipeline.evaluation.datasets import draw
    from qa_pipeline.evaluation.judged_datasets import read_opinions
    from qa_pipeline.evaluation.meta_evaluation import (
        agreement_with_labels,
        agreement_with_ratings,
        metric_values,
        write_packaged,
    )
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.scoring import evaluation_settings
    from qa_pipeline.evaluation.signals.base import Means
    from qa_pipeline.evaluation.statistics import rounded
    from qa_pipeline.resources import Resources

    with errors_as_exit_codes():
        chosen = chosen_metrics(metric or [])
        resources = Resources(evaluation_settings(_settings(out, max_calls, max_cost)))
        models = (resources.reviewer("verifier"), _model(resources)) if ask else (None, None)
        means = Means(resources, *models)
        rated, labelled, left_out = read_opinions(data, resources.settings.pairs_file)
        with watching(quiet=False) as watch:
            of_labels, of_ratings = (
                metric_values(draw(items, limit), chosen, means, watch("metrics", what))
                for items, what in ((labelled, "labelled"), (rated, "rated"))
            )
        found = rounded(
            {
                "labels": agreement_with_labels(of_labels, chosen, resamples),
                "ratings": agreement_with_ratings(of_ratings, chosen, resamples),
            }
        )
        about = {
            "items": of_labels.height,
            "resamples": resamples,
            "embedding": resources.settings.embedding.model,
            "models": [one.name for one in models if one is not None],
        }
        if to is not None:
            write_packaged(to, found["labels"], about)
        if as_json:
            print_document({**about, **found, "left_out": left_out})
        else:
            show_agreement(found, left_out)


evaluation = typer.Typer(
    name="eval",
    no_args_is_help=True,
    help="Evaluate answered questions (run, compare, gate, abilities), and measure source verification "
    "(grounding), the judge, the metrics, generation and people's ratings.",
)
evaluation.command()(run)
evaluation.command()(compare)
evaluation.command()(gate)
evaluation.add_typer(abilities)
evaluation.command("sample-size")(sample_size)
evaluation.command()(choose)
evaluation.command()(record)
evaluation.command()(metrics)
evaluation.command()(grounding)
evaluation.command()(judge)
evaluation.command()(generation)
evaluation.command()(annotators)
evaluation.command()(sheet)
