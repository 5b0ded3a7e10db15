"""Charts of Office files as rows: a line for each category with the values of all series.

What belongs here: the values a chart keeps of the sheet behind it. What does not: that sheet, which is an
embedded file, and how a chart looks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.office.drawing import all_text
from qa_pipeline.documents.office.package import CHART
from qa_pipeline.documents.rows import Cell, render_table
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_POINTS = 5_000
_MOST_SERIES = 200
_PERCENT = re.compile(r"0(?:\.(?P<decimals>0+))?%")
_DAY_ZERO = date(1899, 12, 30)
_LAST_DAY = 2_958_465
"""Number of the last day that sheets can name, in the year 9999."""


def read_chart(root: "_Element") -> list[Block]:
    """Title and axes of a chart as a paragraph, its values as table rows; nothing of one too large.

    The name of a series without values, which no row repeats, stands in the paragraph.
    """
    titles = [all_text(title) for title in root.iter(f"{CHART}title")]
    series = list(root.iter(f"{CHART}ser"))
    points = sum(1 for _ in root.iter(f"{CHART}pt"))
    if len(series) > _MOST_SERIES or points > _MOST_POINTS * (len(series) + 1):
        return []
    rows, unused = render_table(_grid(series))
    text = ", ".join(filter(None, [*titles, *unused]))
    return [Block("paragraph", text)] * bool(text) + [Block("table_row", row) for row in rows]


def _grid(series: "Sequence[_Element]") -> list[list[Cell]]:
    names = [_series_name(one) for one in series]
    columns = [_points(one, "val") or _points(one, "yVal") for one in series]
    categories: dict[int, str] = {}
    for one in series:
        categories = {**(_points(one, "cat") or _points(one, "xVal")), **categories}
    places = sorted(set(categories).union(*columns))
    head = [Cell("", header=True), *(Cell(name, header=True) for name in names)]
    return [
        head,
        *(
            [Cell(categories.get(place, "")), *(Cell(column.get(place, "")) for column in columns)]
            for place in places
        ),
    ]


def _series_name(series: "_Element") -> str:
    named = series.find(f"{CHART}tx")
    if named is None:
        return ""
    values = [value.text or "" for value in named.iter(f"{CHART}v")]
    return " ".join(" ".join(values).split()) or all_text(named)


def _points(series: "_Element", name: str) -> dict[int, str]:
    """Values of a series by their places; where categories have levels, the outer ones are put in front."""
    holder = series.find(f"{CHART}{name}")
    if holder is None:
        return {}
    levels = [dict(_level(level)) for level in holder.iter(f"{CHART}lvl")]
    if not levels:
        return dict(_level(holder))
    inner, *outer = levels
    for level in outer:
        starts = sorted(level)
        for place in inner:
            before = bisect_right(starts, place)
            inner[place] = " ".join([*(level[start] for start in starts[before - 1 : before]), inner[place]])
    return inner


def _level(holder: "_Element") -> Iterator[tuple[int, str]]:
    form = next((element.text or "" for element in holder.iter(f"{CHART}formatCode")), "")
    for point in holder.iter(f"{CHART}pt"):
        place = point.get("idx", "")
        value = point.findtext(f"{CHART}v")
        if value is not None and place.isascii() and place.isdecimal():
            yield int(place[:9]), _shown(value.strip(), point.get("formatCode", form))


def _shown(value: str, form: str) -> str:
    """A value as the chart shows it, as far as days and shares are concerned."""
    try:
        number = float(value)
    except ValueError:
        return value
    percent = _PERCENT.fullmatch(form)
    if percent:
        return f"{number * 100:.{len(percent['decimals'] or '')}f} %"
    if re.search("[yY]", re.sub(r'"[^"]*"|\[[^\][]*\]', "", form)) and 0 < number <= _LAST_DAY:
        return (_DAY_ZERO + timedelta(days=int(number))).isoformat()
    return f"{number:.15g}"
