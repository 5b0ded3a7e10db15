"""How many rows people must rate until a calibration is as good as by all of them: chosen or at random.

    python -m qa_pipeline_tests.benchmarks.quality.measure_active_learning FILE… [--seeds 20] [--limit 2000]

FILE holds labelled items of grounding. Scores are cheap ones: the share of the answer's words that the
context has (overlap) and the best cosine to a passage. For each seed half of the groups are a pool to choose
from, and the other half are held out. Twenty rows of the pool are rated at random; then each strategy chooses
the rest, step by step. After each step the score is calibrated (Platt) on the rows rated so far and compared,
on the groups held out, with the calibration on the whole pool:

- ece: its expected calibration error is at most 0.02 above that of the whole pool's
- apart: its probabilities are on average at most 0.02 from those of the whole pool's

Rows needed are those of the first step from which this holds to the end; the whole pool where there is none.
Wrong are the rows of the pool decided wrongly after 240 ratings: rated ones are right, all others are decided
by their calibrated probability.
Intervals are of 95 %, paired: over seeds, and over sets where all are taken together.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.active_learning import Mix, choose_rows, scorer_disagreement, uncertainty
from qa_pipeline.evaluation.calibration.probabilities import fit_logistic
from qa_pipeline.evaluation.datasets import draw, read_labelled
from qa_pipeline.evaluation.detection import Task, measure
from qa_pipeline.evaluation.scorers import baselines
from qa_pipeline.evaluation.statistics import Resamples, estimate
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import cached

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
STEPS = (20, 30, 40, 60, 80, 120, 160, 240, 320, 480)
WITHIN = 0.02
DECIDED = 240
SCORES = ("overlap", "cosine")
STRATEGIES: dict[str, tuple[Mix, str] | None] = {
    "random": None,
    "uncertainty": (Mix(1, 0, 0, 0), "texts"),
    "disagreement": (Mix(0, 1, 0, 0), "texts"),
    "diversity of texts": (Mix(0, 0, 1, 0), "texts"),
    "diversity of scores": (Mix(0, 0, 1, 0), "scores"),
    "all three": (Mix(1, 1, 1, 0), "scores"),
    "all three and chance": (Mix(1, 1, 1, 3), "scores"),
}
"""Weights, and whose vectors should be unlike those of labelled rows."""


def main() -> None:
    """Measure and print one line for each file and score, and one for all."""
    parser = parser_of(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=2000, help="most items of a set, drawn by group")
    arguments = parser.parse_args()
    encoder = cached(load_embedder(EmbeddingSettings()))
    every: list[dict[str, dict[str, list[int]]]] = []
    for file in arguments.files:
        items = draw(read_labelled([file]).items, arguments.limit)
        scores = {name: of for name, of in baselines(items, encoder).items() if name in SCORES}
        known = np.isfinite(np.column_stack(list(scores.values()))).all(axis=1)
        items, scores = items.filter(pl.Series(known)), {name: of[known] for name, of in scores.items()}
        vectors = encoder.encode(items["answer"].to_list()).astype(np.float64)
        for name in SCORES:
            needed = _rows_needed(items, scores, name, vectors, arguments.seeds)
            every.append(needed)
            task = Task(scores[name], items["label"].to_numpy() == 1, None, None, False)
            auroc = measure(task, np.ones((1, items.height)), 1.0)["auroc"][0]
            told = {"set": file.stem, "score": name, "items": items.height, "auroc": round(float(auroc), 3)}
            seeds = [str(seed) for seed in range(arguments.seeds)]
            print_json(told | _figures(needed, seeds))
    added = {
        figure: {name: [one for of in every for one in of[figure][name]] for name in STRATEGIES}
        for figure in every[0]
    }
    of_set = [file.stem for file in arguments.files for _ in range(arguments.seeds * len(SCORES))]
    print_json({"set": "all", "score": "both"} | _figures(added, of_set))


def _rows_needed(
    items: pl.DataFrame, scores: Mapping[str, Floats], name: str, vectors: Floats, seeds: int
) -> dict[str, dict[str, list[int]]]:
    """By figure and strategy, the rows that each seed needs."""
    found: dict[str, dict[str, list[int]]] = {
        figure: {strategy: [] for strategy in STRATEGIES} for figure in ("ece", "apart", "wrong")
    }
    right = items["label"].to_numpy() == 1
    _, group = np.unique(items["group_id"].to_numpy(), return_inverse=True)
    columns = np.column_stack([scores[name], *(of for other, of in scores.items() if other != name)])
    spaces = {"texts": vectors, "scores": (columns - columns.mean(axis=0)) / columns.std(axis=0)}
    for seed in range(seeds):
        drawn = np.random.default_rng(seed)
        of_pool = drawn.permutation(int(group.max()) + 1)[group] % 2 == 0
        pool, held = drawn.permutation(np.flatnonzero(of_pool)), np.flatnonzero(~of_pool)
        whole = _probabilities(columns[pool, 0], right[pool], columns[held, 0])
        best = _error(whole, right[held])
        for strategy, how in STRATEGIES.items():
            apart, worse = [], []
            for rated in _rated(
                how, columns[pool], right[pool], {k: of[pool] for k, of in spaces.items()}, seed
            ):
                told = _probabilities(columns[pool[rated], 0], right[pool[rated]], columns[held, 0])
                apart.append(float(np.abs(told - whole).mean()))
                worse.append(_error(told, right[held]) - best)
                if len(rated) == DECIDED:
                    told = _probabilities(columns[pool[rated], 0], right[pool[rated]], columns[pool, 0])
                    wrong = (told >= 0.5) != right[pool]
                    wrong[rated] = False
                    found["wrong"][strategy].append(int(wrong.sum()))
            found["ece"][strategy].append(_first_for_good(worse, len(pool)))
            found["apart"][strategy].append(_first_for_good(apart, len(pool)))
    return found


def _rated(
    how: tuple[Mix, str] | None,
    columns: Floats,
    right: npt.NDArray[np.bool_],
    spaces: Mapping[str, Floats],
    seed: int,
) -> list[Places]:
    """Places in the pool that are rated at each step; the pool is in random order."""
    steps = [step for step in STEPS if step < len(right)]
    if how is None:
        return [np.arange(step) for step in steps]
    rated, found = np.arange(steps[0]), [np.arange(steps[0])]
    (mix, space), disputed = how, scorer_disagreement(columns)
    for step in steps[1:]:
        labelled = np.zeros(len(right), dtype=np.bool_)
        labelled[rated] = True
        uncertain = uncertainty(_probabilities(columns[rated, 0], right[rated], columns[:, 0]))
        more = choose_rows(step - len(rated), mix, uncertain, disputed, spaces[space], labelled, seed)
        rated = np.append(rated, more["row"].to_numpy())
        found.append(rated)
    return found


def _probabilities(scores: Floats, right: npt.NDArray[np.bool_], asked: Floats) -> Floats:
    """Calibrated on the rows rated; with too few of a kind, their share."""
    try:
        return fit_logistic(scores, right)(asked)
    except InputError:
        return np.full(len(asked), (right.sum() + 1) / (len(right) + 2))


def _error(told: Floats, right: npt.NDArray[np.bool_]) -> float:
    task = Task(told, right, None, None, probability=True)
    return float(measure(task, np.ones((1, len(told))), 1.0)["calibration_error"][0])


def _first_for_good(gaps: Sequence[float], most: int) -> int:
    wrong = [place for place, gap in enumerate(gaps) if gap > WITHIN]
    after = wrong[-1] + 1 if wrong else 0
    return STEPS[after] if after < len(gaps) else most


def _figures(needed: Mapping[str, Mapping[str, Sequence[int]]], groups: Sequence[str]) -> dict[str, Any]:
    """Mean rows needed, and how many times fewer they are than at random."""
    told: dict[str, Any] = {}
    for figure, by_strategy in needed.items():
        seeds = np.array([by_strategy[name] for name in STRATEGIES], dtype=np.float64)
        found = Resamples(groups, "rows needed", 2000).over(partial(_means, seeds))
        told[figure] = {
            name: {"rows": _rounded(found[name], 0), "of_random": _rounded(found[name] / found["random"], 2)}
            for name in STRATEGIES
        }
    return told


def _means(seeds: Floats, weights: Floats) -> dict[str, Floats]:
    return {name: weights @ of / weights.sum(axis=1) for name, of in zip(STRATEGIES, seeds, strict=True)}


def _rounded(values: Floats, places: int) -> list[float | None]:
    one = estimate(values)
    return [
        None if bound is None else round(bound, places) for bound in (one["value"], one["low"], one["high"])
    ]


if __name__ == "__main__":
    main()
