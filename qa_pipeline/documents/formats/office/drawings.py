"""Text of slides and their charts, without what nobody sees."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.formulas import LEVEL, LOWERED, RAISED, STRUCK, settle, write_formula
from qa_pipeline.documents.formats.number_formats import fields_of, show_number
from qa_pipeline.documents.formats.office.package import CHART, DIAGRAM, DRAWING, MATH, read_number, text_of
from qa_pipeline.documents.formats.rows import Cell, render_table
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT = f"{DRAWING}t"
PARAGRAPH = f"{DRAWING}p"
CLEAR = "clear"
_SMALLEST = 100  # hundredths of a point
_USUAL = {"bg1": "FFFFFF", "lt1": "FFFFFF", "tx1": "000000", "dk1": "000000"}
_MOST_POINTS = 5_000  # of a series: a chart of more is drawn from a table nobody reads as text
_MOST_SERIES = 200  # as many columns as a row of text can name and still be read
_DAY_ZERO = date(1899, 12, 30)
_LAST_DAY = 2_958_465
"""Number of the last day that sheets can name, in the year 9999."""


def paragraph_text(paragraph: "_Element", omissions: Omissions, ground: str = "") -> str:
    """Return the text of a paragraph with its line breaks; count the text left out.

    Text below 1 pt, without a colour or in the colour of its `ground` is hidden.
    """
    return settle("".join(_pieces(paragraph, omissions, ground)), omissions)


def all_text(element: "_Element", omissions: Omissions | None = None) -> str:
    """Return the text of all paragraphs below an element, on one line."""
    counted = omissions or Omissions()
    lines = (paragraph_text(paragraph, counted) for paragraph in element.iter(PARAGRAPH))
    return " ".join(" ".join(lines).split())


def _pieces(element: "_Element", omissions: Omissions, ground: str) -> Iterator[str]:
    for child in element:
        if child.tag in (f"{DRAWING}r", f"{DRAWING}fld"):
            look = child.find(f"{DRAWING}rPr")
            about = child.attrib if look is None else look.attrib
            outline = None if look is None else look.find(f"{DRAWING}ln/{DRAWING}solidFill")
            colour = colour_of(look) if outline is None else ""  # hollow letters are seen
            baseline = about.get("baseline", "0")
            text = text_of(child, TEXT).replace("\v", "\n")
            if read_number(about.get("sz"), 1_800) < _SMALLEST or (colour and colour in (CLEAR, ground)):
                omissions.add("hidden", text)
            elif about.get("strike", "noStrike") != "noStrike":
                yield f"{STRUCK}{text}{LEVEL}"
            elif baseline.strip("-0%"):
                yield f"{LOWERED if baseline[0] == '-' else RAISED}{text}{LEVEL}"
            else:
                yield text
        elif child.tag == f"{DRAWING}br":
            yield "\n"
        elif child.tag == TEXT:
            yield child.text or ""
        elif child.tag == f"{MATH}oMath":
            yield write_formula(child, omissions)
        else:
            yield from _pieces(child, omissions, ground)


def colour_of(properties: "_Element | None") -> str:
    """Return the one colour that properties fill with; "" for none of its own."""
    if properties is None:
        return ""
    fill = properties.find(f"{DRAWING}solidFill")
    if fill is not None:
        return colours_in(fill)
    return "" if properties.find(f"{DRAWING}noFill") is None else CLEAR


def colours_in(element: "_Element") -> str:
    """Return the colour below an element, with its changes; those of themes by their usual values."""
    parts = [
        (part.tag.removeprefix(DRAWING), part.get("val", ""))
        for part in element.iterdescendants(f"{DRAWING}*")
    ]
    named = [("srgbClr", _USUAL[value]) if value in _USUAL else (name, value) for name, value in parts]
    return CLEAR if ("alpha", "0") in named else " ".join(" ".join(part) for part in named)


def read_diagram(root: "_Element") -> list[Block]:
    """Return the texts of a diagram as list items; detached ones come last."""
    points = {point.get("modelId", ""): point for point in root.iter(f"{DIAGRAM}pt")}
    links = [link for link in root.iter(f"{DIAGRAM}cxn") if link.get("type", "parOf") == "parOf"]
    below: dict[str, list[str]] = {}
    for link in sorted(links, key=lambda link: read_number(link.get("srcOrd"), 0), reverse=True):
        below.setdefault(link.get("srcId", ""), []).append(link.get("destId", ""))
    depths: dict[str, int] = {}
    pending = [(key, 0) for key in reversed(points)]  # those that a document holds come first
    pending += [(key, -1) for key, point in points.items() if point.get("type") == "doc"]
    while pending:
        key, depth = pending.pop()
        if key in points and key not in depths:
            depths[key] = depth
            pending += [(child, depth + 1) for child in below.get(key, [])]
    texts = [(all_text(points[key]), depth) for key, depth in depths.items() if _is_node(points[key])]
    return [Block("list_item", text, max(depth, 0)) for text, depth in texts if text]


def _is_node(point: "_Element") -> bool:
    return point.get("type", "node") in ("node", "asst")


def read_chart(root: "_Element") -> list[Block]:
    """Return title and axes of a chart as a paragraph, its values as rows; nothing of a huge one.

    The name of a series without values, which no row repeats, is in the paragraph.
    """
    series = list(root.iter(f"{CHART}ser"))
    points = sum(1 for _ in root.iter(f"{CHART}pt"))
    if len(series) > _MOST_SERIES or points > _MOST_POINTS * (len(series) + 1):
        return []
    rows, unused = render_table(_cells_of(series))
    text = ", ".join(filter(None, [*map(all_text, root.iter(f"{CHART}title")), *unused]))
    return [Block("paragraph", text)] * bool(text) + [Block("table_row", row) for row in rows]


def _cells_of(series: "Sequence[_Element]") -> list[list[Cell]]:
    columns = [_read_points(part, "val") or _read_points(part, "yVal") for part in series]
    categories: dict[int, str] = {}
    head = [Cell("", header=True)]
    for part in series:
        categories = {**(_read_points(part, "cat") or _read_points(part, "xVal")), **categories}
        title = part.find(f"{CHART}tx")
        name = "" if title is None else text_of(title, f"{CHART}v") or all_text(title)
        head.append(Cell(" ".join(name.split()), header=True))
    places = sorted(set(categories).union(*columns))
    return [head, *([Cell(part.get(place, "")) for part in (categories, *columns)] for place in places)]


def _read_points(series: "_Element", name: str) -> dict[int, str]:
    """Return the values of a series by place; of nested categories the outer ones come first."""
    holder = series.find(f"{CHART}{name}")
    if holder is None:
        return {}
    form = next((element.text or "" for element in holder.iter(f"{CHART}formatCode")), "")
    inner, *outer = [
        {
            read_number(point.get("idx"), -1): _show(value.strip(), point.get("formatCode", form))
            for point in level.iter(f"{CHART}pt")
            if (value := point.findtext(f"{CHART}v")) is not None
        }
        for level in list(holder.iter(f"{CHART}lvl")) or [holder]
    ]
    for level in outer:
        group = ""
        for place in sorted(inner.keys() | level.keys()):
            group = level.get(place, group)
            if place in inner:
                inner[place] = f"{group} {inner[place]}".strip()
    return inner


def _show(value: str, form: str) -> str:
    """Return a value as the chart shows it: a day or a number."""
    try:
        number = float(value)
    except ValueError:
        return value
    if "y" in fields_of(form) and 0 < number <= _LAST_DAY:
        return (_DAY_ZERO + timedelta(days=int(number))).isoformat()
    return show_number(number, form) or f"{number:.15g}"
