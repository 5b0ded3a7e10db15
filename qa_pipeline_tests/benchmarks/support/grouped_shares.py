"""Shares of what benchmarks count, with intervals that take rows of one group as alike."""

from collections.abc import Iterable

import numpy as np

from qa_pipeline.statistics import Floats, Sums, mean_bounds, number


def share_by_group(rows: Iterable[tuple[str, float, float]]) -> list[float | None]:
    """Return a share with the ends of its 95 % interval by groups (`statistics.mean_bounds`), to four digits.

    Args:
        rows: group, part and whole of each; groups may come in any order.
    """
    sums: dict[str, Floats] = {}
    for group, part, whole in rows:
        sums[group] = sums.get(group, np.zeros(2)) + np.array([part, whole])
    totals, counts = np.array([*sums.values()]).reshape(-1, 2).T[:, :, None]
    grouped = Sums(totals, counts)
    low, high = mean_bounds(grouped, np.zeros(1), np.ones(1))
    return [number(np.round(figure[0], 4)) for figure in (grouped.means, low, high)]
