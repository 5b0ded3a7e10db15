"""How far a judge can be trusted: agreement with people, repeats, length and place.

Figures are over what people said and what the judge said, with intervals by group.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.evaluation.detection import Flags, Floats, kendall, partial, ratio, spearman
from qa_pipeline.evaluation.judge import SCORES
from qa_pipeline.evaluation.judged_datasets import RATINGS
from qa_pipeline.evaluation.statistics import Resamples, estimate

Document = dict[str, Any]
ALL_SCORES = (*SCORES, "overall")
LENGTHS = ("answer", "question")
"""Texts whose length a judge may reward."""


def rated_figures(rated: pl.DataFrame, scored: pl.DataFrame, *, resamples: int) -> list[Document]:
    """Figures of each data set; agreement is of the first repeat, which is what a run would get.

    Args:
        rated: items (`Rated`).
        scored: what the judge said (`SCORED`).
        resamples: of the intervals.

    Returns:
        Of each set what was `asked`; `agreements`, the rank correlations of each score with each rating; and
        `repeats`. `verbosity` has Spearman's rho of a length with the judge's overall score and with people's
        mean rating; `beyond` is that of the score while the rating is held still: what the judge gives for
        length and people do not.
    """
    return _by_dataset(_rated_set, rated, scored, resamples)


def paired_figures(paired: pl.DataFrame, chosen: pl.DataFrame, *, resamples: int) -> list[Document]:
    """Figures of each data set, over the first repeat.

    Args:
        paired: items (`Paired`).
        chosen: what the judge said (`CHOSEN`).
        resamples: of the intervals.

    Returns:
        Of each set what was `asked`, `repeats` in the same order, and as `Estimate`:
        agreement: share of replies that choose as people do, ties included;
        agreement_decided: the same where neither people nor judge call it a tie;
        spearman, kendall: of the judge's mean choice over both orders with people's;
        inconsistent: share of pairs whose choice changes with the order;
        first_share: share of choices for the response that stood first, ties left out; 0.5 is unbiased;
        longer_judge, longer_people, longer_beyond: share of the judge's choices, ties left out, for the
        longer response, that of people's, and their difference.
    """
    return _by_dataset(_paired_set, paired, chosen, resamples)


def _by_dataset(
    measured: Callable[[pl.DataFrame, pl.DataFrame, Resamples], Document],
    items: pl.DataFrame,
    said: pl.DataFrame,
    resamples: int,
) -> list[Document]:
    found = []
    for of_set in items.sort("dataset", maintain_order=True).partition_by("dataset", maintain_order=True):
        of_judge = said.join(of_set.select("id"), on="id", how="semi")
        key, groups = of_set["dataset"][0], of_set["group_id"]
        failed = of_judge.filter(pl.col("reason").is_not_null()).group_by("reason").len().sort("reason")
        asked = {
            "key": key,
            "items": of_set.height,
            "groups": groups.n_unique(),
            "replies": of_judge.height,
            "failed": dict(failed.iter_rows()),
        }
        draws = Resamples(groups.to_list(), key, resamples)
        found.append({"asked": asked, **measured(of_set, of_judge, draws)})
    return found


def _rated_set(items: pl.DataFrame, scored: pl.DataFrame, draws: Resamples) -> Document:
    first = scored.filter(pl.col("repeat") == 0).select("id", pl.col(ALL_SCORES).name.prefix("judge_"))
    joined = items.join(first, on="id", how="left", maintain_order="left").with_columns(
        people=pl.mean_horizontal(*RATINGS),
        **{f"{one}_length": pl.col(one).str.len_chars() for one in LENGTHS},
    )
    return {
        "agreements": [
            {"score": score, "rating": rating, **_agreement(joined, f"judge_{score}", rating, draws)}
            for score in ALL_SCORES
            for rating in RATINGS
            if joined[rating].null_count() < joined.height
        ],
        "verbosity": [{"length": length, **_verbosity(joined, length, draws)} for length in LENGTHS],
        "repeats": _repeats(scored, ["id"], "overall"),
    }


def _values(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].cast(pl.Float64).to_numpy()


def _estimates(draws: Resamples, measured: Callable[[Floats], dict[str, Floats]]) -> Document:
    return {name: estimate(values) for name, values in draws.over(measured).items()}


def _agreement(joined: pl.DataFrame, score: str, rating: str, draws: Resamples) -> Document:
    judge, people = _values(joined, score), _values(joined, rating)
    known = ~np.isnan(judge) & ~np.isnan(people)
    sides = judge[known], people[known]
    found = _estimates(
        draws,
        lambda weights: {
            "spearman": spearman(*sides, weights[:, known]),
            "kendall": kendall(*sides, weights[:, known]),
        },
    )
    return {"items": int(known.sum()), **found}


def _verbosity(joined: pl.DataFrame, length: str, draws: Resamples) -> Document:
    judge, people, size = (_values(joined, name) for name in ("judge_overall", "people", f"{length}_length"))
    known = ~np.isnan(judge) & ~np.isnan(people)

    def measured(weights: Floats) -> dict[str, Floats]:
        used = weights[:, known]
        of_judge = spearman(judge[known], size[known], used)
        of_people = spearman(people[known], size[known], used)
        both = spearman(judge[known], people[known], used)
        return {"judge": of_judge, "people": of_people, "beyond": partial(of_judge, both, of_people)}

    return _estimates(draws, measured)


def _repeats(said: pl.DataFrame, same: Sequence[str], column: str) -> Document:
    """How far replies to one request differ, over items with at least two that could be read.

    Share of items with equal replies, and their mean deviation.
    """
    known = said.filter(pl.col(column).is_not_null())
    spread = known.group_by(*same).agg(
        replies=pl.len(), different=pl.col(column).n_unique(), deviation=pl.col(column).cast(pl.Float64).std()
    )
    repeated = spread.filter(pl.col("replies") > 1)
    return {
        "repeats": said["repeat"].n_unique(),
        "items": repeated.height,
        "identical": repeated.select((pl.col("different") == 1).mean()).item(),
        "deviation": repeated["deviation"].mean(),
    }


def _paired_set(items: pl.DataFrame, chosen: pl.DataFrame, draws: Resamples) -> Document:
    joined = items
    for swapped, name in ((False, "as_is"), (True, "swapped")):
        mine = chosen.filter(pl.col("repeat") == 0, pl.col("swapped") == swapped)
        renamed = mine.select("id", pl.col("choice").alias(name))
        joined = joined.join(renamed, on="id", how="left", maintain_order="left")
    lengths = (pl.col(f"response_{side}").str.len_chars().cast(pl.Int64) for side in ("a", "b"))
    told = joined.with_columns(
        people=pl.col("preferred").replace_strict({"a": 1, "b": -1, "tie": 0}, return_dtype=pl.Int64()),
        longer=operator.sub(*lengths).sign(),
    )
    values = {name: _values(told, name) for name in ("people", "longer", "as_is", "swapped")}
    figures = _estimates(draws, lambda weights: _paired_measured(values, weights))
    return {**figures, "repeats": _repeats(chosen, ["id", "swapped"], "choice")}


def _paired_measured(values: Mapping[str, Floats], weights: Floats) -> dict[str, Floats]:
    people, longer, orders = values["people"], values["longer"], (values["as_is"], values["swapped"])
    both = ~np.isnan(orders[0]) & ~np.isnan(orders[1])
    mean = (orders[0][both] + orders[1][both]) / 2
    used = weights[:, both]
    of_judge = _share([(order == longer, (order * longer) ** 2 == 1) for order in orders], weights)
    of_people = _share([(people == longer, (people * longer) ** 2 == 1)], weights)
    decided = [(order == people, (order * people) ** 2 == 1) for order in orders]
    first = [(order == stood, order**2 == 1) for order, stood in zip(orders, (1, -1), strict=True)]
    return {
        "agreement": _share([(order == people, ~np.isnan(order)) for order in orders], weights),
        "agreement_decided": _share(decided, weights),
        "spearman": spearman(mean, people[both], used),
        "kendall": kendall(mean, people[both], used),
        "inconsistent": _share([(orders[0] != orders[1], both)], weights),
        "first_share": _share(first, weights),
        "longer_judge": of_judge,
        "longer_people": of_people,
        "longer_beyond": of_judge - of_people,
    }


def _share(cases: Sequence[tuple[Flags, Flags]], weights: Floats) -> Floats:
    """Weight of the cases that hold, of those that count."""
    counted = np.sum([weights @ counts.astype(np.float64) for _, counts in cases], axis=0)
    held = np.sum([weights @ (holds & counts).astype(np.float64) for holds, counts in cases], axis=0)
    return ratio(held, counted)
