"""Whether statistics of evaluations keep their word: false alarms, planted drops, coverage of intervals.

    python -m qa_pipeline_tests.benchmarks.quality.measure_statistics null|drop|coverage [--trials N]

Simulated runs. Rows are about documents of unequal size (lognormal, deviation 0.6). A row's chance to be
right is logistic in a mean, an effect of its document (deviation 0.7) and one of its own (1.0). A yes/no
metric is one draw of it, a continuous one the share of right ones among 1 + Poisson(3) statements. The
second run keeps each outcome of the first with the chance `kept`, else draws it anew; with `shift` above 0
each run also has an effect of its own on each document, so that differences of a document go together.

null: 1,000 pairs of runs without a difference, 10 metrics: how often each test calls one, and the gate
fails. drop: a drop of 5 points planted in one of 10 metrics; how often it is found, by the gate where that
metric alone is critical and where another one is too, and by z, were rows independent and their variance
known. coverage: how often 95 % intervals of means hold the true mean, and the percentile interval and
Wilson's over rows beside them. Prints one JSON line for each setting.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binomtest, norm

from qa_pipeline.evaluation.gates.comparison import compare_paired
from qa_pipeline.evaluation.gates.gate import Limits, gate
from qa_pipeline.evaluation.reports.stored_report import MetricFacts, StoredReport
from qa_pipeline.evaluation.reports.summaries import summarise
from qa_pipeline.statistics import Floats, Resamples, estimate, wilson
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

DOCUMENT, ROW, SIZES = 0.7, 1.0, 0.6
METRICS = 10
NAMES = ["faithfulness", "citation_accuracy", *(f"metric_{place}" for place in range(2, METRICS))]
"""Two critical ones; those at even places are continuous, the others say yes or no."""
DROPS = ((0, 200), (1, 200), (1, 600))
"""The place of the metric that gets worse, and rows: yes/no rows say less, so that more are tried as well."""
FACTS = MetricFacts(version=1, direction="higher", range=(0, 1))


@cache
def level_of(mean: float, shift: float) -> float:
    """The logit whose runs have this mean."""
    deviation = np.sqrt(DOCUMENT**2 + ROW**2 + shift**2)
    points, weights = np.polynomial.hermite_e.hermegauss(60)

    def off(level: float) -> float:
        return float(expit(level + deviation * points) @ weights / weights.sum()) - mean

    return float(brentq(off, -20, 20))


@dataclass(frozen=True)
class World:
    """What runs are drawn from."""

    rows: int
    documents: int
    mean: float
    kept: float = 0.8
    shift: float = 0.0

    def documents_of(self, drawn: np.random.Generator) -> Floats:
        """The document of each row; each has a row."""
        sizes = drawn.lognormal(0, SIZES, self.documents)
        more = drawn.choice(self.documents, self.rows - self.documents, p=sizes / sizes.sum())
        return np.concatenate([np.arange(self.documents), more])

    def scores(
        self, drawn: np.random.Generator, of: Floats, yes_no: bool, lost: float = 0
    ) -> tuple[Floats, Floats]:
        """One metric of two runs, the second worse by `lost`."""
        shared = drawn.normal(0, DOCUMENT, self.documents)[of] + drawn.normal(0, ROW, self.rows)
        sizes = np.ones(self.rows, dtype=int) if yes_no else 1 + drawn.poisson(3, self.rows)
        there = np.arange(sizes.max())[None, :] < sizes[:, None]
        first = drawn.random(there.shape)
        second = np.where(drawn.random(there.shape) < self.kept, first, drawn.random(there.shape))
        found = []
        for luck, mean in ((first, self.mean), (second, self.mean - lost)):
            own = drawn.normal(0, self.shift, self.documents)[of]
            right = luck < expit(level_of(mean, self.shift) + shared + own)[:, None]
            found.append((right & there).sum(axis=1) / sizes)
        return found[0], found[1]


def runs(world: World, drawn: np.random.Generator, lost: float = 0, which: int = 0) -> list[StoredReport]:
    """Two runs of all metrics, one of which is worse in the second."""
    of = world.documents_of(drawn)
    pairs = [
        world.scores(drawn, of, bool(place % 2), lost if place == which else 0) for place in range(METRICS)
    ]
    about = {"id": [str(row) for row in range(world.rows)], "group": of.astype(str)}
    return [
        StoredReport(
            Path(str(run)), "simulated", "0" * 64, dict.fromkeys(NAMES, FACTS),
            pl.DataFrame({**about, **{name: pair[run] for name, pair in zip(NAMES, pairs, strict=True)}}),
        )
        for run in (0, 1)
    ]  # fmt: skip


def null(trials: int, seed: int) -> Iterator[dict[str, Any]]:
    """Pairs of runs without a difference."""
    for shift, rows in product((0.0, 0.5), (50, 200)):
        world, counts = World(rows, rows // 5, 0.85, shift=shift), Counter[str]()
        for trial in range(trials):
            baseline, current = runs(world, np.random.default_rng([seed, trial]))
            compared = compare_paired(baseline, current)
            metrics = list(compared["metrics"].values())
            for one in metrics:
                counts["p"] += one["p"] < 0.05
                counts["interval"] += not one["low"] <= 0 <= one["high"]
            counts["any p"] += any(one["p"] < 0.05 for one in metrics)
            counts["any p_holm"] += any(one["better"] is not None for one in metrics)
            counts["gate failed"] += not gate(current, baseline)["passed"]
        tests = dict.fromkeys(("p", "interval"), METRICS)
        rates = {name: shared(counts[name], trials * tests.get(name, 1)) for name in sorted(counts)}
        yield {"null": vars(world), "trials": trials, "seed": seed, **rates}


def drop(trials: int, seed: int) -> Iterator[dict[str, Any]]:
    """A drop of five points in the first (continuous, critical) or second (yes/no, critical) metric."""
    for (which, rows), kept, mean in product(DROPS, (0.8, 1.0), (0.75, 0.9)):
        world, counts, alike, gaps = World(rows, rows // 5, mean, kept=kept), Counter[str](), [], []
        name = NAMES[which]
        for trial in range(trials):
            baseline, current = runs(world, np.random.default_rng([seed, trial]), 0.05, which)
            one = compare_paired(baseline, current)["metrics"][name]
            before, now = (run.rows[name].to_numpy() for run in (baseline, current))
            alike.append(np.corrcoef(before, now)[0, 1])
            gaps.append(now - before)
            counts["p"] += one["p"] < 0.05
            counts["p_holm"] += one["p_holm"] < 0.05
            for said, critical in (("gate, one critical", (name,)), ("gate, two critical", tuple(NAMES[:2]))):
                checks = gate(current, baseline, Limits(critical=critical))["checks"]
                counts[said] += any(one["name"] == name and one["outcome"] == "failed" for one in checks)
        rates = {said: shared(counts[said], trials) for said in sorted(counts)}
        far = 0.05 / (float(np.std(gaps)) / rows**0.5)
        yield {
            "drop": vars(world), "metric": "yes/no" if which else "continuous",
            "correlation": round(float(np.mean(alike)), 2), "trials": trials, "seed": seed, **rates,
            "z": round(float(norm.sf(norm.isf(0.025) - far)), 3),
        }  # fmt: skip


def coverage(trials: int, seed: int) -> Iterator[dict[str, Any]]:
    """Intervals of means, 25 metrics of one set of documents at a time."""
    shapes = ((200, 200), (200, 100), (200, 40), (200, 20), (200, 10), (50, 50), (50, 10))
    for yes_no, mean, (rows, documents) in product((False, True), (0.5, 0.85, 0.95), shapes):
        world, held, widths = World(rows, documents, mean), Counter[str](), Counter[str]()
        drawn = np.random.default_rng([seed, rows, documents, int(100 * mean), yes_no])
        for block in range(trials // 25):
            of = world.documents_of(drawn)
            scores = {f"m{place}": world.scores(drawn, of, yes_no)[0] for place in range(25)}
            for name, ends in intervals(pl.DataFrame({"group": of.astype(str), **scores}), yes_no, block):
                held[name] += ends[0] <= mean <= ends[1]
                widths[name] += ends[1] - ends[0]  # type: ignore[assignment]
        yield {
            "coverage": {"rows": rows, "documents": documents, "mean": mean, "yes/no": yes_no},
            "trials": trials, "seed": seed,
            **{name: [round(held[name] / trials, 3), round(widths[name] / trials, 3)] for name in held},
        }  # fmt: skip


def intervals(frame: pl.DataFrame, yes_no: bool, seed: int) -> Iterator[tuple[str, tuple[float, float]]]:
    """What is used, the percentile interval by document, and for yes/no rows Wilson's over rows."""
    names = [name for name in frame.columns if name != "group"]
    found = summarise(frame, dict.fromkeys(names, (0.0, 1.0)))["metrics"]
    matrix = frame.select(names).to_numpy()
    draws = Resamples(frame["group"].to_list(), "percentile", 1000, seed)
    means = draws.over(lambda weights: {"mean": weights @ matrix / weights.sum(axis=1, keepdims=True)})
    for place, name in enumerate(names):
        one, plain = found[name], estimate(means["mean"][:, place])
        yield "used", (one["low"], one["high"])
        assert plain["low"] is not None
        assert plain["high"] is not None
        yield "percentile", (plain["low"], plain["high"])
        if yes_no:
            share = wilson(np.array(one["mean"]), np.array(float(len(matrix))), np.array(1.959964))
            yield "wilson_over_rows", (float(share[0]), float(share[1]))


def shared(count: int, of: int) -> list[float]:
    """A share and its 95 % interval."""
    ends = binomtest(count, of).proportion_ci(method="wilson")
    return [round(value, 4) for value in (count / of, ends.low, ends.high)]


MEASURED = {"null": null, "drop": drop, "coverage": coverage}


def main() -> None:
    """Print a line for each setting."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for figures in MEASURED[arguments.what](arguments.trials, arguments.seed):
        print_json(figures)


if __name__ == "__main__":
    main()
