"""Read OpenDocument texts: their elements are written as HTML, text escaped and attributes dropped."""

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, Style, check_length, numeral
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import shift_of
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.package import ZIP_START, Archive, parse_xml, read_file, read_number
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

OFFICE, TEXT, TABLE, STYLE, _DRAW, _FO = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ("office", "text", "table", "style", "drawing", "xsl-fo-compatible")
)
_LEFT_OUT = {
    "annotation": "comment", "tracked-changes": "deleted_text", "note-citation": "footnote_mark",
    "table-of-content": "navigation", "alphabetical-index": "navigation", "table-index": "navigation",
    "illustration-index": "navigation", "placeholder": "other", "control": "form_field", "image": "image",
    "object": "embedded_object", "object-ole": "embedded_object", "forms": "form_field", "ruby-text": "other",
}  # fmt: skip
_HTML_NAMES = {
    "table": "table", "table-header-rows": "thead", "table-row": "tr", "list-item": "li",
    "list-header": "div", "text-box": "div", "section": "div", "note-body": "div", "span": "span",
}  # fmt: skip
_SIGNS = {"tab": "\t", "line-break": "<br>", "covered-table-cell": ""}  # a cell above or before covers it
_CSS = ("color", "background-color", "font-size")
_HTML_OF_STYLE = {"Title": "h1", "Preformatted_20_Text": "pre", "Quotations": "blockquote"}
_PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
_FORMS: dict[str, Style] = {"1": "digits", "a": "letters", "i": "roman"}
_OUTLINE = "/outline"  # the list of chapters: a key that no style has
MOST_REPEATED = 100  # blanks, rows, cells or parent styles: more is a mistake, or made to fill memory
_UNKNOWN_BACKGROUND = "background-image:unknown"  # no colour, so text of any colour counts as visible on it


class Markup:
    """A pass over a text that writes it as HTML; notes come at the end of their section."""

    def __init__(self, trees: "list[_Element]", omissions: Omissions) -> None:
        self.omissions = omissions
        content, *others = trees  # content.xml, then styles.xml and meta.xml
        # styles.xml has automatic styles too, but those of headers and footers
        shared_styles = (part for tree in others for part in tree.iter(f"{OFFICE}styles"))
        roots = [*shared_styles, content]  # the styles of the content come last, to override the others
        self.styles = {
            style.get(f"{STYLE}name", ""): style for root in roots for style in root.iter(f"{STYLE}style")
        }
        self.list_levels: dict[tuple[str, int], dict[str, str]] = {}  # attributes by style and level from 1
        lists = (part for root in roots for part in root.iter(f"{TEXT}list-style", f"{TEXT}outline-style"))
        for part in lists:
            name = _OUTLINE if part.tag == f"{TEXT}outline-style" else part.get(f"{STYLE}name", "")
            for definition in part:
                level = read_number(definition.get(f"{TEXT}level"), 0)
                self.list_levels[name, level] = {str(key): str(value) for key, value in definition.items()}
        self.open_lists: list[str] = []  # the styles of the lists around the text, the outermost first
        self.counts: defaultdict[str, dict[int, int]] = defaultdict(dict)  # last numbers by style and level
        self.number = ""  # of the next paragraph
        self.notes: list[str] = []  # as HTML

    def inside(self, element: "_Element") -> str:
        """Return the texts and elements inside an element as HTML."""
        parts = [escape(element.text or "")]
        for child in element:
            parts += [self._element(child) if isinstance(child.tag, str) else "", escape(child.tail or "")]
        return "".join(parts)

    def look_of(self, element: "_Element") -> tuple[str, str]:
        """Return the HTML name of an element's style, such as `h1` or `sup`, "" for plain, and its CSS."""
        stated_names = (element.get(f"{space}style-name") for space in (TEXT, TABLE, _DRAW))
        names = [next(filter(None, stated_names), "")]  # of the style, its parent style, and so on
        while names[-1] in self.styles and len(names) < MOST_REPEATED:
            names.append(self.styles[names[-1]].get(f"{STYLE}parent-style-name", ""))
        properties: dict[str, str] = {}
        for name in reversed(names):  # a style overrides its ancestors; the highest may lack a definition
            stated = {
                str(key): str(value) for part in self.styles.get(name, ()) for key, value in part.items()
            }
            # behind a "transparent" background that of the parent style shows
            properties |= {key: value for key, value in stated.items() if value != "transparent"}
        css = [f"{name}:{properties[_FO + name]}" for name in _CSS if _FO + name in properties]
        if properties.get(f"{TEXT}display") == "none":
            css.append("display:none")
        line_through = [properties.get(f"{STYLE}text-line-through-{name}") for name in ("style", "type")]
        if any(line_through) and "none" not in line_through:  # such as ["solid", None]
            css.append("text-decoration:line-through")
        html_names = (_HTML_OF_STYLE[name] for name in names if name in _HTML_OF_STYLE)
        shift = shift_of(properties.get(f"{STYLE}text-position", ""))
        return next(html_names, shift), escape(";".join(css))  # `h1` for a raised title

    def _element(self, element: "_Element") -> str:
        """Return an element as HTML, "" if it is counted as left out; a note waits for `take_notes`."""
        name = str(element.tag).rpartition("}")[2]
        hiders = [element, *element.iterchildren(f"{TEXT}hidden-paragraph")]  # it, or a field in it
        is_hidden = any(hider.get(f"{TEXT}is-hidden") == "true" for hider in hiders)
        if is_hidden or element.get(f"{TEXT}display") == "none" or name in _LEFT_OUT:
            self.omissions.add(_LEFT_OUT.get(name, "hidden"), "".join(map(str, element.itertext())))
            return ""
        if name in ("p", "h"):
            return self._paragraph(element)
        if name == "list":
            return self._list(element)
        if name == "table-cell":
            return self._cell(element)
        if name == "note":
            self.notes.append(self.inside(element))
            return ""
        if name == "s":  # blanks
            return " " * min(read_number(element.get(f"{TEXT}c"), 1), MOST_REPEATED)
        if name in _SIGNS:
            return _SIGNS[name]
        html_of_style, css = self.look_of(element)
        inside = self.inside(element)
        shift = html_of_style if name == "span" else ""  # `sup` or `sub`; other elements ignore it
        if html_name := shift or _HTML_NAMES.get(name):
            return f'<{html_name} style="{css}">{inside}</{html_name}>'
        # such as a shape: its fill is not in `css`, so white text on it must not count as hidden
        style = css if "background-color" in css else f"{_UNKNOWN_BACKGROUND};{css}"
        has_paragraphs = any(child.tag in (*_PARAGRAPHS, f"{TEXT}list") for child in element)
        return f'<div style="{style}">{inside}</div>' if has_paragraphs else inside

    def _cell(self, cell: "_Element") -> str:
        """Return a cell of a table as HTML, as many times as the file repeats it."""
        _, css = self.look_of(cell)
        columns, rows = table_number(cell, "columns-spanned"), table_number(cell, "rows-spanned")
        html = f'<td style="{css}" colspan="{columns}" rowspan="{rows}">{self.inside(cell)}</td>'
        return html * min(table_number(cell, "columns-repeated"), MOST_REPEATED)

    def _paragraph(self, element: "_Element") -> str:
        """Return a paragraph or heading with its number; notes of the section above come before a heading."""
        number, self.number = self.number, ""  # `_list` sets it for the first paragraph of an item
        html_name, css = self.look_of(element)
        if html_name in ("", "sub", "sup"):  # to raise or lower a whole paragraph changes only its looks
            html_name = "p"
        notes = ""
        if element.tag == f"{TEXT}h":
            level = min(max(read_number(element.get(f"{TEXT}outline-level"), 1), 1), 6)
            notes = self.take_notes()
            html_name = f"h{level}"
            if not self.open_lists and element.get(f"{TEXT}is-list-header") != "true":
                number = self._count(_OUTLINE, level, element)
        return f'{notes}<{html_name} style="{css}">{escape(number)}{self.inside(element)}</{html_name}>'

    def _list(self, element: "_Element") -> str:
        """Return a list as HTML; the first paragraph of an item begins with the item's number."""
        outer_style = self.open_lists[-1] if self.open_lists else ""
        style = element.get(f"{TEXT}style-name") or outer_style
        self.open_lists.append(style)
        level = len(self.open_lists)
        continues = element.get(f"{TEXT}continue-numbering") == "true" or element.get(f"{TEXT}continue-list")
        if not continues:  # its level and deeper levels begin anew
            counts = self.counts[style].items()
            self.counts[style] = {depth: count for depth, count in counts if depth < level}
        items = []
        for item in element:
            if item.tag == f"{TEXT}list-item" and len(item) and item[0].tag in _PARAGRAPHS:
                self.number = self._count(style, level, item)  # its paragraph takes it
            items.append(self._element(item))
            self.number = ""
        self.open_lists.pop()
        return f"<ul>{''.join(items)}</ul>"

    def _count(self, style: str, level: int, element: "_Element") -> str:
        """Count an item or chapter on a level, and return its number, such as `2.1 `; "" for a bullet."""
        counts = {depth: count for depth, count in self.counts[style].items() if depth <= level}
        self.counts[style] = counts  # deeper levels begin anew
        definitions = {depth: self.list_levels.get((style, depth), {}) for depth in range(1, level + 1)}
        starts = {depth: read_number(own.get(f"{TEXT}start-value"), 1) for depth, own in definitions.items()}
        next_number = counts[level] + 1 if level in counts else starts[level]
        counts[level] = read_number(element.get(f"{TEXT}start-value"), next_number)
        definition = definitions[level]
        if not definition.get(f"{STYLE}num-format"):
            return ""
        shown_levels = min(read_number(definition.get(f"{TEXT}display-levels"), 1), level)  # 2 for `2.1`
        parts = []
        for depth in range(level - shown_levels + 1, level + 1):
            if form := definitions[depth].get(f"{STYLE}num-format", ""):  # such as `1`, `a` or `I`
                number = counts.get(depth, starts[depth])  # a heading 2 before any heading 1 is `1.1`
                parts.append(numeral(number, _FORMS.get(form.lower(), "digits"), upper=form.isupper()))
        prefix, suffix = (definition.get(f"{STYLE}num-{name}", "") for name in ("prefix", "suffix"))
        return f"{prefix}{'.'.join(parts)}{suffix}".strip() + " "

    def take_notes(self) -> str:
        """Return the notes that wait as HTML."""
        notes, self.notes = self.notes, []
        return "".join(notes)


def table_number(element: "_Element", name: str) -> int:
    """Return a number of a cell, row or column, such as `columns-repeated`; 1 if it is not stated."""
    return read_number(element.get(f"{TABLE}number-{name}"), 1)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse an OpenDocument text."""
    is_archive = source.content.startswith(ZIP_START)
    trees = read_trees(Archive(source.content)) if is_archive else [parse_xml(source.content)]
    body = trees[0].find(f"{OFFICE}body/{OFFICE}text")
    if body is None:
        raise DocumentFailure("unsupported_format", "the file is not an OpenDocument text")
    omissions = Omissions()
    writer = Markup(trees, omissions)
    # text without a colour is not always black, so the HTML reader must not compare it with its background
    markup = f'<div style="color:unknown">{writer.inside(body)}{writer.take_notes()}</div>'
    check_length(len(markup) / 8, settings)  # an estimate, as most of it is tags and styles
    blocks = read_fragment(markup, omissions, removes_menus=False)
    about = (holder for tree in trees for holder in tree.iter(f"{OFFICE}meta"))
    return read_file(about, blocks, omissions)


def read_trees(archive: Archive) -> "list[_Element]":
    """Return the roots of the content, and of the styles and the description where they are there."""
    manifest = archive.find("META-INF/manifest.xml")
    if manifest is not None and b"encryption-data" in archive.read(manifest.filename):
        raise DocumentFailure("encrypted", "the content is protected by a password")
    parts = ("content.xml", "styles.xml", "meta.xml")
    return [parse_xml(archive.read(name)) for name in parts if name == parts[0] or archive.find(name)]
