"""Pictures of detectors: risk against coverage, and reliability.

The same scores give the same bytes. Names of sets are data: they are drawn as plain letters and reach no
path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from qa_pipeline.publishing.pictures import new_figure, png_of
from qa_pipeline.statistics import Floats
from qa_pipeline.storage.files import write_bytes
from qa_pipeline_tests.benchmarks.quality.detection import Flags, reliability_bins, steps_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SETS = 20
"""Curves or panels of one picture; of more sets the largest are drawn."""
_LONGEST_NAME = 32
_PANELS = 4
_TITLE_WIDTH = 6.5


def draw_plots(
    items: pl.DataFrame,
    by: str,
    scorers: Sequence[str],
    probabilities: Sequence[str],
    folder: Path,
    target: float,
) -> list[Path]:
    """Draw a picture of risk and coverage of each scorer, and one of reliability of each probability.

    Args:
        items: `Scored.items`.
        by: column that parts them into sets.
        scorers: names of scorers and baselines; one that knows no item gets no picture.
        probabilities: those among them whose scores claim to be probabilities.
        folder: where the PNG files are written.
        target: precision whose risk is marked.

    Raises:
        StorageError: a picture cannot be written.
    """
    keyed = items.with_columns(pl.col(by).fill_null("(none)"))
    written = []
    for name in scorers:
        sets = _largest(keyed, by, f"score_{name}")
        if not sets:
            continue
        written.append(_save(_risk_picture(name, sets, 1 - target), folder / f"risk_coverage_{name}.png"))
        if name in probabilities:
            written.append(_save(_reliability_picture(name, sets), folder / f"reliability_{name}.png"))
    return written


def risk_coverage(scores: Floats, supported: Flags) -> tuple[Floats, Floats]:
    """Return coverage and risk at each distinct score, the highest first: what a threshold there accepts.

    Risk is the share of unsupported items among the accepted (El-Yaniv and Wiener 2010). Equal scores are
    accepted together.
    """
    steps = steps_of(scores, supported, np.ones((1, len(scores))))
    accepted = steps.supported[0] + steps.unsupported[0]
    return accepted / len(scores), steps.unsupported[0] / accepted


def reliability(scores: Floats, supported: Flags) -> tuple[Floats, Floats, Floats]:
    """Return mean score, share supported and share of items of each bin, by rising score."""
    bins = reliability_bins(scores)
    sizes = np.bincount(bins).astype(np.float64)
    filled = sizes > 0
    means = np.bincount(bins, weights=scores)[filled] / sizes[filled]
    shares = np.bincount(bins, weights=supported)[filled] / sizes[filled]
    return means, shares, sizes[filled] / len(scores)


@dataclass(frozen=True)
class _Set:
    """One set of items that a scorer knows; `share` of all its items."""

    name: str
    scores: Floats
    supported: Flags
    share: float


def _largest(items: pl.DataFrame, by: str, column: str) -> list[_Set]:
    scored = items.filter(pl.col(column).is_not_null())
    keys = scored.group_by(by).len().sort(["len", by], descending=[True, False])[by].to_list()
    sets = []
    for key in sorted(keys[:MOST_SETS]):
        of_set = scored.filter(pl.col(by) == key)
        letters = "".join(letter if letter.isprintable() else "?" for letter in key).lstrip("_ ")
        supported = (of_set["label"] == 1).to_numpy()
        share = of_set.height / items.filter(pl.col(by) == key).height
        sets.append(_Set(letters[:_LONGEST_NAME] or "?", of_set[column].to_numpy(), supported, share))
    return sets


def _risk_picture(name: str, sets: Sequence[_Set], target_risk: float) -> "Figure":
    figure = new_figure(9, 5.2)
    axes = figure.add_subplot()
    for place, curve in enumerate(sets):
        coverage, risk = risk_coverage(curve.scores, curve.supported)
        # a thousand points: more are no longer told apart and make drawing slow
        drawn = np.unique(np.linspace(0, len(coverage) - 1, min(len(coverage), 1000)).astype(np.int64))
        style, colour = ("-", "--", ":")[place // 10 % 3], f"C{place % 10}"
        axes.plot(
            coverage[drawn] * curve.share, risk[drawn], style, color=colour, label=curve.name, linewidth=1.6
        )
    axes.axhline(target_risk, color="black", linewidth=0.8, linestyle=(0, (1, 3)))
    axes.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="share of items accepted", ylabel="share unsupported among them"
    )
    axes.set_title(
        f"Risk and coverage of {name}, by threshold (dotted: risk of {target_risk:.0%})", fontsize=11
    )
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _reliability_picture(name: str, sets: Sequence[_Set]) -> "Figure":
    columns = min(_PANELS, len(sets))
    rows = -(-len(sets) // columns)
    figure = new_figure(max(_TITLE_WIDTH, 2.6 * columns + 0.6), 2.5 * rows + 0.7)
    figure.suptitle(
        f"Reliability of {name}: share supported by score (diagonal: as it should be)", fontsize=11
    )
    for place, panel in enumerate(sets, start=1):
        axes = figure.add_subplot(rows, columns, place)
        means, shares, sizes = reliability(panel.scores, panel.supported)
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        axes.plot(means, shares, color="tab:blue", linewidth=1.2)
        axes.scatter(means, shares, s=sizes * 250, color="tab:blue", alpha=0.6)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axes.set_title(panel.name, fontsize=9, parse_math=False)
    return figure


def _save(figure: "Figure", path: Path) -> Path:
    write_bytes(path, png_of(figure))
    return path
