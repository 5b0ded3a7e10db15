"""Elements of an OpenDocument text as HTML.

Text of the file is escaped; no attribute is passed on.
"""

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import parse_xml, read_file, read_number
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_LEFT_OUT = {
    f"{OFFICE}annotation": "comment",
    f"{OFFICE}forms": "form",
    f"{TEXT}tracked-changes": "deleted_text",
    f"{TEXT}table-of-content": "navigation",
    f"{TEXT}alphabetical-index": "navigation",
    f"{TEXT}illustration-index": "navigation",
    f"{TEXT}table-index": "navigation",
    f"{TEXT}note-citation": "footnote_mark",
    f"{TEXT}ruby-text": "ruby",
    f"{_DRAW}image": "image",
    f"{_DRAW}object": "embedded_object",
    f"{_DRAW}object-ole": "embedded_object",
}
_NAMES = {
    f"{TABLE}table": "table",
    f"{TABLE}table-header-rows": "thead",
    f"{TABLE}table-row": "tr",
    f"{TEXT}list-item": "li",
    f"{TEXT}list-header": "div",
    f"{_DRAW}text-box": "div",
}
_MATHS = "{http://www.w3.org/1998/Math/MathML}math"
_ADDRESS = "{http://www.w3.org/1999/xlink}href"
_STYLES = {"Title": "h1", "Preformatted_20_Text": "pre", "Quotations": "blockquote"}
_FORMATS = frozenset({"1", "a", "A", "i", "I"})
_MOST_REPEATED = 100  # blanks, cells or steps to a parent style: more is a mistake, or made to fill memory


class Markup:
    """A pass over a text; notes come at the end of the section that refers to them."""

    def __init__(
        self, trees: "list[_Element]", omissions: Omissions, read_object: "Callable[[str], _Element | None]"
    ) -> None:
        self.omissions = omissions
        self.read_object = read_object
        self.parents: dict[str, str] = {}
        self.looks: dict[str, str] = {}
        self.formats: dict[tuple[str, int], tuple[str, int]] = {}
        self.lists: list[str] = []
        self.counts: dict[str, int] = {}
        self.notes: list[str] = []
        for tree in trees:
            for style in tree.iter(f"{STYLE}style"):
                name = style.get(f"{STYLE}name", "")
                self.parents[name] = style.get(f"{STYLE}parent-style-name", "")
                if look := _look_of(style):
                    self.looks[name] = look
            for listed in tree.iter(f"{TEXT}list-style"):
                self._learn_list(listed)

    def of(self, element: "_Element") -> str:
        """Return the content of an element, with the notes that still wait."""
        return self._inside(element) + self._take_notes()

    def _learn_list(self, listed: "_Element") -> None:
        for level in listed.iterchildren(f"{TEXT}list-level-style-number"):
            key = listed.get(f"{STYLE}name", ""), read_number(level.get(f"{TEXT}level"), 1)
            form = level.get(f"{STYLE}num-format", "")
            self.formats[key] = (form, read_number(level.get(f"{TEXT}start-value"), 1))

    def _inside(self, element: "_Element") -> str:
        parts = [escape(element.text or "")]
        for child in element:
            if isinstance(child.tag, str):
                parts.append(self._element(child))
            parts.append(escape(child.tail or ""))
        return "".join(parts)

    def _element(self, element: "_Element") -> str:
        tag = element.tag
        if tag == f"{_DRAW}object":
            formula = element.find(_MATHS)
            formula = self.read_object(element.get(_ADDRESS, "")) if formula is None else formula
            if formula is not None and formula.tag == _MATHS:
                return escape(write_formula(formula, self.omissions))
        if (what := _LEFT_OUT.get(tag)) or element.get(f"{TEXT}display") == "none":
            self.omissions.add(what or "hidden", "".join(map(str, element.itertext())))
            return ""
        if tag == f"{TEXT}h":
            level = min(max(read_number(element.get(f"{TEXT}outline-level"), 1), 1), 6)
            return f"{self._take_notes()}<h{level}>{self._inside(element)}</h{level}>"
        if tag == f"{TEXT}p":
            name = self._named(element, _STYLES) or "p"
            look = self._named(element, self.looks)
            inside = self._inside(element)
            return f"<{name}>{f'<{look}>{inside}</{look}>' if look else inside}</{name}>"
        if tag == f"{TEXT}list":
            return self._list(element)
        if tag == f"{TEXT}note":
            return self._note(element)
        if tag.startswith(TABLE):
            return self._part_of_table(element)
        return self._spaced(element)

    def _spaced(self, element: "_Element") -> str:
        """Return text with its blanks and line ends, which are elements; others are read as content."""
        if element.tag == f"{TEXT}s":
            return " " * min(read_number(element.get(f"{TEXT}c"), 1), _MOST_REPEATED)
        if element.tag == f"{TEXT}tab":
            return "\t"
        if element.tag == f"{TEXT}line-break":
            return "<br>"
        is_span = element.tag == f"{TEXT}span"
        name = self._named(element, self.looks) if is_span else _NAMES.get(element.tag)
        inside = self._inside(element)
        if name == "li" and (start := element.get(f"{TEXT}start-value")):
            return f'<li value="{read_number(start, 1)}">{inside}</li>'
        return f"<{name}>{inside}</{name}>" if name else inside

    def _named(self, element: "_Element", names: Mapping[str, str]) -> str:
        """Return what the style of an element, or the nearest it is based on, is named as; "" if nothing."""
        style = element.get(f"{TEXT}style-name", "")
        for _ in range(_MOST_REPEATED):
            if style in names or not style:
                break
            style = self.parents.get(style, "")
        return names.get(style, "")

    def _list(self, element: "_Element") -> str:
        """Return a list; one that continues another starts with the number after that one's last."""
        self.lists.append(element.get(f"{TEXT}style-name") or (self.lists[-1] if self.lists else ""))
        style, level = self.lists[-1], len(self.lists)
        form, start = self.formats.get((style, level), ("", 1))
        goes_on = element.get(f"{TEXT}continue-numbering") == "true" or element.get(f"{TEXT}continue-list")
        if goes_on and level == 1:
            start = self.counts.get(style, start)
        inside = self._inside(element)
        self.lists.pop()
        if form not in _FORMATS:
            return f"<ul>{inside}</ul>"
        if level == 1:
            self.counts[style] = start + sum(1 for _ in element.iterchildren(f"{TEXT}list-item"))
        return f'<ol type="{form}" start="{start}">{inside}</ol>'

    def _note(self, element: "_Element") -> str:
        for child in element:
            if child.tag == f"{TEXT}note-body":
                self.notes.append(self._inside(child))
            elif child.tag in _LEFT_OUT:
                self._element(child)
        return ""

    def _take_notes(self) -> str:
        notes, self.notes = self.notes, []
        return "".join(notes)

    def _part_of_table(self, element: "_Element") -> str:
        if element.tag == f"{TABLE}table-cell":
            reach = "".join(
                f' {name}="{read_number(element.get(f"{TABLE}number-{long}-spanned"), 1)}"'
                for name, long in (("colspan", "columns"), ("rowspan", "rows"))
            )
            repeats = min(read_number(element.get(f"{TABLE}number-columns-repeated"), 1), _MOST_REPEATED)
            return f"<td{reach}>{self._inside(element)}</td>" * repeats
        if element.tag == f"{TABLE}covered-table-cell":
            return ""
        return self._spaced(element)


def _look_of(style: "_Element") -> str:
    """Return the element of HTML that text of a style is in, by what it says; "span" for plain text."""
    properties = style.find(f"{STYLE}text-properties")
    if properties is None:
        return ""
    lines = (properties.get(f"{STYLE}text-line-through-{name}", "") for name in ("style", "type"))
    struck = next(filter(None, lines), "")
    place = properties.get(f"{STYLE}text-position", "").partition(" ")[0]
    if struck not in ("", "none"):
        return "del"
    if place.startswith(("sub", "-")):
        return "sub"
    return "sup" if place.strip("0%") else "span" if struck or place else ""


_PARTS = ("content.xml", "styles.xml", "meta.xml")
_PARSER_TEXT = f"{OFFICE}body/{OFFICE}text"


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one OpenDocument text.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `nested_too_deep`, `unsupported_format` or
            `too_long`.
    """
    is_archive = source.content.startswith(ZIP_START)
    archive = open_archive(source.content) if is_archive else None
    trees = [parse_xml(source.content)] if archive is None else read_trees(archive)
    body = trees[0].find(_PARSER_TEXT)
    if body is None:
        raise DocumentFailure("unsupported_format", "the file holds no OpenDocument text")
    omissions = Omissions()
    markup = Markup(trees, omissions, partial(_read_object, archive)).of(body)
    check_length(len(markup) / 4, settings)  # tags included
    blocks = read_fragment(markup, omissions)
    about = (holder for tree in trees for holder in tree.iter(f"{OFFICE}meta"))
    return read_file(about, blocks, omissions)


def _read_object(archive: Archive | None, address: str) -> "_Element | None":
    """Return the content of an object beside the text, such as a formula; None if there is none."""
    name = posixpath.join(posixpath.normpath(address), "content.xml")
    return parse_xml(archive.read(name), declared_type=True) if archive and archive.find(name) else None


def read_trees(archive: Archive) -> "list[_Element]":
    """Return the roots of the content, and of the styles and the description where they are there."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.name):
        raise DocumentFailure("encrypted", "the content is protected by a password")
    return [parse_xml(archive.read(name)) for name in _PARTS if name == _PARTS[0] or archive.find(name)]
