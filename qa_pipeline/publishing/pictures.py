"""Pictures of a data card: what became of questions and pairs, and how scores are spread.

Equal facts give equal bytes under one version of matplotlib. Colours are those of Okabe and Ito (2008), which
people tell apart whatever colours they see.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YIELD, SCORES = "images/yield.png", "images/scores.png"
_TOTAL, _LOST, _REMAINING, _ALL = "#0072B2", "#D55E00", "#009E73", "#BBBBBB"
_WIDTH = 8.0
_DOTS = 150
_MOST_LOSSES = 5
"""Reasons of a step that are drawn, so that the bars stay readable; the others are added up."""

Step = tuple[str, int, int]
"""Name, count, and how many are left before it where it is a loss, else -1."""


def waterfall(facts: Mapping[str, Any], left_out: Mapping[str, int]) -> list[Step]:
    """Return the steps from planned questions to released rows: totals, and losses by reason."""
    steps: list[Step] = []
    for name, stage, what_remains in (
        ("questions planned", "questions", "kept"),
        ("pairs made", "verdicts", "accepted"),
        ("pairs accepted", "training_examples", "example"),
    ):
        # the first row of a stage is its total, the others part it
        (_, _, total), *parts = (
            (step["what"], step["reason"], step["count"])
            for step in facts["funnel"]
            if step["stage"] == stage
        )
        remaining = sum(count for what, _, count in parts if what == what_remains)
        if stage != "questions" or total:
            steps += _step(name, total, [part for part in parts if part[0] != what_remains])
            steps += [("questions kept", remaining, -1)] if stage == "questions" else []
    losses = [("left out", *item) for item in left_out.items()]
    return [
        *steps,
        *_step("training examples", remaining, losses),
        ("rows released", facts["rows"]["rows"], -1),
    ]


def _step(name: str, total: int, losses: Sequence[tuple[str, str | None, int]]) -> list[Step]:
    ranked = sorted((loss for loss in losses if loss[2]), key=lambda loss: (-loss[2], loss[0], loss[1] or ""))
    steps, remaining = [(name, total, -1)], total
    for what, reason, count in ranked[:_MOST_LOSSES]:
        steps.append((f"{what}: {reason}" if reason else what, count, remaining))
        remaining -= count
    rest = sum(count for _, _, count in ranked[_MOST_LOSSES:])
    return [*steps, ("lost for other reasons", rest, remaining)] if rest else steps


def draw_yield(steps: Sequence[Step]) -> bytes:
    """Return the picture of the waterfall as PNG."""
    figure = new_figure(_WIDTH, 0.32 * len(steps) + 0.7)
    axes = figure.add_subplot()
    most = max(1, *(count for _, count, _ in steps))
    for place, (_, count, before) in enumerate(steps):
        start = 0 if before < 0 else before - count
        colour = _LOST if before >= 0 else _REMAINING if place == len(steps) - 1 else _TOTAL
        axes.barh(place, count, left=start, color=colour, height=0.72)
        text = f"{count:,}" if before < 0 else f"−{count:,}"
        axes.text(start + count + most * 0.01, place, text, va="center", fontsize=9.5)
    axes.set_yticks(range(len(steps)), [_words(name) for name, _, _ in steps], fontsize=9.5)
    for label, (_, _, before) in zip(axes.get_yticklabels(), steps, strict=True):
        label.set_parse_math(False)
        label.set_fontweight("normal" if before >= 0 else "bold")
    axes.set(xlim=(0, most * 1.12), ylim=(len(steps) - 0.5, -0.5), xticks=[])
    axes.spines[:].set_visible(False)
    axes.tick_params(left=False)
    return png_of(figure)


def _words(name: str) -> str:
    text = "".join(character if character.isprintable() else "?" for character in name.replace("_", " "))
    return text if len(text) <= 44 else f"{text[:43]}…"


def draw_scores(scores: Mapping[str, Mapping[str, Sequence[int]]]) -> bytes | None:
    """Return the histograms of the scores, all over released, as PNG; None without any score."""
    if not scores:
        return None
    columns = min(3, len(scores))
    rows = -(-len(scores) // columns)
    figure = new_figure(_WIDTH, 2.1 * rows + 0.5)
    for place, (name, counts) in enumerate(scores.items(), start=1):
        axes = figure.add_subplot(rows, columns, place)
        bins = len(counts["all"])
        edges = [(bin_number + 0.5) / bins for bin_number in range(bins)]
        axes.bar(edges, counts["all"], width=1 / bins, color=_ALL, label="all")
        axes.bar(edges, counts["released"], width=0.6 / bins, color=_TOTAL, label="released")
        axes.set_title(f"{name}: {sum(counts['released']):,} of {sum(counts['all']):,}", fontsize=10)
        axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
        axes.tick_params(labelsize=9)
        axes.locator_params(axis="y", nbins=4, integer=True)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    return png_of(figure)


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure, in inches, that needs no display."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png_of(figure: "Figure") -> bytes:
    """Return the figure as PNG: equal figures give equal bytes under one version of matplotlib."""
    buffer = BytesIO()
    without_version: dict[str, Any] = {"Software": None}
    figure.savefig(buffer, format="png", dpi=_DOTS, metadata=without_version)
    return buffer.getvalue()
