"""Read OpenDocument texts: their elements are written as HTML, text escaped and attributes dropped."""

import posixpath
from collections import defaultdict
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, Style, check_length, numeral
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import parse_xml, read_file, read_number
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

OFFICE, TEXT, TABLE, STYLE, _DRAW, _FO = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "text", "table", "style", "drawing", "xsl-fo-compatible")
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
    f"{_DRAW}control": "form_field",
    f"{_DRAW}image": "image",
    f"{_DRAW}object": "embedded_object",
    f"{_DRAW}object-ole": "embedded_object",
}
_NAMES = {
    "table": "table", "table-header-rows": "thead", "table-row": "tr", "list-item": "li",
    "list-header": "div", "text-box": "div", "section": "div", "note-body": "div",
}  # fmt: skip
_SIGNS = {"tab": "\t", "line-break": "<br>", "covered-table-cell": ""}
_CSS = ("color", "background-color", "font-size")
_MATHS = "{http://www.w3.org/1998/Math/MathML}math"
_ADDRESS = "{http://www.w3.org/1999/xlink}href"
_STYLES = {"Title": "h1", "Preformatted_20_Text": "pre", "Quotations": "blockquote"}
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_TEXTS = (*_PARAGRAPHS, f"{TEXT}list")
_FORMS: dict[str, Style] = {"1": "digits", "a": "letters", "i": "roman"}
_OUTLINE = "/outline"  # no name of a style
_MOST_REPEATED = 100  # blanks, cells or steps to a parent style: more is a mistake, or made to fill memory


class Markup:
    """A pass over a text, whose looks go along as CSS; notes come at the end of their section."""

    def __init__(self, trees: "list[_Element]", omissions: Omissions, archive: Archive | None = None) -> None:
        self.omissions = omissions
        self.archive = archive
        self.styles = {
            style.get(f"{STYLE}name", ""): style for tree in trees for style in tree.iter(f"{STYLE}style")
        }
        lists = [part for tree in trees for part in tree.iter(f"{TEXT}list-style", f"{TEXT}outline-style")]
        self.levels: dict[tuple[str, str], Mapping[str, str]] = {
            (
                _OUTLINE if part.tag.endswith("outline-style") else part.get(f"{STYLE}name", ""),
                level.get(f"{TEXT}level", ""),
            ): {str(key): str(value) for key, value in level.items()}
            for part in lists
            for level in part
        }
        self.looks: dict[str, tuple[str, str]] = {}
        self.lists: list[str] = []
        self.counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.number = ""
        self.notes: list[str] = []

    def of(self, element: "_Element") -> str:
        """Return the content of an element, with the notes that still wait."""
        # programs write text that names no colour white on a dark ground
        return f'<div style="color:unknown">{self._inside(element)}{self._take_notes()}</div>'

    def _inside(self, element: "_Element") -> str:
        parts = [escape(element.text or "")]
        for child in element:
            parts += [self._element(child) if isinstance(child.tag, str) else "", escape(child.tail or "")]
        return "".join(parts)

    def _look_of(self, element: "_Element") -> tuple[str, str]:
        """Return the HTML element and the CSS of a style and its parents."""
        names = (element.get(f"{space}style-name") for space in (TEXT, TABLE, _DRAW))
        name = next(filter(None, names), "")
        if name not in self.looks:
            chain: list[_Element] = []
            bases = [name]
            while bases[-1] in self.styles and len(chain) < _MOST_REPEATED:
                chain.insert(0, self.styles[bases[-1]])
                bases.append(chain[0].get(f"{STYLE}parent-style-name", ""))
            look: dict[str, str] = {}
            for properties in (part for style in chain for part in style):
                look |= {str(key): str(value) for key, value in properties.items() if value != "transparent"}
            lines = [look.get(f"{STYLE}text-line-through-{part}") for part in ("style", "type")]
            css = [f"{part}:{look[_FO + part]}" for part in _CSS if _FO + part in look]
            css += ["display:none"] if look.get(f"{TEXT}display") == "none" else []
            css += ["text-decoration:line-through"] if "none" not in lines and any(lines) else []
            place = look.get(f"{STYLE}text-position", "").partition(" ")[0]
            named = next((_STYLES[base] for base in bases if base in _STYLES), "")
            shifted = "sub" if place.startswith(("sub", "-")) else "sup" if place.strip("0%") else ""
            self.looks[name] = named or shifted, escape(";".join(css))
        return self.looks[name]

    def _element(self, element: "_Element") -> str:
        tag = str(element.tag)
        if tag == f"{_DRAW}object":
            formula = element.find(_MATHS)
            name = posixpath.join(posixpath.normpath(element.get(_ADDRESS, "")), "content.xml")
            if formula is None and self.archive is not None and self.archive.find(name):
                formula = parse_xml(self.archive.read(name), declared_type=True)
            if formula is not None and formula.tag == _MATHS:
                return escape(write_formula(formula, self.omissions))
        hiders = [element, *element.iterchildren(f"{TEXT}hidden-paragraph")]
        is_hidden = any(part.get(f"{TEXT}is-hidden") == "true" for part in hiders)
        if is_hidden or element.get(f"{TEXT}display") == "none" or tag in _LEFT_OUT:
            self.omissions.add(_LEFT_OUT.get(tag, "hidden"), "".join(map(str, element.itertext())))
            return ""
        return self._written(element, tag.rpartition("}")[2])

    def _written(self, element: "_Element", name: str) -> str:
        match name:
            case "p" | "h":
                return self._paragraph(element)
            case "list":
                return self._list(element)
            case "note":
                for part in element:
                    written = self._element(part)
                    self.notes += [written] if part.tag == f"{TEXT}note-body" else []
                return ""
            case "s":
                return " " * min(read_number(element.get(f"{TEXT}c"), 1), _MOST_REPEATED)
        look, css = self._look_of(element)
        inside = _SIGNS[name] if name in _SIGNS else self._inside(element)
        if name == "table-cell":
            columns, rows, repeats = (
                read_number(element.get(f"{TABLE}number-{part}"), 1)
                for part in ("columns-spanned", "rows-spanned", "columns-repeated")
            )
            cell = f'<td style="{css}" colspan="{columns}" rowspan="{rows}">{inside}</td>'
            return cell * min(repeats, _MOST_REPEATED)
        if name == "span":
            look = look or "span"
            return f'<{look} style="{css}">{inside}</{look}>'
        if name not in _NAMES and any(child.tag in _TEXTS for child in element):
            name, css = "text-box", css or "background-image:unknown"  # a shape may be filled with anything
        return f'<{_NAMES[name]} style="{css}">{inside}</{_NAMES[name]}>' if name in _NAMES else inside

    def _paragraph(self, element: "_Element") -> str:
        number, self.number = self.number, ""
        before, (name, css) = "", self._look_of(element)
        if element.tag == f"{TEXT}h":
            level = min(max(read_number(element.get(f"{TEXT}outline-level"), 1), 1), 6)
            before, name = self._take_notes(), f"h{level}"
            if not number and not self.lists and element.get(f"{TEXT}is-list-header") != "true":
                number = self._count(_OUTLINE, level, element)
        name = "p" if name in ("", "sub", "sup") else name
        return f'{before}<{name} style="{css}">{escape(number)}{self._inside(element)}</{name}>'

    def _list(self, element: "_Element") -> str:
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
        counts, definition = self.counts[style], self.levels.get((style, str(level)), {})
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
            above = self.levels.get((style, str(outer)), {})
            if form := above.get(f"{STYLE}num-format", ""):
                number = counts.get(outer, read_number(above.get(f"{TEXT}start-value"), 1))
                parts.append(numeral(number, _FORMS.get(form.lower(), "digits"), upper=form.isupper()))
        affixes = (definition.get(f"{STYLE}num-{name}", "") for name in ("prefix", "suffix"))
        return f"{'.'.join(parts).join(affixes).strip()} "

    def _take_notes(self) -> str:
        notes, self.notes = self.notes, []
        return "".join(notes)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an OpenDocument text."""
    archive = open_archive(source.content) if source.content.startswith(ZIP_START) else None
    trees = [parse_xml(source.content)] if archive is None else read_trees(archive)
    body = trees[0].find(f"{OFFICE}body/{OFFICE}text")
    if body is None:
        raise DocumentFailure("unsupported_format", "the file holds no OpenDocument text")
    omissions = Omissions()
    markup = Markup(trees, omissions, archive).of(body)
    check_length(len(markup) / 8, settings)  # tags and styles included
    blocks = read_fragment(markup, omissions, page=False)
    check_length(sum(len(block.text) for block in blocks), settings)
    about = (holder for tree in trees for holder in tree.iter(f"{OFFICE}meta"))
    return read_file(about, blocks, omissions)


def read_trees(archive: Archive) -> "list[_Element]":
    """Return the roots of the content, and of the styles and the description where they are there."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.name):
        raise DocumentFailure("encrypted", "the content is protected by a password")
    parts = ("content.xml", "styles.xml", "meta.xml")
    return [parse_xml(archive.read(name)) for name in parts if name == parts[0] or archive.find(name)]
