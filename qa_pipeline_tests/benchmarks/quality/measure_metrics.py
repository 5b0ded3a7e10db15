"""How far the metrics of `eval run` order answers as people's labels and ratings do.

    python -m qa_pipeline_tests.benchmarks.quality.measure_metrics DATA … [--limit 300] [--metric NAME]
        [--ask]

DATA are files or folders of labelled items, as for measure_detectors, or of ratings, as for measure_judge.
The rivals are trivial: the length of the answer, shorter or longer, whichever does better on these very
items, and the words it shares with its contexts. With --ask the models that llm.verifier and
llm.judge name are asked. Prints one JSON line.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.datasets.answered_questions import CONTEXT, RAG_ROWS
from qa_pipeline.evaluation.datasets.grounding_items import draw
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.reports.summaries import rounded
from qa_pipeline.evaluation.running import BLOCK, evaluate, evaluation_settings
from qa_pipeline.evaluation.signals.base import Means
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.statistics import Estimate, Floats, Resamples, estimate
from qa_pipeline_tests.benchmarks.quality.detection import Task, measure, spearman
from qa_pipeline_tests.benchmarks.quality.rated_answers import RATINGS, read_rated
from qa_pipeline_tests.benchmarks.quality.scorers import word_overlap
from qa_pipeline_tests.benchmarks.support.command_line import (
    add_data_options,
    errors_as_messages,
    parser_of,
    print_json,
)

Document = dict[str, Any]
LENGTH, OVERLAP = "length", "word_overlap"
_FEWEST = 30
"""Items with a value, and without, below which a set says nothing of a metric."""


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    add_data_options(parser, "labelled items or rated answers")
    parser.add_argument("--metric", action="append", default=[], help="only this metric; repeatable")
    parser.add_argument("--ask", action="store_true", help="ask the models of llm.verifier and llm.judge")
    options = parser.parse_args()
    with errors_as_messages():
        metrics = chosen_metrics(options.metric)
        resources = Resources(evaluation_settings(load_settings(out=options.out)))
        models = (
            (resources.reviewer("verifier"), resources.reviewer("judge")) if options.ask else (None, None)
        )
        if options.ask and models[1] is None:
            raise SettingsError(
                "no model judges; set QA_PIPELINE_LLM__JUDGE__PROVIDER, and its model and key"
            )
        means = Means(resources, *models)
        rated, items, left_out = read_rated(options.data, resources.settings.pairs_file)
        of_items, of_rated = (
            metric_values(draw(frame, options.limit), metrics, means) for frame in (items, rated)
        )
        labels = rounded(agreement_with_labels(of_items, metrics, options.resamples))
        ratings = rounded(agreement_with_ratings(of_rated, metrics, options.resamples))
        about = {
            "items": of_items.height,
            "resamples": options.resamples,
            "embedding": resources.settings.embedding.model,
            "models": [model.name for model in models if model is not None],
        }
        print_json({**about, "labels": labels, "ratings": ratings, "left_out": left_out.to_dicts()})


def labelled_rows(items: pl.DataFrame) -> pl.DataFrame:
    """Turn labelled items (`ITEMS`) or rated answers (`Rated`) into rows of an evaluation (`RAG_ROWS`).

    A statement without a question is its own.
    """
    texts = pl.col("context") if "context" in items.columns else pl.concat_list("passage")
    fields = {"text": pl.element(), "rank": pl.int_range(1, pl.len() + 1)}
    context = pl.struct(
        fields.get(name, pl.lit(None, type_)).alias(name) for name, type_ in CONTEXT.to_schema().items()
    )
    rows = items.select(
        "file",
        pl.format("{}\x1f{}", "dataset", "id").alias("id"),
        "dataset",
        pl.format("{}\x1f{}", "dataset", "group_id").alias("group"),
        pl.coalesce("question", "answer").alias("query"),
        "answer",
        "language",
        texts.list.eval(context).alias("contexts"),
    )
    empty = [pl.lit(None, type_).alias(name) for name, type_ in RAG_ROWS.items() if name not in rows.columns]
    return rows.with_columns(empty).select(RAG_ROWS.names()).cast(RAG_ROWS)


def metric_values(items: pl.DataFrame, metrics: Sequence[Metric], means: Means) -> pl.DataFrame:
    """Return the items, the value of each metric turned so that higher is better, and the trivial rivals.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    rows = labelled_rows(items)
    blocks = [pl.DataFrame(schema=dict.fromkeys((metric.name for metric in metrics), pl.Float64()))]
    blocks += [evaluate(block, metrics, means)[1] for block in rows.iter_slices(BLOCK)]
    turned = [pl.col(metric.name) * (1 if metric.direction == "higher" else -1) for metric in metrics]
    contexts = rows["contexts"].list.eval(pl.element().struct.field("text")).to_list()
    rivals = {
        LENGTH: -items["answer"].str.len_chars().cast(pl.Float64),
        OVERLAP: pl.Series(word_overlap(items["answer"].to_list(), contexts)).fill_nan(None),
    }
    return pl.concat([items, pl.concat(blocks).select(turned)], how="horizontal").with_columns(**rivals)


def agreement_with_labels(values: pl.DataFrame, metrics: Sequence[Metric], resamples: int) -> Document:
    """Return AUROC of each metric by language, the mean over its sets, each counting alike.

    Args:
        values: of `metric_values` over `ITEMS`, whose `label` is 1 where people call the answer supported.
        metrics: those measured.
        resamples: of the intervals, groups of a set drawn together.

    Returns:
        By metric and language: `auroc`, that of `length` and `word_overlap` on the items the metric has a
        value for, `ahead_of_length` (each an `Estimate`), the share of items `known`, the `sets` it is the
        mean of, and `beats_length`. A set in which a metric has a value for fewer than 30 supported or 30
        unsupported items is no part of its mean; a language without any set is absent.
    """
    agreement: Document = {metric.name: {} for metric in metrics}
    for (language,), of_language in sorted(values.partition_by("language", as_dict=True).items()):
        for metric in metrics:
            by_set = {
                str(name): set_figures
                for (name,), of_set in sorted(of_language.partition_by("dataset", as_dict=True).items())
                if (set_figures := _set_figures(of_set, metric.name, str(name), resamples)) is not None
            }
            if by_set:
                figures = _averaged(list(by_set.values()))
                known = float(of_language[metric.name].is_not_null().mean())  # type: ignore[arg-type]
                agreement[metric.name][str(language)] = {**figures, "known": known, "sets": list(by_set)}
    return agreement


def _set_figures(items: pl.DataFrame, metric: str, key: str, resamples: int) -> dict[str, Floats] | None:
    """Return AUROC of a metric and its rivals on each resample, over the items the metric has a value for."""
    usable = items.filter(pl.col(metric).is_not_null())
    supported = (usable["label"] == 1).to_numpy()
    if min(supported.sum(), (~supported).sum()) < _FEWEST:
        return None
    draws = Resamples(usable["group_id"].to_list(), key, resamples)
    figures = {}
    for name in (metric, LENGTH, OVERLAP):
        task = Task(usable[name].cast(pl.Float64).to_numpy(), supported, None, None, probability=False)
        figures[name] = draws.over(partial(measure, task, target=1.0))["auroc"]
    length = figures[LENGTH] if figures[LENGTH][0] >= 1 / 2 else 1 - figures[LENGTH]
    return {"auroc": figures[metric], LENGTH: length, OVERLAP: figures[OVERLAP]}


def _averaged(by_set: Sequence[Mapping[str, Floats]]) -> Document:
    mean = {name: np.mean([draws[name] for draws in by_set], axis=0) for name in by_set[0]}
    ahead = estimate(mean["auroc"] - mean[LENGTH])
    figures: dict[str, Estimate] = {name: estimate(values) for name, values in mean.items()}
    beats = ahead["low"] is not None and ahead["low"] > 0
    return {**figures, "ahead_of_length": ahead, "beats_length": beats}


def agreement_with_ratings(values: pl.DataFrame, metrics: Sequence[Metric], resamples: int) -> list[Document]:
    """Return Spearman's rho of each metric, and of the answer's length, with each rating of people.

    Args:
        values: of `metric_values` over rated answers (`Rated`).
        metrics: those measured.
        resamples: of the intervals.

    Returns:
        A row for each set, metric and rating of which both are known for 30 items and neither is constant.
    """
    names = [*(metric.name for metric in metrics), LENGTH]
    rows = []
    for (name,), of_set in sorted(values.partition_by("dataset", as_dict=True).items()):
        for rating in RATINGS:
            for metric in names:
                rated = of_set.filter(pl.col(metric).is_not_null() & pl.col(rating).is_not_null())
                sides = [rated[column].cast(pl.Float64).to_numpy() for column in (metric, rating)]
                if rated.height < _FEWEST or any(np.ptp(side) == 0 for side in sides):
                    continue
                draws = Resamples(rated["group_id"].to_list(), f"{name}", resamples)
                rho = draws.over(partial(_rho, *sides))["rho"]
                row = {"dataset": name, "metric": metric, "rating": rating, "items": rated.height}
                rows.append({**row, **estimate(rho)})
    return rows


def _rho(metric: Floats, rating: Floats, weights: Floats) -> dict[str, Floats]:
    return {"rho": spearman(metric, rating, weights)}


if __name__ == "__main__":
    main()
