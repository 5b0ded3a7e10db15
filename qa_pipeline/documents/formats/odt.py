"""OpenDocument texts: their elements as HTML. Text of the file is escaped; no attribute is passed on."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, Style, check_length, numeral
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.boilerplate import looks_alike
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import parse_xml, read_file, read_number
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

OFFICE, TEXT, TABLE, STYLE, _DRAW, _FORM, _FO = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "text", "table", "style", "drawing", "form", "xsl-fo-compatible")
)
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
    f"{TEXT}placeholder": "placeholder",
    f"{_DRAW}image": "image",
    f"{_DRAW}object": "embedded_object",
    f"{_DRAW}object-ole": "embedded_object",
}
_NAMES = {f"{TABLE}table": "table", f"{TABLE}table-header-rows": "thead", f"{TABLE}table-row": "tr"}
_NAMES |= {
    f"{TEXT}list": "ul",
    f"{TEXT}list-item": "li",
    f"{TEXT}list-header": "div",
    f"{_DRAW}text-box": "div",
}
_SIGNS = {f"{TEXT}tab": "\t", f"{TEXT}line-break": "<br>", f"{TABLE}covered-table-cell": ""}
_MATHS = "{http://www.w3.org/1998/Math/MathML}math"
_ADDRESS = "{http://www.w3.org/1999/xlink}href"
_STYLES = {"Title": "h1", "Preformatted_20_Text": "pre", "Quotations": "blockquote"}
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_FORMS: dict[str, Style] = {"1": "digits", "a": "letters", "i": "roman"}
_OUTLINE = "/outline"  # no name of a style
_MOST_REPEATED = 100  # blanks, cells or steps to a parent style: more is a mistake, or made to fill memory


class Markup:
    """A pass over a text; notes come at the end of the section that refers to them."""

    def __init__(
        self, trees: "list[_Element]", omissions: Omissions, read_object: "Callable[[str], _Element | None]"
    ) -> None:
        self.omissions = omissions
        self.read_object = read_object
        self.styles = {
            style.get(f"{STYLE}name", ""): style for tree in trees for style in tree.iter(f"{STYLE}style")
        }
        lists = [part for tree in trees for part in tree.iter(f"{TEXT}list-style", f"{TEXT}outline-style")]
        self.levels = {
            (
                _OUTLINE if part.tag.endswith("outline-style") else part.get(f"{STYLE}name"),
                level.get(f"{TEXT}level"),
            ): level
            for part in lists
            for level in part
        }
        fields = ("{*}checkbox", "{*}radio", "{*}listbox", "{*}text")
        controls = (control for tree in trees for control in tree.iter(*fields))
        self.controls = {control.get(f"{_FORM}id", ""): control for control in controls}
        self.looks: dict[str, dict[str, str]] = {}
        self.look: Mapping[str, str] = {}
        self.ground = "#ffffff"
        self.lists: list[str] = []
        self.counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.number = ""
        self.notes: list[str] = []

    def of(self, element: "_Element") -> str:
        """Return the content of an element, with the notes that still wait."""
        return self._inside(element) + self._take_notes()

    def _inside(self, element: "_Element") -> str:
        parts = [self._text(element.text or "")]
        for child in element:
            parts += [self._element(child), self._text(child.tail or "")]
        return "".join(parts)

    def _text(self, text: str) -> str:
        """Return text as it looks; what nobody sees is counted."""
        if not self.look or not text.strip():
            return escape(text)
        colour = self.look.get(f"{_FO}color", "")
        marker = self.look.get(f"{_FO}background-color", "transparent")
        size = self.look.get(f"{_FO}font-size", "").removesuffix("pt")
        is_tiny = size.replace(".", "", 1).isdecimal() and float(size) < 1
        blends = looks_alike(colour, self.ground if marker == "transparent" else marker)
        if self.look.get(f"{TEXT}display") == "none" or is_tiny or blends:
            self.omissions.add("hidden", text)
            return ""
        lines = [self.look.get(f"{STYLE}text-line-through-{name}") for name in ("style", "type")]
        if "none" not in lines and any(lines):
            self.omissions.add("deleted_text", text)
            return ""
        place = self.look.get(f"{STYLE}text-position", "").partition(" ")[0]
        name = "sub" if place.startswith(("sub", "-")) else "sup" if place.strip("0%") else ""
        return f"<{name}>{escape(text)}</{name}>" if name else escape(text)

    def _element(self, element: "_Element") -> str:
        """Return an element in the look of its style, which ends with it."""
        if not isinstance(element.tag, str):
            return ""
        look, ground = self.look, self.ground
        names = (element.get(f"{space}style-name") for space in (TEXT, TABLE, _DRAW))
        look_of_style = self._look_of(next(filter(None, names), ""))
        if element.tag != f"{TEXT}span":
            self.look = look if element.tag.startswith(TEXT) and element.tag not in _PARAGRAPHS else {}
            shape = "" if element.tag.startswith(_DRAW) else ground  # its fill may be anything
            self.ground = look_of_style.get("ground", shape)
        if element.tag in (f"{TEXT}span", *_PARAGRAPHS):
            self.look = {**self.look, **look_of_style}
        try:
            return self._written(element)
        finally:
            self.look, self.ground = look, ground

    def _look_of(self, name: str) -> dict[str, str]:
        """Return the text properties of a style and its parents, with its `ground` and HTML `name`."""
        if name not in self.looks:
            chain: list[_Element] = []
            style = self.styles.get(name)
            while style is not None and len(chain) < _MOST_REPEATED:
                chain.insert(0, style)
                style = self.styles.get(style.get(f"{STYLE}parent-style-name", ""))
            bases = [name, *(style.get(f"{STYLE}parent-style-name", "") for style in reversed(chain))]
            names = [_STYLES[base] for base in bases if base in _STYLES]
            look = {"name": names[-1]} if names else {}
            for properties in (part for style in chain for part in style):
                if properties.tag == f"{STYLE}text-properties":
                    look |= {str(key): str(value) for key, value in properties.items()}
                elif properties.get(f"{_FO}background-color", "transparent") != "transparent":
                    look["ground"] = properties.get(f"{_FO}background-color", "")
            self.looks[name] = look
        return self.looks[name]

    def _written(self, element: "_Element") -> str:
        tag = str(element.tag)
        if tag == f"{_DRAW}object":
            inner = element.find(_MATHS)
            formula = self.read_object(element.get(_ADDRESS, "")) if inner is None else inner
            if formula is not None and formula.tag == _MATHS:
                return escape(write_formula(formula, self.omissions))
        hiders = [element, *element.iterchildren(f"{TEXT}hidden-paragraph")]
        is_hidden = any(part.get(f"{TEXT}is-hidden") == "true" for part in hiders)
        if is_hidden or element.get(f"{TEXT}display") == "none" or tag in _LEFT_OUT:
            self.omissions.add(_LEFT_OUT.get(tag, "hidden"), "".join(map(str, element.itertext())))
            return ""
        writers = {
            **dict.fromkeys(_PARAGRAPHS, self._paragraph),
            f"{TEXT}list": self._list,
            f"{TEXT}note": self._note,
            f"{TABLE}table-cell": self._cell,
        }
        if tag in writers:
            return writers[tag](element)
        if tag == f"{TEXT}s":
            return " " * min(read_number(element.get(f"{TEXT}c"), 1), _MOST_REPEATED)
        if tag == f"{_DRAW}control":
            return escape(_state_of(self.controls.get(element.get(f"{_DRAW}control", ""))))
        inside = _SIGNS[tag] if tag in _SIGNS else self._inside(element)
        return f"<{_NAMES[tag]}>{inside}</{_NAMES[tag]}>" if tag in _NAMES else inside

    def _note(self, element: "_Element") -> str:
        for part in element:
            written = self._element(part)
            self.notes += [written] if part.tag == f"{TEXT}note-body" else []
        return ""

    def _cell(self, element: "_Element") -> str:
        columns, rows, repeats = (
            read_number(element.get(f"{TABLE}number-{name}"), 1)
            for name in ("columns-spanned", "rows-spanned", "columns-repeated")
        )
        cell = f'<td colspan="{columns}" rowspan="{rows}">{self._inside(element)}</td>'
        return cell * min(repeats, _MOST_REPEATED)

    def _paragraph(self, element: "_Element") -> str:
        """Return a paragraph or heading with the number of its list item or chapter."""
        number, self.number = self.number, ""
        before = ""
        if element.tag == f"{TEXT}h":
            level = min(max(read_number(element.get(f"{TEXT}outline-level"), 1), 1), 6)
            before, name = self._take_notes(), f"h{level}"
            if not number and not self.lists and element.get(f"{TEXT}is-list-header") != "true":
                number = self._count(_OUTLINE, level, element)
        else:
            name = self._look_of(element.get(f"{TEXT}style-name", "")).get("name", "p")
        return f"{before}<{name}>{escape(number)}{self._inside(element)}</{name}>"

    def _list(self, element: "_Element") -> str:
        """Return a list; one that goes on with another of its style counts on."""
        self.lists.append(element.get(f"{TEXT}style-name") or (self.lists[-1] if self.lists else ""))
        style, level = self.lists[-1], len(self.lists)
        goes_on = element.get(f"{TEXT}continue-numbering") == "true" or element.get(f"{TEXT}continue-list")
        if not goes_on:
            counts = self.counts[style].items()
            self.counts[style] = {depth: count for depth, count in counts if depth < level}
        items = []
        for item in element:
            if item.tag == f"{TEXT}list-item" and len(item) and item[0].tag in _PARAGRAPHS:
                self.number = self._count(style, level, item)
            items.append(self._element(item))
            self.number = ""
        self.lists.pop()
        return f"<ul>{''.join(items)}</ul>"

    def _count(self, style: str, level: int, element: "_Element") -> str:
        """Return the number of the next item or chapter of a level as it is parts; "" for a bullet."""
        counts, definition = self.counts[style], self._level(style, level)
        start = read_number(definition.get(f"{TEXT}start-value"), 1)
        following = counts[level] + 1 if level in counts else start
        counts[level] = read_number(element.get(f"{TEXT}start-value"), following)
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if not definition.get(f"{STYLE}num-format"):
            return ""
        depth = min(read_number(definition.get(f"{TEXT}display-levels"), 1), level)
        parts = []
        for outer in range(level - depth + 1, level + 1):
            above = self._level(style, outer)
            if form := above.get(f"{STYLE}num-format", ""):
                number = counts.get(outer, read_number(above.get(f"{TEXT}start-value"), 1))
                parts.append(numeral(number, _FORMS.get(form.lower(), "digits"), upper=form.isupper()))
        affixes = (definition.get(f"{STYLE}num-{name}", "") for name in ("prefix", "suffix"))
        return f"{'.'.join(parts).join(affixes).strip()} "

    def _level(self, style: str, level: int) -> "Mapping[str, str]":
        definition = self.levels.get((style, str(level)))
        return {} if definition is None else {str(key): str(value) for key, value in definition.items()}

    def _take_notes(self) -> str:
        notes, self.notes = self.notes, []
        return "".join(notes)


def _state_of(control: "_Element | None") -> str:
    """Return what a field of a form shows: a box with its label, or a value."""
    if control is None:
        return ""
    label, name = control.get(f"{_FORM}label", ""), control.tag.rpartition("}")[2]
    if name in ("checkbox", "radio"):
        marks = (control.get(f"{_FORM}current-{what}", "") for what in ("state", "selected"))
        return f"{'☒' if any(mark in ('checked', 'true') for mark in marks) else '☐'} {label}"
    chosen = control.find(f"{_FORM}option[@{_FORM}current-selected='true']")
    value = control.get(f"{_FORM}value", "") if chosen is None else chosen.get(f"{_FORM}label", "")
    return control.get(f"{_FORM}current-value") or value


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one OpenDocument text.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `archive_bomb`, `nested_too_deep`, `unsupported_format` or
            `too_long`.
    """
    archive = open_archive(source.content) if source.content.startswith(ZIP_START) else None
    trees = [parse_xml(source.content)] if archive is None else read_trees(archive)
    body = trees[0].find(f"{OFFICE}body/{OFFICE}text")
    if body is None:
        raise DocumentFailure("unsupported_format", "the file holds no OpenDocument text")
    omissions = Omissions()
    markup = Markup(trees, omissions, partial(_read_object, archive)).of(body)
    check_length(len(markup) / 4, settings)  # tags included
    about = (holder for tree in trees for holder in tree.iter(f"{OFFICE}meta"))
    return read_file(about, read_fragment(markup, omissions, page=False), omissions)


def _read_object(archive: Archive | None, address: str) -> "_Element | None":
    """Return the content of an object beside the text, such as a formula; None if there is none."""
    name = posixpath.join(posixpath.normpath(address), "content.xml")
    return parse_xml(archive.read(name), declared_type=True) if archive and archive.find(name) else None


def read_trees(archive: Archive) -> "list[_Element]":
    """Return the roots of the content, and of the styles and the description where they are there."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.name):
        raise DocumentFailure("encrypted", "the content is protected by a password")
    parts = ("content.xml", "styles.xml", "meta.xml")
    return [parse_xml(archive.read(name)) for name in parts if name == parts[0] or archive.find(name)]
