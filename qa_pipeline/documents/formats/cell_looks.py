"""How the cells of a spreadsheet look: formats of their numbers, struck-out and raised text.

Read beside the values and only where a file has such looks, row by row, since sheets are large.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.corpus.archives import Archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import LEVEL, SCRIPTS, STRUCK
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.number_formats import BUILT_IN
from qa_pipeline.documents.formats.odt import OFFICE, TABLE, TEXT, Markup
from qa_pipeline.documents.formats.office.package import LINK, Package, parse_xml, read_number

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_REPEATED = 100  # equal cells or rows that an ODS writes as one: more are blank, or made to fill memory
_FALSE = frozenset({"0", "false"})


class Look(NamedTuple):
    """The number format of a cell, its text as shown where that is known, and whether it is struck out."""

    form: str = ""
    text: str | None = None
    is_struck: bool = False


RowLooks = Iterator[tuple[int, Mapping[int, Look]]]
Looks = Callable[[int, Omissions], RowLooks]
"""Yields the rows of a sheet that have looks, with their numbers; the sheet is named by its place."""


def looks_of(archive: Archive) -> Looks:
    """Return what yields the looks of the sheets of an XLSX or ODS file."""
    if archive.find("content.xml") is not None:
        root = parse_xml(archive.read("content.xml"))
        tables = root.findall(f"{OFFICE}body/{OFFICE}spreadsheet/{TABLE}table")
        return lambda place, omissions: _rows_of_table(root, tables[place : place + 1], omissions)
    package = Package(archive)
    book = next(iter(package.linked("", "officeDocument")), "")
    sheets = package.tree(book).iterfind("{*}sheets/{*}sheet") if book else ()
    links = [package.links(book).get(sheet.get(f"{LINK}id", "")) for sheet in sheets]
    parts = [link.target if link else None for link in links]
    styles = [look for root in package.trees(book, "styles") for look in _styles(root)]
    strings = {
        place: text
        for name in package.linked(book, "sharedStrings")
        for place, text in _rich_strings(archive.read(name))
    }

    def rows(place: int, _: Omissions) -> RowLooks:
        part = parts[place] if place < len(parts) else None
        if part and archive.find(part) and (strings or any(look != Look() for look in styles)):
            yield from _rows_of_sheet(archive.read(part), styles, strings)

    return rows


def _styles(root: "_Element") -> Iterator[Look]:
    custom_formats = {
        form.get("numFmtId"): form.get("formatCode", "") for form in root.iterfind("{*}numFmts/{*}numFmt")
    }
    struck = [_is_on(font.find("{*}strike")) for font in root.iterfind("{*}fonts/{*}font")]
    for style in root.iterfind("{*}cellXfs/{*}xf"):
        number, font = style.get("numFmtId", "0"), read_number(style.get("fontId"), 0)
        form = custom_formats.get(number) or BUILT_IN.get(read_number(number, 0), "")
        yield Look(form, None, font < len(struck) and struck[font])


def _is_on(switch: "_Element | None") -> bool:
    return switch is not None and switch.get("val", "1") not in _FALSE


def _rich_strings(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the shared strings that are raised, lowered or struck out in part, by their places."""
    if b"strike" in content or b"vertAlign" in content:
        for place, (_, string) in enumerate(_elements(content, "{*}si")):
            if (text := _rich_text(string)) is not None:
                yield place, text


def _rich_text(string: "_Element") -> str | None:
    parts: list[str] = []
    for run in string.iterfind("{*}r"):
        place = run.find("{*}rPr/{*}vertAlign")
        sign = "" if place is None else SCRIPTS.get(place.get("val", ""), "")
        sign = STRUCK if _is_on(run.find("{*}rPr/{*}strike")) else sign
        text = run.findtext("{*}t") or ""
        parts.append(f"{sign}{text}{LEVEL}" if sign else text)
    text = "".join(parts)
    return text if LEVEL in text else None


def _elements(content: bytes, tag: str) -> "Iterator[tuple[str, _Element]]":
    """Yield the elements of a name, each gone again once it was looked at.

    Raises:
        DocumentFailure: `damaged`.
    """
    from lxml import etree

    parsed = etree.iterparse(
        io.BytesIO(content), tag=tag, resolve_entities=False, no_network=True, load_dtd=False
    )
    try:
        for event, element in parsed:
            yield event, element
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError as error:
        raise DocumentFailure("damaged", f"the XML of a part is malformed at line {error.lineno}") from error


def _rows_of_sheet(content: bytes, styles: list[Look], strings: Mapping[int, str]) -> RowLooks:
    for _, row in _elements(content, "{*}row"):
        looks = {}
        number = read_number(row.get("r"), 0) - 1
        for cell in row:
            style, kind = read_number(cell.get("s"), 0), cell.get("t")
            look = styles[style] if style < len(styles) else Look()
            if kind == "s":
                look = look._replace(text=strings.get(read_number(cell.findtext("{*}v"), -1)))
            elif kind == "inlineStr":
                inline = cell.find("{*}is")
                look = look._replace(text=None if inline is None else _rich_text(inline))
            column = _column(cell.get("r", ""))
            if look != Look() and column >= 0:
                looks[column] = look
        if looks:
            yield number, looks


def _column(reference: str) -> int:
    """Return the number of the column of a cell such as `AB12`, from 0; -1 where it is none."""
    number = 0
    for letter in reference[:4].upper():
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _rows_of_table(root: "_Element", tables: "list[_Element]", omissions: Omissions) -> RowLooks:
    markup = Markup([root], omissions, lambda _: None)
    number = 0
    for row in (row for table in tables for row in table.iter(f"{TABLE}table-row")):
        looks: dict[int, Look] = {}
        column = 0
        for cell in row:
            repeated = read_number(cell.get(f"{TABLE}number-columns-repeated"), 1)
            text = None
            if next(cell.iter(f"{TEXT}span"), None) is not None:
                text = " ".join(block.text for block in read_fragment(markup.of(cell), omissions))
            elif cell.get(f"{OFFICE}value-type", "string") != "string":
                text = " ".join("".join(map(str, line.itertext())) for line in cell.iterfind(f"{TEXT}p"))
            if text is not None:
                looks |= {column + place: Look("", text) for place in range(min(repeated, _MOST_REPEATED))}
            column += repeated
        repeated = read_number(row.get(f"{TABLE}number-rows-repeated"), 1)
        for place in range(min(repeated, _MOST_REPEATED) if looks else 0):
            yield number + place, looks
        number += repeated
