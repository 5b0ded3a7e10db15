"""How well the combined score tells supported from unsupported statements, on sets it was not fitted on.

    python -m qa_pipeline_tests.benchmarks.quality.measure_combined --bench FOLDER [--limit N]
        [--cache FOLDER]

Reads FOLDER/grounding/*.parquet (the schema of its README; halueval and swequad_mc are left out) and prints
one JSON object. Each set is left out in turn and scored by a model of other sets, at one threshold, 0.5:

- `as_shipped`: fitted on the sets whose licence lets coefficients be shipped;
- `all_others`: fitted on all other sets;
- `in_domain`: fitted on the set itself, half of its groups scoring the other half.

Beside them trivial baselines on the same items: cosine at 0.75; and cosine, content-word recall and
shortness, each at the one threshold that is best for all sets (`_one_threshold`) and at the best one of each
set (`_best`), both picked on the very items they are measured on, as no shipped threshold can be. An item
stands and falls with its least supported claim; one without claims counts as unsupported. Intervals hold 95 %
of bootstrap samples of groups. `--limit` takes the items whose hashed ids come first; `--cache` keeps the
claims of each set.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.metrics import roc_auc_score, roc_curve

from qa_pipeline.evaluation.calibration.combined import FitOptions, calibrate, fit_curves, item_minimum
from qa_pipeline.evaluation.calibration.rows import LabelledSet, labelled_set, read_complete
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of

LEFT_OUT = ("halueval", "swequad_mc")
SHIPPABLE = ("expertqa", "factcheck_gpt_stance", "fever_symmetric", "summedits")
SAMPLES = 1000
FIXED_COSINE = 0.75
_GRID = np.linspace(0.0, 1.0, 201)
OPTIONS = FitOptions()

Array = npt.NDArray[np.float64]
Decisions = npt.NDArray[np.bool_]


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--bench", type=Path, required=True, help="folder with grounding/*.parquet")
    parser.add_argument("--limit", type=int, default=None, help="items of each set; all unless given")
    parser.add_argument("--cache", type=Path, default=None, help="folder that keeps claims between runs")
    arguments = parser.parse_args()
    sets = load_sets(arguments.bench / "grounding", arguments.limit, arguments.cache)
    json.dump(measure(sets), sys.stdout, indent=1)
    print()


def load_sets(folder: Path, limit: int | None, cache: Path | None) -> dict[str, LabelledSet]:
    """Claims of each set, with every local score."""
    settings = Settings()
    embedder = load_embedder(settings.embedding)
    sets = {}
    for path in sorted(folder.glob("*.parquet")):
        if path.stem.startswith(LEFT_OUT):
            continue
        file = read_complete(path)
        items = file.items.with_columns(
            place=pl.col("id").map_elements(_place, return_dtype=pl.String()),
        ).sort("place")
        items = items.head(limit or items.height).sort("group_id", "id")
        sets[path.stem] = _cached(cache, path, items) or labelled_set(
            replace(file, items=items), embedder, settings.verification
        )
        _keep(cache, sets[path.stem])
    return sets


def _place(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cached(cache: Path | None, path: Path, items: pl.DataFrame) -> LabelledSet | None:
    file = cache / f"{path.stem}-{items.height}.parquet" if cache else None
    if file is None or not file.is_file():
        return None
    numbered = items.select("label", "group_id").with_row_index("item")
    return LabelledSet(path.name, "", numbered, pl.read_parquet(file))


def _keep(cache: Path | None, one: LabelledSet) -> None:
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
        one.claims.write_parquet(cache / f"{Path(one.name).stem}-{one.items.height}.parquet")


def measure(sets: dict[str, LabelledSet]) -> dict[str, Any]:
    """All readings of all sets, their means, and how far ahead of each baseline they are."""
    shippable = [name for name in SHIPPABLE if name in sets]
    decided: dict[str, dict[str, Decisions]] = {}
    scored: dict[str, dict[str, Array]] = {}
    shared = _shared_thresholds(sets)
    for name, one in sets.items():
        readings = {
            "as_shipped": _left_out(one, [sets[n] for n in shippable if n != name]),
            "all_others": _left_out(one, [other for n, other in sets.items() if n != name]),
            "in_domain": _in_domain(one),
        }
        scored[name] = readings | _trivial(one)
        decided[name] = {reading: scores >= 0.0 for reading, scores in readings.items()} | _baselines(one)
        for baseline, threshold in shared.items():
            decided[name][f"{baseline}_one_threshold"] = scored[name][baseline] >= threshold
        print(f"{name}: measured", file=sys.stderr)
    samples = {name: _samples(one, decided[name], seed) for seed, (name, one) in enumerate(sets.items())}
    return {
        "items": {name: one.items.height for name, one in sets.items()},
        "claims": {name: one.claims.height for name, one in sets.items()},
        "balanced_accuracy": _table({name: sample for name, (sample, _) in samples.items()}, samples),
        "auroc": {name: _aurocs(one, scored[name]) for name, one in sets.items()},
        "as_shipped_minus_baseline": _ahead(samples),
    }


def _left_out(one: LabelledSet, others: Sequence[LabelledSet]) -> Array:
    """Calibrated log odds of a set's items, by a model of the others."""
    curves = fit_curves(others, OPTIONS)
    calibration = calibrate(others, OPTIONS)
    lowest = item_minimum(one, curves.log_odds(one.claims))
    return np.nan_to_num(calibration.slope * lowest + calibration.offset, nan=-np.inf)


def _in_domain(one: LabelledSet) -> Array:
    """Each half of the groups scored by a model of the other half."""
    second = one.items["group_id"].map_elements(_place, return_dtype=pl.String()).str.slice(0, 1) >= "8"
    scores = np.empty(one.items.height)
    for held in (second, ~second):
        rest = one.claims.filter((~held).gather(one.claims["item"]))
        curves = fit_curves([LabelledSet(one.name, one.sha256, one.items, rest)], OPTIONS)
        lowest = np.nan_to_num(item_minimum(one, curves.log_odds(one.claims)), nan=-np.inf)
        scores[held.to_numpy()] = lowest[held.to_numpy()]
    return scores


def _trivial(one: LabelledSet) -> dict[str, Array]:
    """Scores that need no model: higher means supported."""
    claims = one.claims
    columns = {
        "cosine": claims["similarity"],
        "token_recall": claims["token_recall"],
        "shortness": -claims["text"].str.len_chars().cast(pl.Int64),
    }
    floats = {name: column.cast(pl.Float64()).fill_null(-1e9).to_numpy() for name, column in columns.items()}
    return {name: np.nan_to_num(item_minimum(one, values), nan=-1e9) for name, values in floats.items()}


def _baselines(one: LabelledSet) -> dict[str, Decisions]:
    trivial = _trivial(one)
    best = {f"{name}_best": scores >= _best(one, scores) for name, scores in trivial.items()}
    return {"cosine_0.75": trivial["cosine"] >= FIXED_COSINE, **best}


def _shared_thresholds(sets: dict[str, LabelledSet]) -> dict[str, float]:
    """For each trivial score the one threshold with the best mean over all sets, picked on these items."""
    trivial = {name: _trivial(one) for name, one in sets.items()}
    shared = {}
    for way in next(iter(trivial.values())):
        places = np.quantile(np.concatenate([scores[way] for scores in trivial.values()]), _GRID)
        means = [
            np.mean([_accuracy(one, trivial[name][way] >= place) for name, one in sets.items()])
            for place in places
        ]
        shared[way] = float(places[int(np.argmax(means))])
    return shared


def _accuracy(one: LabelledSet, accepted: Decisions) -> float:
    labels = one.items["label"].to_numpy() == 1
    return float((accepted[labels].mean() + (~accepted)[~labels].mean()) / 2)


def _best(one: LabelledSet, scores: Array) -> float:
    """The threshold with the best balanced accuracy on these very items."""
    false, true, thresholds = roc_curve(one.items["label"].to_numpy(), scores)
    return float(thresholds[np.argmax(true - false)])


def _samples(
    one: LabelledSet, decided: dict[str, Decisions], seed: int
) -> tuple[dict[str, float], dict[str, Array]]:
    """Balanced accuracy of each way to decide, and in bootstrap samples of groups, the same for all ways."""
    labels = one.items["label"].to_numpy() == 1
    groups = one.items["group_id"].rank("dense").to_numpy().astype(np.int64) - 1
    size = int(groups.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), SAMPLES)
    values, spread = {}, {}
    for name, accepted in decided.items():
        right = (labels & accepted, labels, ~labels & ~accepted, ~labels)
        counts = np.column_stack([np.bincount(groups, weights=flags, minlength=size) for flags in right])
        values[name] = float(_balanced(counts.sum(axis=0)))
        spread[name] = _balanced(drawn @ counts)
    return values, spread


def _balanced(counts: npt.NDArray[Any]) -> Array:
    hits, positives, refusals, negatives = counts.T
    return np.asarray((hits / positives + refusals / negatives) / 2, dtype=np.float64)


def _table(
    values: dict[str, dict[str, float]], samples: dict[str, tuple[dict[str, float], dict[str, Array]]]
) -> dict[str, Any]:
    ways = next(iter(values.values()))
    table = {}
    for way in ways:
        spread = {name: sample[1][way] for name, sample in samples.items()}
        rows: dict[str, Any] = {name: _with_interval(values[name][way], spread[name]) for name in values}
        mean = float(np.mean([values[name][way] for name in values]))
        table[way] = {"macro_mean": _with_interval(mean, np.mean(list(spread.values()), axis=0)), **rows}
    return table


def _ahead(samples: dict[str, tuple[dict[str, float], dict[str, Array]]]) -> dict[str, Any]:
    """By how much the shipped reading beats each baseline, in the same bootstrap samples."""
    ways = [w for w in next(iter(samples.values()))[0] if w.startswith(("cosine", "token", "short"))]
    ahead: dict[str, Any] = {}
    for way in ways:
        values = {name: one["as_shipped"] - one[way] for name, (one, _) in samples.items()}
        spread = {name: one["as_shipped"] - one[way] for name, (_, one) in samples.items()}
        mean = _with_interval(float(np.mean(list(values.values()))), np.mean(list(spread.values()), axis=0))
        ahead[way] = {"macro_mean": mean} | {n: _with_interval(values[n], spread[n]) for n in values}
    return ahead


def _with_interval(value: float, spread: Array) -> list[float]:
    return [round(value, 4), *(round(float(edge), 4) for edge in np.quantile(spread, [0.025, 0.975]))]


def _aurocs(one: LabelledSet, scored: dict[str, Array]) -> dict[str, float]:
    labels = one.items["label"].to_numpy()
    finite = {name: np.nan_to_num(scores, neginf=-1e9) for name, scores in scored.items()}
    return {name: round(float(roc_auc_score(labels, scores)), 4) for name, scores in finite.items()}


if __name__ == "__main__":
    main()
