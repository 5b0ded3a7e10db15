"""How well each scorer of claims tells supported answers from unsupported ones, beside trivial baselines.

    python -m qa_pipeline_tests.benchmarks.quality.measure_detectors DATA … [--limit 300] [--scorer cascade]
        [--by dataset|task|language] [--without SET] [--target 0.98] [--plots FOLDER]

DATA are files or folders of answers that people labelled: id, dataset, language, context (list of passages),
answer, label (1 = supported) and group_id; task, question and spans where there are any. They go through the
code that scores batches. Scorers are similarity, entailment, spans, cascade, and llm, which asks the model of
llm.verifier about every claim and therefore runs only where it is named. Prints one JSON line: figures of
each set and of their mean, with 95 % intervals by group. Best thresholds and best baselines are chosen on the
very items they are measured on, which favours them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import InputError, SettingsError
from qa_pipeline.evaluation.datasets.grounding_items import draw
from qa_pipeline.evaluation.reports.summaries import rounded
from qa_pipeline.evaluation.running import evaluation_settings
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.statistics import Estimate, Floats, Resamples, estimate
from qa_pipeline_tests.benchmarks.quality import scorers as baselines
from qa_pipeline_tests.benchmarks.quality.detection import METRICS, Task, measure, overlaps, span_f1
from qa_pipeline_tests.benchmarks.quality.detection_plots import draw_plots
from qa_pipeline_tests.benchmarks.quality.scorers import HALF, ScoreColumn, chosen_scorers
from qa_pipeline_tests.benchmarks.quality.scoring import score_items
from qa_pipeline_tests.benchmarks.support.command_line import (
    add_data_options,
    errors_as_messages,
    parser_of,
    print_json,
)
from qa_pipeline_tests.evaluation.labelled_files import read_labelled

FIGURES = (*METRICS, "span_f1")
COMPARED = {"auroc": "auroc", "balanced_accuracy": "balanced_accuracy_best"}
"""Figure of a scorer, and the figure of a baseline it is held against: a baseline without a threshold of its
own gets its best one, chosen on these very items, which favours it."""
RIVALS = (*baselines.NAMES, "similarity")
"""What a scorer is held against: the baselines, and the cosine to the best sentence where it is measured."""

Document = dict[str, Any]
Measured = dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Options:
    """How figures are computed.

    Args:
        by: column that parts the items into sets.
        target: precision that `coverage_at_target` asks for.
        resamples: of the intervals.
        without: sets that are reported and left out of the mean.
    """

    by: str = "dataset"
    target: float = 0.98
    resamples: int = 1000
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Set:
    """What was measured on a set, resamples and all; `ahead` by scorer and rival."""

    key: str
    tasks: Mapping[str, Task]
    measured: Mapping[str, Measured]
    ahead: Mapping[tuple[str, str], Measured]


def main() -> None:
    """Score the items and print all figures."""
    parser = parser_of(__doc__)
    add_data_options(parser, "labelled answers")
    parser.add_argument("--scorer", action="append", help="only this scorer; repeatable")
    parser.add_argument("--by", choices=("dataset", "task", "language"), default="dataset")
    parser.add_argument(
        "--without", action="append", default=[], help="a set left out of the mean; repeatable"
    )
    parser.add_argument("--target", type=float, default=0.98, help="precision at which coverage is reported")
    parser.add_argument("--plots", type=Path, help="folder for pictures of risk, coverage and reliability")
    arguments = parser.parse_args()
    with errors_as_messages():
        scorers = chosen_scorers(arguments.scorer)
        settings = evaluation_settings(load_settings(out=arguments.out))
        resources = Resources(settings)
        for name in arguments.scorer or ():
            if name in ("entailment", "spans") and getattr(resources, name) is None:
                raise SettingsError(f"scorer {name} needs a model; set verification.{name}.model")
        labelled = read_labelled(arguments.data, settings.pairs_file)
        options = Options(arguments.by, arguments.target, arguments.resamples, tuple(arguments.without))
        scored = score_items(draw(labelled.items, arguments.limit), resources, scorers)
        figures = measure_detectors(scored.items, scorers, settings.verification, options)
        if arguments.plots is not None:
            names = [*(scorer.name for scorer in scorers), *baselines.NAMES]
            probabilities = [scorer.name for scorer in scorers if scorer.probability]
            draw_plots(scored.items, arguments.by, names, probabilities, arguments.plots, arguments.target)
        about = {
            "items": scored.items.height,
            "left_out": labelled.left_out.to_dicts(),
            "thresholds_id": settings.verification.thresholds_id,
            "embedding": settings.embedding.model,
            "models": scored.models,
        }
        print_json({**about, **rounded(figures)})


def measure_detectors(
    items: pl.DataFrame,
    scorers: Sequence[ScoreColumn],
    settings: VerificationSettings,
    options: Options,
) -> Document:
    """Measure all sets and their mean, in which each set counts alike, however large.

    Args:
        items: `Scored.items`.
        scorers: those that scored them.
        settings: whose thresholds are the shipped ones.
        options: how.

    Returns:
        `sets` with counts and scorers, and `mean` over the sets it names. A scorer has its name, threshold,
        items without a score (`unknown`), an `Estimate` or None for each of `FIGURES`, and how far it is
        ahead of each rival on the same resamples of the items both know; in the mean also over how many sets
        each figure goes.

    Raises:
        InputError: a set to be left out of the mean does not exist.
    """
    keyed = items.with_columns(pl.col(options.by).fill_null("(none)"))
    keys = keyed[options.by].unique().sort().to_list()
    for name in options.without:
        if name not in keys:
            raise InputError(f"--without {name}: there is no such set; there are {', '.join(keys)}")
    sets, averaged = [], []
    for key in keys:
        rows = keyed.filter(pl.col(options.by) == key)
        measured = _measure_set(key, rows, scorers, settings, options)
        sets.append(_set_document(rows, measured))
        averaged += [measured] if key not in options.without else []
    mean = {"over": [subset.key for subset in averaged], "scorers": _mean(averaged) if averaged else []}
    return {"sets": sets, "mean": mean}


def _measure_set(
    key: str,
    items: pl.DataFrame,
    scorers: Sequence[ScoreColumn],
    settings: VerificationSettings,
    options: Options,
) -> _Set:
    tasks = _tasks(items, scorers, settings)
    groups = items.select(pl.format("{}\x1f{}", "dataset", "group_id").alias("group"))["group"]
    draws = Resamples(groups.to_list(), key, options.resamples)
    measured = {}
    for name, task in tasks.items():
        measured[name] = draws.over(partial(measure, task, target=options.target))
        measured[name]["span_f1"] = np.full(options.resamples + 1, np.nan)
        if name not in baselines.NAMES and task.known.any():
            counts = overlaps(items, name)
            measured[name] |= draws.over(partial(_spans, counts))
    ahead = {
        (name, rival): _ahead(tasks, measured, (name, rival), draws, options.target)
        for name in tasks
        for rival in RIVALS
        if name not in RIVALS and rival in tasks
    }
    return _Set(key, tasks, measured, ahead)


def _spans(counts: tuple[Floats, Floats, Floats], weights: Floats) -> Measured:
    return {"span_f1": span_f1(counts, weights)}


def _tasks(
    items: pl.DataFrame, scorers: Sequence[ScoreColumn], settings: VerificationSettings
) -> dict[str, Task]:
    rules: dict[str, tuple[float | None, float | None, bool]] = {}
    for scorer in scorers:
        accept = scorer.threshold(settings)
        rules[scorer.name] = (accept, HALF if scorer.decides else accept, scorer.probability)
    for name in baselines.NAMES:
        shipped = baselines.threshold(name, settings)
        rules[name] = (shipped, shipped, False)
    supported = (items["label"] == 1).to_numpy()
    return {
        name: Task(items[f"score_{name}"].cast(pl.Float64).to_numpy(), supported, *rule)
        for name, rule in rules.items()
    }


def _ahead(
    tasks: Mapping[str, Task],
    measured: Mapping[str, Measured],
    names: tuple[str, str],
    draws: Resamples,
    target: float,
) -> Measured:
    """Subtract the rival from the scorer, resample by resample, over the items that both have a score for."""
    both = tasks[names[0]].known & tasks[names[1]].known
    sides = []
    for name in names:
        task, figures = tasks[name], measured[name]
        if (task.known != both).any():
            shared = replace(task, scores=np.where(both, task.scores, np.nan))
            figures = draws.over(partial(measure, shared, target=target))
        sides.append(figures)
    return {figure: sides[0][figure] - sides[1][rival_figure] for figure, rival_figure in COMPARED.items()}


def _set_document(items: pl.DataFrame, subset: _Set) -> Document:
    claims, seconds = int(items["claims"].sum()), float(items["seconds"].sum())
    return {
        "key": subset.key,
        "items": items.height,
        "groups": items.select("dataset", "group_id").n_unique(),
        "base_rate": float((items["label"] == 1).mean()),  # type: ignore[arg-type]
        "claims": claims,
        "items_without_claims": int((items["claims"] == 0).sum()),
        "claims_per_second": claims / seconds if seconds else None,
        "scorers": [_scorer(name, [subset], subset.measured, subset.ahead) for name in subset.tasks],
    }


def _mean(sets: Sequence[_Set]) -> list[Document]:
    """Average the sets, each counting alike; one in which a figure has no meaning is left out of its mean."""
    measured = {
        name: {figure: _average([subset.measured[name][figure] for subset in sets]) for figure in FIGURES}
        for name in sets[0].tasks
    }
    ahead = {
        names: {figure: _average([subset.ahead[names][figure] for subset in sets]) for figure in COMPARED}
        for names in sets[0].ahead
    }
    counted = {
        name: {
            figure: sum(not np.isnan(subset.measured[name][figure][0]) for subset in sets)
            for figure in FIGURES
        }
        for name in sets[0].tasks
    }
    return [_scorer(name, sets, measured, ahead) | {"sets": counted[name]} for name in sets[0].tasks]


def _average(values: Sequence[Floats]) -> Floats:
    usable = [figure for figure in values if not np.isnan(figure[0])]
    return np.mean(usable, axis=0) if usable else values[0]


def _scorer(
    name: str,
    sets: Sequence[_Set],
    measured: Mapping[str, Measured],
    ahead: Mapping[tuple[str, str], Measured],
) -> Document:
    figures: dict[str, Estimate] = {figure: estimate(measured[name][figure]) for figure in FIGURES}
    differences = []
    rivals = [rival for of, rival in ahead if of == name]
    for figure, rival_figure in COMPARED.items():
        values = {rival: measured[rival][rival_figure][0] for rival in rivals}
        comparable = [rival for rival in rivals if not np.isnan(values[rival])]
        best = max(comparable, key=values.__getitem__, default=None)
        differences += [
            {
                "figure": figure,
                "baseline": rival,
                "best": rival == best,
                **estimate(ahead[name, rival][figure]),
            }
            for rival in rivals
        ]
    return {
        "name": name,
        "baseline": name in baselines.NAMES,
        "threshold": sets[0].tasks[name].accept,
        "unknown": sum(int((~subset.tasks[name].known).sum()) for subset in sets),
        **{figure: None if value["value"] is None else value for figure, value in figures.items()},
        "ahead_of_baselines": differences,
    }


if __name__ == "__main__":
    main()
