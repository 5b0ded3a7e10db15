"""How far a judge can be trusted: agreement with people, repeats, length and place.

What belongs here: figures over what people said and what the judge said, with intervals by group. What does
not: asking (`judging_runs.py`), rank correlations (`rank_agreement.py`) and printing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.evaluation.judge import SCORES
from qa_pipeline.evaluation.judged_datasets import RATINGS
from qa_pipeline.evaluation.metrics import Floats, kendall, partial, spearman
from qa_pipeline.evaluation.statistics import Estimate, Resamples, estimate

Flags = npt.NDArray[np.bool_]
ALL_SCORES = (*SCORES, "overall")
LENGTHS = ("answer", "question")
"""Texts whose length a judge may reward."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked about a set of items, and what failed, by reason."""

    key: str
    items: int
    groups: int
    replies: int
    failed: dict[str, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rank correlations of a judge's score with people's rating."""

    score: str
    rating: str
    items: int
    spearman: Estimate
    kendall: Estimate


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Spearman's rho of a length with the judge's overall score, and with people's mean rating.

    `beyond` is that of the score while the rating is held still: what the judge gives for length and people
    do not.
    """

    length: str
    judge: Estimate
    people: Estimate
    beyond: Estimate


@dataclass(frozen=True, slots=True)
class Repeats:
    """How far replies to one request differ: share of items with equal ones, and their mean deviation."""

    repeats: int
    items: int
    identical: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class RatedFigures:
    """Figures over answers that people rated."""

    asked: Asked
    agreements: tuple[Agreement, ...]
    verbosity: tuple[Verbosity, ...]
    repeats: Repeats


@dataclass(frozen=True, slots=True)
class PairedFigures:
    """Figures over pairs of which people prefer one.

    Args:
        asked: what was asked.
        agreement: share of replies that choose as people do, ties included.
        agreement_decided: the same where neither people nor judge call it a tie.
        spearman: of the judge's mean choice over both orders with people's.
        kendall: tau-b of the same.
        inconsistent: share of pairs whose choice changes with the order.
        first_share: share of choices for the response that stood first, ties left out; 0.5 is unbiased.
        longer_judge: share of the judge's choices, ties left out, for the longer response.
        longer_people: the same of people.
        longer_beyond: their difference.
        repeats: over repeats in the same order.
    """

    asked: Asked
    agreement: Estimate
    agreement_decided: Estimate
    spearman: Estimate
    kendall: Estimate
    inconsistent: Estimate
    first_share: Estimate
    longer_judge: Estimate
    longer_people: Estimate
    longer_beyond: Estimate
    repeats: Repeats


def rated_figures(
    rated: pl.DataFrame, scored: pl.DataFrame, *, resamples: int, seed: int
) -> list[RatedFigures]:
    """Figures of each data set; agreement is of the first repeat, which is what a run would get.

    Args:
        rated: items (`RATED.schema`).
        scored: what the judge said (`SCORED`).
        resamples: of the intervals.
        seed: of the resamples.
    """
    return [
        _rated_set(key, items, scored.join(items.select("id"), on="id", how="semi"), resamples, seed)
        for key, items in _by_dataset(rated)
    ]


def _by_dataset(items: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    keys = items["dataset"].unique().sort().to_list()
    return [(key, items.filter(pl.col("dataset") == key)) for key in keys]


def _rated_set(
    key: str, items: pl.DataFrame, scored: pl.DataFrame, resamples: int, seed: int
) -> RatedFigures:
    first = scored.filter(pl.col("repeat") == 0).select("id", pl.col(ALL_SCORES).name.prefix("judge_"))
    joined = items.join(first, on="id", how="left", maintain_order="left")
    draws = _draws(joined, key, resamples, seed)
    return RatedFigures(
        asked=_asked(key, items, scored, "overall"),
        agreements=tuple(
            _agreement(joined, score, rating, draws)
            for score in ALL_SCORES
            for rating in RATINGS
            if joined[rating].null_count() < joined.height
        ),
        verbosity=tuple(_verbosity(joined, length, draws) for length in LENGTHS),
        repeats=_repeats(scored, ["id"], "overall"),
    )


def _draws(items: pl.DataFrame, key: str, resamples: int, seed: int) -> Resamples:
    return Resamples(items["group_id"].to_list(), key, resamples, seed)


def _asked(key: str, items: pl.DataFrame, said: pl.DataFrame, column: str) -> Asked:
    failed = said.filter(pl.col(column).is_null() & pl.col("reason").is_not_null())
    counts = failed.group_by("reason").len().sort("reason")
    return Asked(key, items.height, items["group_id"].n_unique(), said.height, dict(counts.iter_rows()))


def _values(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].cast(pl.Float64).to_numpy()


def _agreement(joined: pl.DataFrame, score: str, rating: str, draws: Resamples) -> Agreement:
    judge, people = _values(joined, f"judge_{score}"), _values(joined, rating)
    known = ~np.isnan(judge) & ~np.isnan(people)

    def measured(weights: Floats) -> dict[str, Floats]:
        used = weights[:, known]
        return {
            "spearman": spearman(judge[known], people[known], used),
            "kendall": kendall(judge[known], people[known], used),
        }

    found = draws.over(measured)
    message = (estimate(found["spearman"]), estimate(found["kendall"]))
    return Agreement(score, rating, int(known.sum()), *message)


def _verbosity(joined: pl.DataFrame, length: str, draws: Resamples) -> Verbosity:
    with_mean = joined.with_columns(
        people=pl.mean_horizontal(*RATINGS), length=pl.col(length).str.len_chars()
    )
    judge, people, size = (_values(with_mean, name) for name in ("judge_overall", "people", "length"))
    known = ~np.isnan(judge) & ~np.isnan(people)

    def measured(weights: Floats) -> dict[str, Floats]:
        used = weights[:, known]
        of_judge = spearman(judge[known], size[known], used)
        of_people = spearman(people[known], size[known], used)
        both = spearman(judge[known], people[known], used)
        return {"judge": of_judge, "people": of_people, "beyond": partial(of_judge, both, of_people)}

    found = draws.over(measured)
    return Verbosity(length, *(estimate(found[name]) for name in ("judge", "people", "beyond")))


def _repeats(said: pl.DataFrame, same: Sequence[str], column: str) -> Repeats:
    """Over items with at least two replies that could be read."""
    known = said.filter(pl.col(column).is_not_null())
    spread = known.group_by(*same).agg(
        replies=pl.len(), different=pl.col(column).n_unique(), deviation=pl.col(column).cast(pl.Float64).std()
    )
    repeated = spread.filter(pl.col("replies") > 1)
    count = said["repeat"].n_unique()
    if not repeated.height:
        return Repeats(count, 0, None, None)
    identical = repeated.select((pl.col("different") == 1).mean()).item()
    return Repeats(count, repeated.height, identical, repeated.select(pl.col("deviation").mean()).item())


def paired_figures(
    paired: pl.DataFrame, chosen: pl.DataFrame, *, resamples: int, seed: int
) -> list[PairedFigures]:
    """Figures of each data set, over the first repeat.

    Args:
        paired: items (`PAIRED.schema`).
        chosen: what the judge said (`CHOSEN`).
        resamples: of the intervals.
        seed: of the resamples.
    """
    return [
        _paired_set(key, items, chosen.join(items.select("id"), on="id", how="semi"), resamples, seed)
        for key, items in _by_dataset(paired)
    ]


def _paired_set(
    key: str, items: pl.DataFrame, chosen: pl.DataFrame, resamples: int, seed: int
) -> PairedFigures:
    joined = items
    for swapped, name in ((False, "as_is"), (True, "swapped")):
        mine = chosen.filter(pl.col("repeat") == 0, pl.col("swapped") == swapped)
        renamed = mine.select("id", pl.col("choice").alias(name))
        joined = joined.join(renamed, on="id", how="left", maintain_order="left")
    lengths = {side: pl.col(f"response_{side}").str.len_chars().cast(pl.Int64) for side in ("a", "b")}
    message = joined.with_columns(
        people=pl.col("preferred").replace_strict({"a": 1, "b": -1, "tie": 0}, return_dtype=pl.Int64()),
        longer=(lengths["a"] - lengths["b"]).sign(),
    )
    values = {name: _values(message, name) for name in ("people", "longer", "as_is", "swapped")}
    found = _draws(items, key, resamples, seed).over(lambda weights: _paired_measured(values, weights))
    return PairedFigures(
        asked=_asked(key, items, chosen, "choice"),
        repeats=_repeats(chosen, ["id", "swapped"], "choice"),
        **{name: estimate(values) for name, values in found.items()},
    )


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
    blank = np.full(len(weights), np.nan)
    shares: Floats = np.divide(held, counted, out=blank, where=counted > 0)
    return shares


_PLACES = 4


def judge_document(rated: list[RatedFigures], paired: list[PairedFigures]) -> dict[str, Any]:
    """Figures of both kinds of sets."""
    return {
        "rated": [_rounded(asdict(one)) for one in rated],
        "paired": [_rounded(asdict(one)) for one in paired],
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    return round(value, _PLACES) if isinstance(value, float) else value
