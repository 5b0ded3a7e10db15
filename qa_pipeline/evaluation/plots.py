"""Pictures of reports and data cards; equal figures give equal bytes."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS = 150


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, in inches, that needs no display."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png_of(figure: "Figure") -> bytes:
    """The figure as PNG: equal figures give equal bytes under one version of matplotlib."""
    buffer = BytesIO()
    without_version: dict[str, Any] = {"Software": None}
    figure.savefig(buffer, format="png", dpi=_DOTS, metadata=without_version)
    return buffer.getvalue()


# Pictures of a page are SVG in its own colours, light, dark and on paper, of a kilobyte each. They hold
# numbers only; what is a text stands beside them.

_BARS = (300, 84, 14)
_STRIP = (220, 20)


def histogram_svg(edges: Sequence[float], counts: Sequence[int]) -> str:
    """Bars with their counts above them, and the first, middle and last edge below."""
    width, height, room = _BARS
    step, most = width / len(counts), max(1, *counts)
    parts = [f'<svg class="histogram" viewBox="0 0 {width} {height + 2 * room}" aria-hidden="true">']
    for place, count in enumerate(counts):
        tall = height * count / most
        x, top = place * step, room + height - tall
        parts.append(
            f'<rect class="bar" x="{x + 1:.1f}" y="{top:.1f}" width="{step - 2:.1f}" height="{tall:.1f}"/>'
        )
        if count:
            parts.append(f'<text x="{x + step / 2:.1f}" y="{top - 3:.1f}" class="middle">{count}</text>')
    floor, below = room + height, 2 * room + height - 2
    parts.append(f'<line class="axis" x1="0" x2="{width}" y1="{floor}" y2="{floor}"/>')
    middle = len(edges) // 2
    for place, kind in ((0, "start"), (middle, "middle"), (len(edges) - 1, "end")):
        at = place * step
        parts.append(f'<text x="{at:.1f}" y="{below}" class="{kind}">{edges[place]:.4g}</text>')
    return "".join((*parts, "</svg>"))


def strip_svg(
    ends: tuple[float, float],
    mean: float,
    interval: tuple[float, float] | None = None,
    quartiles: Sequence[float] | None = None,
) -> str:
    """A mean as a dot on the range of a metric, its interval as a bar; and a box plot behind it.

    Args:
        ends: of the axis.
        mean: where the dot stands.
        interval: of the mean.
        quartiles: least value, first quartile, median, third quartile and greatest value.
    """
    width, height = _STRIP
    low, high = ends
    middle = height / 2

    def at(value: float) -> float:
        return 4 + (width - 8) * (min(max(value, low), high) - low) / (high - low)

    def wide(left: float, right: float) -> str:
        return f"{max(right - left, 1):.1f}"

    parts = [
        f'<svg class="strip" viewBox="0 0 {width} {height}" aria-hidden="true">',
        f'<line class="axis" x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{middle}" y2="{middle}"/>',
    ]
    if quartiles is not None:
        least, first, median, third, most = map(at, quartiles)
        parts += [
            f'<line class="whisker" x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}"/>',
            f'<rect class="box" x="{first:.1f}" y="3" width="{wide(first, third)}" height="{height - 6}"/>',
            f'<line class="median" x1="{median:.1f}" x2="{median:.1f}" y1="3" y2="{height - 3}"/>',
        ]
    if interval is not None:
        left, right = map(at, interval)
        parts.append(
            f'<rect class="interval" x="{left:.1f}" y="{middle - 2}" width="{wide(left, right)}" height="4"/>'
        )
    parts.append(f'<circle class="mean" cx="{at(mean):.1f}" cy="{middle}" r="4"/>')
    return "".join((*parts, "</svg>"))
