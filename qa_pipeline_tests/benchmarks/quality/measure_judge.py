"""How far the judge of the settings agrees with people who rated answers.

    python -m qa_pipeline_tests.benchmarks.quality.measure_judge RATINGS … [--repeats 3] [--limit N]

Asks the model that llm.judge names; budgets are those of the settings, and a reply in the store of --out is
never paid for twice. Rows have id, dataset, language, passage, question, answer, group_id and ratings such as
relevance or answer_consistency. Prints one JSON line: for each set the rank correlations of each score with
each rating, what the judge gives for length beyond what people do, and how far repeated replies differ.
"""

from typing import Any, cast

import numpy as np
import polars as pl

from qa_pipeline.errors import ModelError, SettingsError
from qa_pipeline.evaluation.datasets.grounding_items import draw
from qa_pipeline.evaluation.reports.summaries import rounded
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import Passage
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import JudgingSettings
from qa_pipeline.statistics import Floats, Resamples, estimate
from qa_pipeline.verification.judging import ProvedPairRow, judge_request
from qa_pipeline_tests.benchmarks.quality.detection import kendall, partial, spearman
from qa_pipeline_tests.benchmarks.quality.rated_answers import RATINGS, read_rated
from qa_pipeline_tests.benchmarks.support.command_line import (
    add_data_options,
    errors_as_messages,
    parser_of,
    print_json,
)

Document = dict[str, Any]
Row = dict[str, Any]
BATCH = "evaluation"
"""Batch in whose name the calls are recorded."""
SCORES = ("relevance", "correctness", "completeness")
ALL_SCORES = (*SCORES, "overall")
LENGTHS = ("answer", "question")
"""Texts whose length a judge may reward."""
SCORED = pl.Schema(
    {
        "id": pl.String(),
        "repeat": pl.Int64(),
        **dict.fromkeys(ALL_SCORES, pl.Float64()),
        "reason": pl.String(),
    }
)
"""One row for each answer and repeat; `overall` is the mean by the weights of the composite score. A reply
that failed has a reason and no scores."""


def main() -> None:
    """Ask the judge and print its agreement with people."""
    parser = parser_of(__doc__)
    add_data_options(parser, "rated answers")
    parser.add_argument("--repeats", type=int, default=1, help="requests of each answer, with other seeds")
    options = parser.parse_args()
    with errors_as_messages():
        resources = Resources(load_settings(out=options.out))
        settings = resources.settings
        judge = resources.reviewer("judge")
        if judge is None:
            raise SettingsError(
                "no model judges; set QA_PIPELINE_LLM__JUDGE__PROVIDER, and its model and key"
            )
        rated, _, left_out = read_rated(options.data, settings.pairs_file)
        answers = draw(rated, options.limit)
        scored = score_answers(answers, judge, settings.judging, settings.llm, options.repeats)
        figures = rated_figures(answers, scored, resamples=options.resamples)
        print_json({"judge": judge.name, "left_out": left_out.to_dicts(), "sets": rounded(figures)})


def score_answers(
    rated: pl.DataFrame, model: LanguageModel, judging: JudgingSettings, llm: LLMSettings, repeats: int
) -> pl.DataFrame:
    """Have each answer scored `repeats` times, each time with another seed (`SCORED`).

    Equal requests are sent once.

    Raises:
        PermanentModelError: the judge can answer no further request.
    """
    requests = [
        (
            {"id": row["id"], "repeat": repeat},
            _score_request(row, judging, llm.model_copy(update={"seed": llm.seed + repeat})),
        )
        for repeat in range(repeats)
        for row in rated.iter_rows(named=True)
    ]
    distinct = {request.key: request for _, request in requests}
    replies = complete_all(model, list(distinct.values()), workers=llm.workers)
    by_key = dict(zip(distinct, replies, strict=True))
    rows = [{**place, **_scores(by_key[request.key], judging)} for place, request in requests]
    return pl.DataFrame(rows, schema=SCORED)


def rated_figures(rated: pl.DataFrame, scored: pl.DataFrame, *, resamples: int) -> list[Document]:
    """Return the figures of each data set; agreement is of the first repeat, which is what a run would get.

    Args:
        rated: items (`Rated`).
        scored: the judge's scores (`SCORED`).
        resamples: of the intervals.

    Returns:
        Of each set what was `asked`; `agreements`, the rank correlations of each score with each rating; and
        `repeats`. `verbosity` has Spearman's rho of a length with the judge's overall score and with people's
        mean rating; `beyond` is that of the score while the rating is held still: what the judge gives for
        length and people do not.
    """
    figures = []
    for items in rated.sort("dataset", maintain_order=True).partition_by("dataset", maintain_order=True):
        scores = scored.join(items.select("id"), on="id", how="semi")
        key, groups = items["dataset"][0], items["group_id"]
        failed = scores.filter(pl.col("reason").is_not_null()).group_by("reason").len().sort("reason")
        requested = {
            "key": key,
            "items": items.height,
            "groups": groups.n_unique(),
            "replies": scores.height,
            "failed": dict(failed.iter_rows()),
        }
        draws = Resamples(groups.to_list(), key, resamples)
        figures.append({"asked": requested, **_rated_set(items, scores, draws)})
    return figures


def _score_request(row: Row, judging: JudgingSettings, llm: LLMSettings) -> Request[Any]:
    passage = Passage(
        chunk_id=row["id"],
        title="",
        section_path=(),
        text=row["passage"],
        language=row["language"],
    )
    pair = cast("ProvedPairRow", {**row, "evidence_chunk_ids": [row["id"]], "batch": BATCH})
    return judge_request(pair, {row["id"]: passage}, judging, llm)


def _scores(reply: Reply[Any] | ModelError, judging: JudgingSettings) -> Row:
    if isinstance(reply, ModelError):
        return {"reason": reply.reason}
    scores = {name: getattr(reply.value, name) for name in SCORES}
    weights = {name: getattr(judging, f"weight_{name}") for name in SCORES}
    total = sum(weights.values())
    overall = sum(scores[name] * weights[name] for name in SCORES) / total if total else None
    return {**scores, "overall": overall}


def _rated_set(items: pl.DataFrame, scored: pl.DataFrame, draws: Resamples) -> Document:
    first = scored.filter(pl.col("repeat") == 0).select("id", pl.col(ALL_SCORES).name.prefix("judge_"))
    joined = items.join(first, on="id", how="left", maintain_order="left").with_columns(
        people=pl.mean_horizontal(*RATINGS),
        **{f"{text}_length": pl.col(text).str.len_chars() for text in LENGTHS},
    )
    return {
        "agreements": [
            {"score": score, "rating": rating, **_agreement(joined, f"judge_{score}", rating, draws)}
            for score in ALL_SCORES
            for rating in RATINGS
            if joined[rating].null_count() < joined.height
        ],
        "verbosity": [{"length": length, **_verbosity(joined, length, draws)} for length in LENGTHS],
        "repeats": _repeats(scored),
    }


def _values(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].cast(pl.Float64).to_numpy()


def _agreement(joined: pl.DataFrame, score: str, rating: str, draws: Resamples) -> Document:
    judge, people = _values(joined, score), _values(joined, rating)
    is_known = ~np.isnan(judge) & ~np.isnan(people)
    sides = judge[is_known], people[is_known]
    correlations = draws.over(
        lambda weights: {
            "spearman": spearman(*sides, weights[:, is_known]),
            "kendall": kendall(*sides, weights[:, is_known]),
        }
    )
    return {"items": int(is_known.sum()), **{name: estimate(rho) for name, rho in correlations.items()}}


def _verbosity(joined: pl.DataFrame, length: str, draws: Resamples) -> Document:
    judge, people, size = (_values(joined, name) for name in ("judge_overall", "people", f"{length}_length"))
    is_known = ~np.isnan(judge) & ~np.isnan(people)

    def measured(weights: Floats) -> dict[str, Floats]:
        used = weights[:, is_known]
        of_judge = spearman(judge[is_known], size[is_known], used)
        of_people = spearman(people[is_known], size[is_known], used)
        both = spearman(judge[is_known], people[is_known], used)
        return {"judge": of_judge, "people": of_people, "beyond": partial(of_judge, both, of_people)}

    return {name: estimate(rho) for name, rho in draws.over(measured).items()}


def _repeats(scored: pl.DataFrame) -> Document:
    """Measure how far replies to one request differ, over items with at least two that could be read.

    Share of items with equal replies, and their mean deviation.
    """
    overall = pl.col("overall")
    spread = (
        scored.filter(overall.is_not_null())
        .group_by("id")
        .agg(replies=pl.len(), different=overall.n_unique(), deviation=overall.std())
    )
    repeated = spread.filter(pl.col("replies") > 1)
    return {
        "repeats": scored["repeat"].n_unique(),
        "items": repeated.height,
        "identical": repeated.select((pl.col("different") == 1).mean()).item(),
        "deviation": repeated["deviation"].mean(),
    }


if __name__ == "__main__":
    main()
