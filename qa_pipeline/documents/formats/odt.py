"""Read OpenDocument texts: their elements are written as HTML, text escaped and attributes dropped."""

import posixpath
from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from qa_pipeline.documents.assembly import Omissions, Style, check_length, numeral
from qa_pipeline.documents.corpus.archives import ZIP_START, Archive, open_archive
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import shift_of, write_formula
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
_HTML_NAMES = {
    "table": "table", "table-header-rows": "thead", "table-row": "tr", "list-item": "li",
    "list-header": "div", "text-box": "div", "section": "div", "note-body": "div",
}  # fmt: skip
_SIGNS = {"tab": "\t", "line-break": "<br>", "covered-table-cell": ""}
_CSS = ("color", "background-color", "font-size")
_MATHS = "{http://www.w3.org/1998/Math/MathML}math"
_ADDRESS = "{http://www.w3.org/1999/xlink}href"
_HTML_OF_STYLE = {"Title": "h1", "Preformatted_20_Text": "pre", "Quotations": "blockquote"}
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_TEXTS = (*_PARAGRAPHS, f"{TEXT}list")
_FORMS: dict[str, Style] = {"1": "digits", "a": "letters", "i": "roman"}
_OUTLINE = "/outline"  # the list of chapters; no name of a style
_MOST_REPEATED = 100  # blanks, cells or steps to a parent style: more is a mistake, or made to fill memory


class _Look(NamedTuple):
    """The HTML element of a style, "" for a plain paragraph or span, and its CSS."""

    html_name: str
    css: str


class _Markup:
    """A pass over a text that writes it as HTML; notes come at the end of their section."""

    def __init__(self, trees: "list[_Element]", omissions: Omissions, archive: Archive | None) -> None:
        self.omissions = omissions
        self.archive = archive
        self.styles = {
            style.get(f"{STYLE}name", ""): style for tree in trees for style in tree.iter(f"{STYLE}style")
        }
        self.levels: dict[tuple[str, int], _Element] = {}  # by style of the list, and level from 1
        lists = (part for tree in trees for part in tree.iter(f"{TEXT}list-style", f"{TEXT}outline-style"))
        for part in lists:
            name = _OUTLINE if part.tag == f"{TEXT}outline-style" else part.get(f"{STYLE}name", "")
            self.levels |= {(name, read_number(level.get(f"{TEXT}level"), 0)): level for level in part}
        self.looks: dict[str, _Look] = {}
        self.open_lists: list[str] = []  # their styles
        self.counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.number = ""  # of the next paragraph
        self.notes: list[str] = []

    def of(self, element: "_Element") -> str:
        """Return the content of an element as HTML, with its notes."""
        # programs write text without a colour white on a dark ground
        return f'<div style="color:unknown">{self._inside(element)}{self._take_notes()}</div>'

    def _inside(self, element: "_Element") -> str:
        """Return the texts and elements inside an element as HTML."""
        parts = [escape(element.text or "")]
        for child in element:
            parts += [self._element(child) if isinstance(child.tag, str) else "", escape(child.tail or "")]
        return "".join(parts)

    def _look_of(self, element: "_Element") -> _Look:
        """Return the look of a style and its parents."""
        names = (element.get(f"{space}style-name") for space in (TEXT, TABLE, _DRAW))
        name = next(filter(None, names), "")
        if name not in self.looks:
            self.looks[name] = self._resolve(name)
        return self.looks[name]

    def _resolve(self, name: str) -> _Look:
        """Return the properties of a style, which override the properties of its parents."""
        style_names = [name]  # the style, then its parents
        properties: dict[str, str] = {}
        while style_names[-1] in self.styles and len(style_names) < _MOST_REPEATED:
            style = self.styles[style_names[-1]]
            own = {str(key): str(value) for part in style for key, value in part.items()}
            properties = {key: value for key, value in own.items() if value != "transparent"} | properties
            style_names.append(style.get(f"{STYLE}parent-style-name", ""))
        css = [f"{name}:{properties[_FO + name]}" for name in _CSS if _FO + name in properties]
        if properties.get(f"{TEXT}display") == "none":
            css.append("display:none")
        lines = [properties.get(f"{STYLE}text-line-through-{part}") for part in ("style", "type")]
        if any(lines) and "none" not in lines:
            css.append("text-decoration:line-through")
        shift = shift_of(properties.get(f"{STYLE}text-position", ""))
        html_names = (_HTML_OF_STYLE[name] for name in style_names if name in _HTML_OF_STYLE)
        return _Look(next(html_names, shift), escape(";".join(css)))

    def _element(self, element: "_Element") -> str:
        """Return an element as HTML, "" if it is counted as left out; a note waits for `_take_notes`."""
        tag = str(element.tag)
        if tag == f"{_DRAW}object" and (formula := self._formula_in(element)) is not None:
            return escape(write_formula(formula, self.omissions))
        hiders = [element, *element.iterchildren(f"{TEXT}hidden-paragraph")]
        is_hidden = any(hider.get(f"{TEXT}is-hidden") == "true" for hider in hiders)
        if is_hidden or element.get(f"{TEXT}display") == "none" or tag in _LEFT_OUT:
            self.omissions.add(_LEFT_OUT.get(tag, "hidden"), "".join(map(str, element.itertext())))
            return ""
        match name := tag.rpartition("}")[2]:
            case "p" | "h":
                return self._paragraph(element)
            case "list":
                return self._list(element)
            case "note":
                for part in element:
                    written = self._element(part)
                    if part.tag == f"{TEXT}note-body":  # the rest is its mark, which is counted
                        self.notes.append(written)
                return ""
            case "s":
                return " " * min(read_number(element.get(f"{TEXT}c"), 1), _MOST_REPEATED)
        return self._other_element(element, name)

    def _formula_in(self, element: "_Element") -> "_Element | None":
        """Return the MathML inside an object, or in the part of the file that it links to."""
        formula = element.find(_MATHS)
        part = posixpath.join(posixpath.normpath(element.get(_ADDRESS, "")), "content.xml")
        if formula is None and self.archive is not None and self.archive.find(part):
            formula = parse_xml(self.archive.read(part), declared_type=True)
        return formula if formula is not None and formula.tag == _MATHS else None

    def _other_element(self, element: "_Element", name: str) -> str:
        """Return a cell, span, part of a table, shape or sign as HTML; `name` is its tag."""
        html_name, css = self._look_of(element)
        inside = _SIGNS[name] if name in _SIGNS else self._inside(element)
        if name == "table-cell":
            columns, rows, repeats = (
                read_number(element.get(f"{TABLE}number-{part}"), 1)
                for part in ("columns-spanned", "rows-spanned", "columns-repeated")
            )
            cell = f'<td style="{css}" colspan="{columns}" rowspan="{rows}">{inside}</td>'
            return cell * min(repeats, _MOST_REPEATED)
        if name == "span":
            return f'<{html_name or "span"} style="{css}">{inside}</{html_name or "span"}>'
        if name in _HTML_NAMES:
            return f'<{_HTML_NAMES[name]} style="{css}">{inside}</{_HTML_NAMES[name]}>'
        if any(child.tag in _TEXTS for child in element):  # a shape, which may be filled with anything
            return f'<div style="{css or "background-image:unknown"}">{inside}</div>'
        return inside

    def _paragraph(self, element: "_Element") -> str:
        """Return a paragraph or heading with its number; notes of the section above come before a heading."""
        number, self.number = self.number, ""
        html_name, css = self._look_of(element)
        notes = ""
        if element.tag == f"{TEXT}h":
            level = min(max(read_number(element.get(f"{TEXT}outline-level"), 1), 1), 6)
            notes = self._take_notes()
            html_name = f"h{level}"
            if not number and not self.open_lists and element.get(f"{TEXT}is-list-header") != "true":
                number = self._count(_OUTLINE, level, element)
        html_name = "p" if html_name in ("", "sub", "sup") else html_name
        return f'{notes}<{html_name} style="{css}">{escape(number)}{self._inside(element)}</{html_name}>'

    def _list(self, element: "_Element") -> str:
        """Return a list as HTML, its items numbered by the text before them."""
        outer_style = self.open_lists[-1] if self.open_lists else ""
        style = element.get(f"{TEXT}style-name") or outer_style
        self.open_lists.append(style)
        level = len(self.open_lists)
        if element.get(f"{TEXT}continue-numbering") != "true" and not element.get(f"{TEXT}continue-list"):
            counts = self.counts[style].items()
            self.counts[style] = {depth: count for depth, count in counts if depth < level}
        items = []
        for item in element:
            if item.tag == f"{TEXT}list-item" and len(item) and item[0].tag in _PARAGRAPHS:
                self.number = self._count(style, level, item)
            items.append(self._element(item))
            self.number = ""
        self.open_lists.pop()
        return f"<ul>{''.join(items)}</ul>"

    def _count(self, style: str, level: int, element: "_Element") -> str:
        """Return the number of the next item or chapter of a level, such as `2.1 `; "" for a bullet."""
        counts = self.counts[style]  # the last number of each level
        definition = self.levels.get((style, level))
        following = counts[level] + 1 if level in counts else _start_of(definition)
        counts[level] = read_number(element.get(f"{TEXT}start-value"), following)
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if definition is None or not definition.get(f"{STYLE}num-format"):
            return ""
        shown_levels = min(read_number(definition.get(f"{TEXT}display-levels"), 1), level)
        parts = []
        for outer in range(level - shown_levels + 1, level + 1):
            outer_definition = self.levels.get((style, outer))
            form = "" if outer_definition is None else outer_definition.get(f"{STYLE}num-format", "")
            if form:
                number = counts.get(outer, _start_of(outer_definition))
                parts.append(numeral(number, _FORMS.get(form.lower(), "digits"), upper=form.isupper()))
        prefix, suffix = (definition.get(f"{STYLE}num-{name}", "") for name in ("prefix", "suffix"))
        return f"{prefix}{'.'.join(parts)}{suffix}".strip() + " "

    def _take_notes(self) -> str:
        notes, self.notes = self.notes, []
        return "".join(notes)


def _start_of(definition: "_Element | None") -> int:
    return 1 if definition is None else read_number(definition.get(f"{TEXT}start-value"), 1)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an OpenDocument text."""
    archive = open_archive(source.content) if source.content.startswith(ZIP_START) else None
    trees = [parse_xml(source.content)] if archive is None else read_trees(archive)
    body = trees[0].find(f"{OFFICE}body/{OFFICE}text")
    if body is None:
        raise DocumentFailure("unsupported_format", "the file holds no OpenDocument text")
    omissions = Omissions()
    markup = _Markup(trees, omissions, archive).of(body)
    check_length(len(markup) / 8, settings)  # tags and styles included
    blocks = read_fragment(markup, omissions, page=False)
    check_length(sum(len(block.text) for block in blocks), settings)
    about = (holder for tree in trees for holder in tree.iter(f"{OFFICE}meta"))
    return read_file(about, blocks, omissions)


def read_trees(archive: Archive) -> "list[_Element]":
    """Return the roots of the content, and of the styles and the description where they are there."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.filename):
        raise DocumentFailure("encrypted", "the content is protected by a password")
    parts = ("content.xml", "styles.xml", "meta.xml")
    return [parse_xml(archive.read(name)) for name in parts if name == parts[0] or archive.find(name)]
