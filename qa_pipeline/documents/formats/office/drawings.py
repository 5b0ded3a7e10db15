"""Text of drawings in Office files: paragraphs of shapes, tables, charts and diagrams."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, STRUCK, settle, write_formula
from qa_pipeline.documents.formats.number_formats import fields_of, show_number
from qa_pipeline.documents.formats.office.package import (
    ALTERNATIVES,
    CHART,
    DIAGRAM,
    DRAWING,
    LINK,
    MATH,
    WORD,
    Package,
    read_number,
    text_of,
)
from qa_pipeline.documents.formats.rows import Cell, render_table
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT = f"{DRAWING}t"
PARAGRAPH = f"{DRAWING}p"
_SMALLEST = 100  # hundredths of a point
CLEAR = "clear"
_RUN, _FIELD, _BREAK = f"{DRAWING}r", f"{DRAWING}fld", f"{DRAWING}br"


def paragraph_text(paragraph: "_Element", omissions: Omissions | None = None, ground: str = "") -> str:
    """Return the text of a paragraph, its line breaks kept; what it leaves out is counted, if asked for.

    Text below 1 pt, without a colour or in the colour of its `ground` is hidden.
    """
    parts: list[str] = []
    counted = omissions or Omissions()
    _collect(paragraph, parts, counted, ground)
    return settle("".join(parts), counted)


def all_text(element: "_Element", omissions: Omissions | None = None) -> str:
    """Return the text of all paragraphs below an element, on one line."""
    lines = (paragraph_text(paragraph, omissions) for paragraph in element.iter(PARAGRAPH))
    return " ".join(" ".join(lines).split())


def _collect(element: "_Element", parts: list[str], omissions: Omissions, ground: str) -> None:
    for child in element:
        if child.tag in (_RUN, _FIELD):
            properties = child.find(f"{DRAWING}rPr")
            colour = colour_of(properties)
            is_tiny = properties is not None and read_number(properties.get("sz"), 1_800) < _SMALLEST
            if is_tiny or colour == CLEAR or (colour and colour == ground):
                omissions.add("hidden", text_of(child, TEXT))
            else:
                parts.append(_run_text(child))
        elif child.tag == _BREAK:
            parts.append("\n")
        elif child.tag == TEXT:
            parts.append(child.text or "")
        elif child.tag == f"{MATH}oMath":
            parts.append(write_formula(child, omissions))
        else:
            _collect(child, parts, omissions, ground)


def colour_of(properties: "_Element | None") -> str:
    """Return the one colour that properties fill with; "" for none of its own."""
    fill = None if properties is None else properties.find(f"{DRAWING}solidFill")
    if properties is None or fill is None:
        return "" if properties is None or properties.find(f"{DRAWING}noFill") is None else CLEAR
    return colours_in(fill)


def colours_in(element: "_Element") -> str:
    """Return the colour below an element, with its changes; those of themes by their usual values."""
    parts = element.iterdescendants(f"{DRAWING}*")
    colours = [(part.tag.removeprefix(DRAWING), part.get("val", "")) for part in parts]
    usual = {"bg1": "FFFFFF", "lt1": "FFFFFF", "tx1": "000000", "dk1": "000000"}
    colours = [("srgbClr", usual[value]) if value in usual else (name, value) for name, value in colours]
    return CLEAR if ("alpha", "0") in colours else " ".join(" ".join(part) for part in colours)


def _run_text(run: "_Element") -> str:
    text = "".join(part.text or "" for part in run.iterchildren(TEXT)).replace("\v", "\n")
    properties = run.find(f"{DRAWING}rPr")
    if properties is None:
        return text
    if properties.get("strike", "noStrike") != "noStrike":
        return f"{STRUCK}{text}{LEVEL}"
    baseline = properties.get("baseline", "0")
    return text if baseline == "0" else f"{LOWERED if baseline[:1] == '-' else RAISED}{text}{LEVEL}"


def chosen_branch(alternatives: "_Element") -> "_Element":
    """Return the first of several forms of content that has text or an equation, else the first."""
    for branch in alternatives:
        if next(branch.iter(TEXT, f"{WORD}t", f"{MATH}t"), None) is not None:
            return branch
    return alternatives[0] if len(alternatives) else alternatives


def unwrap_alternatives(root: "_Element") -> None:
    """Replace content that is given in several forms by the form with text."""
    for alternatives in list(root.iter(f"{ALTERNATIVES}AlternateContent")):
        for child in list(chosen_branch(alternatives)):
            alternatives.addprevious(child)
        if (parent := alternatives.getparent()) is not None:
            parent.remove(alternatives)


_MOST_POINTS = 5_000  # of a series: a chart of more is drawn from a table nobody reads as text
_MOST_SERIES = 200  # as many columns as a row of text can name and still be read
_DAY_ZERO = date(1899, 12, 30)
_LAST_DAY = 2_958_465
"""Number of the last day that sheets can name, in the year 9999."""


class DrawnParts:
    """A reader of charts and diagrams; one that is missing, or gives no text, is counted as left out."""

    def __init__(self, package: Package, omissions: Omissions) -> None:
        self._package = package
        self._omissions = omissions
        self._read_parts: dict[str | None, list[Block]] = {}

    def read(self, part: str, drawing: "_Element") -> list[Block]:
        """Return the blocks of a drawing, by the part that shows it and the element that names it."""
        is_chart = drawing.tag == f"{CHART}chart"
        name, purpose = ("id", "chart") if is_chart else ("dm", "diagramData")
        link = self._package.links(part).get(drawing.get(LINK + name, ""))
        target = link.target if link and link.purpose == purpose else None
        if target not in self._read_parts:
            is_there = target and self._package.archive.find(target)
            read = _read_chart if is_chart else _read_diagram
            self._read_parts[target] = read(self._package.tree(target)) if target and is_there else []
        if not self._read_parts[target]:
            self._omissions.add("chart" if is_chart else "diagram")
        return self._read_parts[target]


def _read_diagram(root: "_Element") -> list[Block]:
    """Return the texts of a diagram as list items; detached ones come last."""
    points = {point.get("modelId", ""): point for point in root.iter(f"{DIAGRAM}pt")}
    links = [link for link in root.iter(f"{DIAGRAM}cxn") if link.get("type", "parOf") == "parOf"]
    below: dict[str, list[str]] = {}
    for link in sorted(links, key=lambda relation: read_number(relation.get("srcOrd"), 0)):
        below.setdefault(link.get("srcId", ""), []).append(link.get("destId", ""))
    depths: dict[str, int] = {}
    pending = [(key, 0) for key in reversed(points) if points[key].get("type") == "doc"]
    while pending:
        key, depth = pending.pop()
        if key in points and key not in depths:
            depths[key] = depth
            pending += [(child, depth + 1) for child in reversed(below.get(key, []))]
    depths |= {key: 1 for key in points if key not in depths}
    nodes = (key for key in depths if points[key].get("type", "node") in ("node", "asst"))
    items = ((all_text(points[key]), max(depths[key] - 1, 0)) for key in nodes)
    return [Block("list_item", text, depth) for text, depth in items if text]


def _read_chart(root: "_Element") -> list[Block]:
    """Return title and axes of a chart as a paragraph, its values as rows; nothing of a huge one.

    The name of a series without values, which no row repeats, is in the paragraph.
    """
    titles = [all_text(title) for title in root.iter(f"{CHART}title")]
    series = list(root.iter(f"{CHART}ser"))
    points = sum(1 for _ in root.iter(f"{CHART}pt"))
    if len(series) > _MOST_SERIES or points > _MOST_POINTS * (len(series) + 1):
        return []
    rows, unused = render_table(_cells_of(series))
    text = ", ".join(filter(None, [*titles, *unused]))
    return [Block("paragraph", text)] * bool(text) + [Block("table_row", row) for row in rows]


def _cells_of(series: "Sequence[_Element]") -> list[list[Cell]]:
    columns = [_read_points(part, "val") or _read_points(part, "yVal") for part in series]
    categories: dict[int, str] = {}
    for part in series:
        categories = {**(_read_points(part, "cat") or _read_points(part, "xVal")), **categories}
    head = [Cell("", header=True), *(Cell(_series_name(part), header=True) for part in series)]
    places = sorted(set(categories).union(*columns))
    rows = ([values.get(place, "") for values in (categories, *columns)] for place in places)
    return [head, *([Cell(text) for text in row] for row in rows)]


def _series_name(series: "_Element") -> str:
    title = series.find(f"{CHART}tx")
    if title is None:
        return ""
    values = " ".join(value.text or "" for value in title.iter(f"{CHART}v"))
    return " ".join(values.split()) or all_text(title)


def _read_points(series: "_Element", name: str) -> dict[int, str]:
    """Return the values of a series by place; of nested categories the outer ones come first."""
    holder = series.find(f"{CHART}{name}")
    if holder is None:
        return {}
    levels = list(holder.iter(f"{CHART}lvl")) or [holder]
    inner, *outer = [dict(_read_level(level)) for level in levels]
    for level in outer:
        name_of_group = ""
        for place in sorted(inner.keys() | level.keys()):
            name_of_group = level.get(place, name_of_group)
            if place in inner:
                inner[place] = f"{name_of_group} {inner[place]}".strip()
    return inner


def _read_level(holder: "_Element") -> Iterator[tuple[int, str]]:
    form = next((element.text or "" for element in holder.iter(f"{CHART}formatCode")), "")
    for point in holder.iter(f"{CHART}pt"):
        place, value = read_number(point.get("idx"), -1), point.findtext(f"{CHART}v")
        if value is not None and place >= 0:
            yield place, _format_value(value.strip(), point.get("formatCode", form))


def _format_value(value: str, form: str) -> str:
    """Return a value as the chart shows it: a day or a number."""
    try:
        number = float(value)
    except ValueError:
        return value
    if "y" in fields_of(form) and 0 < number <= _LAST_DAY:
        return (_DAY_ZERO + timedelta(days=int(number))).isoformat()
    return show_number(number, form) or f"{number:.15g}"
