"""Read Word files (DOCX, DOCM): the main part is reduced to its visible text, and mammoth writes it as HTML.

mammoth alone reads hidden text and prompts, ignores numbers of clauses, and drops formulas and drawn text.
"""

import io
import re
import zipfile
from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.boilerplate import looks_alike
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.docx_styles import VALUE, Numbering, Styles, is_on, value_of
from qa_pipeline.documents.formats.office.package import (
    CHART,
    DIAGRAM,
    MATH,
    PICTURE,
    WORD,
    library_failures,
    open_package,
    read_file,
    read_number,
    text_of,
    unwrap_alternatives,
)
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT, RUN, PARAGRAPH = f"{WORD}t", f"{WORD}r", f"{WORD}p"
TABLE, ROW, CELL = f"{WORD}tbl", f"{WORD}tr", f"{WORD}tc"
_VML = "{urn:schemas-microsoft-com:vml}"
_CONTROL, _BOX, _MARK = f"{WORD}sdt", f"{WORD}txbxContent", f"{WORD}rPr"
_NOTES = (f"{WORD}footnoteReference", f"{WORD}endnoteReference")
_ALWAYS = {
    f"{WORD}del": "deleted_text",
    f"{WORD}moveFrom": "moved_text",
    f"{WORD}altChunk": "embedded_document",
    f"{WORD}object": "embedded_object",
    f"{PICTURE}pic": "image",
    f"{_VML}imagedata": "image",
    f"{_VML}textpath": "word_art",
    f"{CHART}chart": "chart",
    f"{DIAGRAM}relIds": "diagram",
}
_PROPERTIES = frozenset(f"{WORD}{name}Pr" for name in ("r", "p", "tr", "tc", "tbl"))
_PLAIN = _PROPERTIES | {TEXT, RUN, PARAGRAPH, TABLE, ROW, CELL}
_PLAIN |= {
    f"{WORD}{name}"
    for name in (
        "document", "body", "br", "tab", "sym", "pStyle", "vertAlign", "gridSpan", "vMerge",
        "tblHeader", "b",
    )
}  # fmt: skip
_BOXES = str.maketrans("🞏🞎🗹🗷🗶", "☐☐☑☒✗")
"""Common characters that replace the rare ones mammoth writes for Wingdings."""
_BESIDE_THE_TEXT = {"header": "running_head", "footer": "running_foot", "comments": "comment"}
_LEAST_RAISED = 3  # half points: less adjusts a line
_SMALLEST = 2  # half points
_DEEPEST_ITEM = 8
_NO_COLOUR = frozenset({"", "auto", "none"})


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a Word file."""
    package, main = open_package(source.content, "Word")
    omissions = Omissions()
    styles, numbering = (next(iter(package.trees(main, name)), None) for name in ("styles", "numbering"))
    notes = [root for name in ("footnotes", "endnotes") for root in package.trees(main, name)]
    document = package.tree(main)
    reduction = _Reduction(Styles(styles), numbering, omissions)
    for root in (document, *notes):
        reduction.reduce(root)
    _place_notes(document, notes, omissions)
    check_length(sum(len(text.text or "") for text in document.iter(TEXT)), settings)
    blocks = read_fragment(_convert(document, omissions), omissions, page=False)
    for purpose, what in _BESIDE_THE_TEXT.items():
        for root in package.trees(main, purpose):
            for text in map(text_of, root if purpose == "comments" else [root], repeat(TEXT)):
                omissions.count(what, bool(text), visible(text))
    for _ in package.linked(main, "vbaProject"):
        omissions.add("macro")
    return read_file(package.trees("", "core-properties"), blocks, omissions)


def _convert(document: "_Element", omissions: Omissions) -> str:
    """Return the reduced document as HTML; headings below its only title go down by a level."""
    import mammoth
    from lxml import etree

    etree.strip_tags(document, *{str(element.tag) for element in document.iter()} - _PLAIN)
    names = [style.get(VALUE, "") for style in document.iter(f"{WORD}pStyle")]
    headings = [name for name in names if name.startswith("heading")]
    down = headings[:1] == ["heading0"] and headings.count("heading0") == 1
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("word/document.xml", etree.tostring(document))
    paths = {"code": "pre:separator('\\n')", "quote": "blockquote > p:fresh"}
    paths |= {f"heading{level}": f"h{min(level + down, 6) or 1}:fresh" for level in range(10)}
    paths |= {f"item{level}": f"{'ul > li > ' * level}ul > li:fresh" for level in range(_DEEPEST_ITEM + 1)}
    # Each rule is tried on each run.
    rules = [f"p.{name} => {paths[name]}" for name in sorted(paths.keys() & set(names))]
    try:
        with library_failures():
            result = mammoth.convert_to_html(
                content,
                style_map="\n".join(["br[type='line'] => br", *rules]),
                include_default_style_map=False,
                include_embedded_style_map=False,
                ignore_empty_paragraphs=False,
            )
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "tables are nested too deep") from error
    omissions.count("symbol", sum("w:sym" in message.message for message in result.messages), 0)
    html: str = result.value.translate(_BOXES)
    return html


class _Reduction:
    """Reduce a tree to the elements that mammoth reads, and count the rest."""

    def __init__(self, styles: Styles, numbering: "_Element | None", omissions: Omissions) -> None:
        self.styles = styles
        self.numbering = Numbering(numbering, styles)
        self.omissions = omissions

    def reduce(self, root: "_Element") -> None:
        """Reduce the main part, or a part of notes."""
        from lxml import etree

        unwrap_alternatives(root)
        self._remove(root)
        self._write_signs(root)
        self._settle_fields(root)
        within = {
            str(part.tag) for name in _PROPERTIES for holder in root.iter(name) for part in holder.iter()
        }
        wrappers = {str(element.tag) for element in root.iter()} - _PLAIN - within - {_BOX, *_NOTES}
        etree.strip_tags(root, *wrappers - {f"{WORD}footnote", f"{WORD}endnote", str(root.tag)})
        for box in reversed(list(root.iter(_BOX))):  # its text follows the paragraph it is anchored in
            for child in reversed(list(box)):
                next(box.iterancestors(PARAGRAPH), box).addnext(child)
        for paragraph in list(root.iter(PARAGRAPH)):
            self._name(paragraph)
        for table in reversed(list(root.iter(TABLE))):
            _shape_table(table)

    def _style(self, paragraph: "_Element | None") -> str:
        return value_of(paragraph, f"pPr/{WORD}pStyle") or self.styles.default

    def _remove(self, root: "_Element") -> None:
        """Remove invisible text, and mark raised and lowered runs."""
        background = root.find(f"{WORD}background")
        paper = "FFFFFF" if background is None else background.get(f"{WORD}color", "FFFFFF")
        lost: list[tuple[_Element, str]] = []
        last: _Element | None = None
        style, shade = self.styles.default, None
        for element in root.iter(*_ALWAYS, RUN, PARAGRAPH, _CONTROL, ROW, CELL):
            if element.tag != RUN:
                what = self._lost_as(element)
            else:
                around = next(element.iterancestors(PARAGRAPH), None)
                if around is not last:  # looking for it takes as long as the paragraph has runs
                    last, style = around, self._style(around)
                    shade = self.styles.shade(None if around is None else around.find(f"{WORD}pPr"), style)
                look = self.styles.look(style, element.find(_MARK))
                what = self._run_lost_as(element, look, shade, paper)
                if (shift := _shift_of(look)) and not what:
                    _set_property(element, _MARK, "vertAlign", shift)
            lost += [(element, what)] if what else []
        removed: set[_Element] = set()
        for element, what in lost:
            if removed.isdisjoint(element.iterancestors()):
                removed.add(element)
                self._take_out(element, what)

    def _lost_as(self, element: "_Element") -> str:
        """Return the kind that an element is left out as, or an empty text."""
        if element.tag == PARAGRAPH:
            return "navigation" if self.styles.role(self._style(element)).name == "navigation" else ""
        if element.tag == _CONTROL:
            gallery = value_of(element, f"sdtPr/{WORD}docPartObj/{WORD}docPartGallery")
            is_prompt = is_on(element.find(f"{WORD}sdtPr/{WORD}showingPlcHdr"))
            return "placeholder" if is_prompt else "navigation" if gallery == "Table of Contents" else ""
        if element.tag == ROW and is_on(element.find(f"{WORD}trPr/{WORD}hidden")):
            return "hidden"
        if element.tag in (ROW, CELL):
            mark = f"trPr/{WORD}del" if element.tag == ROW else f"tcPr/{WORD}cellDel"
            return "deleted_text" if element.find(WORD + mark) is not None else ""
        parent = element.getparent()  # in properties it is a mark on what holds these
        return "" if parent is None or parent.tag in _PROPERTIES else _ALWAYS[str(element.tag)]

    def _run_lost_as(
        self, run: "_Element", look: "Mapping[str, _Element]", shade: "_Element | None", paper: str
    ) -> str:
        """Return the kind that a run is left out as, or an empty text."""
        if is_on(look.get(f"{WORD}strike")) or is_on(look.get(f"{WORD}dstrike")):
            return "deleted_text"
        if is_on(look.get(f"{WORD}vanish")) or read_number(_value(look, "sz"), _SMALLEST) < _SMALLEST:
            return "hidden"
        colour, marker = _value(look, "color"), _value(look, "highlight")
        if marker not in _NO_COLOUR:
            return "hidden" if looks_alike("black" if colour in _NO_COLOUR else f"#{colour}", marker) else ""
        if colour in _NO_COLOUR:
            return ""
        shades = [look.get(f"{WORD}shd"), shade]
        shades += [cell.find(f"{WORD}tcPr/{WORD}shd") for cell in run.iterancestors(CELL)]
        fills = (
            shade.get(f"{WORD}color" if shade.get(VALUE) == "solid" else f"{WORD}fill", "auto")
            for shade in shades
            if shade is not None
        )
        # Otherwise a shape or the style of a table may colour the ground.
        plain = next(run.iterancestors(_BOX, TABLE), None) is None
        ground = next((fill for fill in fills if fill not in _NO_COLOUR), paper if plain else "")
        return "hidden" if looks_alike(f"#{colour}", f"#{ground}") else ""

    def _take_out(self, element: "_Element", what: str) -> None:
        drawn = next(element.iterancestors("{*}inline", "{*}anchor"), None) if what == "image" else None
        about = None if drawn is None else drawn.find("{*}docPr")
        name = "" if about is None else about.get("descr", "").strip()
        cell, run = (next(element.iterancestors(tag), None) for tag in (CELL, RUN))
        if name and cell is not None and run is not None and not text_of(cell, TEXT).strip():
            run.addprevious(_new_run(run, name))  # an icon in a table, such as a tick
        else:
            texts = [text_of(element, TEXT, f"{WORD}delText"), element.get("string", ""), name]
            self.omissions.add(what, "".join(texts))
        if element.tag == CELL:  # its place keeps the columns of the row
            element[:] = []
        elif (parent := element.getparent()) is not None:
            parent.remove(element)

    def _write_signs(self, root: "_Element") -> None:
        for formula in list(root.iter(f"{MATH}oMath")):
            formula.addprevious(_new_run(formula, write_formula(formula, self.omissions)))
            formula[:] = []
        for element in root.iter(f"{WORD}ptab", f"{WORD}cr", f"{WORD}br", f"{WORD}noBreakHyphen"):
            element.attrib.clear()
            if element.tag == f"{WORD}noBreakHyphen":
                element.tag, element.text = TEXT, "-"
            else:
                element.tag = f"{WORD}tab" if element.tag == f"{WORD}ptab" else f"{WORD}br"
        for reference in root.iter(*_NOTES):
            if (run := reference.getparent()) is not None and (mark := text_of(run, TEXT)):
                self.omissions.add("footnote_mark", mark)  # one that the writer chose
                run[:] = [reference]

    def _settle_fields(self, root: "_Element") -> None:
        """Replace each field by its result, or the state of a form field; it ends with its paragraph."""
        fields: list[tuple[bool, str]] = []  # whether it is still code, and the state to show
        codes = 0
        for element in root.iter(PARAGRAPH, TEXT, f"{WORD}fldChar"):
            if element.tag == PARAGRAPH:
                fields, codes = [], 0
            elif element.tag == TEXT:
                if codes:
                    self.omissions.add("field_code", element.text or "")
                    element.text = ""
                elif fields and element.text:
                    fields[-1] = (fields[-1][0], "")
            elif (kind := element.get(f"{WORD}fldCharType")) == "begin":
                fields.append((True, _form_state(element)))
                codes += 1
            elif fields and kind in ("separate", "end"):
                is_code, state = fields.pop()
                codes -= is_code
                if kind == "separate":
                    fields.append((False, state))
                elif state:
                    element.tag, element.text = TEXT, state

    def _name(self, paragraph: "_Element") -> None:
        """Name the kind of a paragraph, and write its number."""
        properties = paragraph.find(f"{WORD}pPr")
        style = self._style(paragraph)
        mark = None if properties is None else properties.find(_MARK)
        if properties is not None:
            paragraph.remove(properties)
        name, level = self.styles.role(style)
        if name == "item" and value_of(properties, f"numPr/{WORD}numId") == "0":  # taken out of its list
            name = "p"
        place = self.numbering.place(properties, style)
        number = ""
        if place is not None and not (mark is not None and is_on(mark.find(f"{WORD}vanish"))):
            number = self.numbering.count(*place)
            if name in ("p", "item"):
                name, level = "item", max(place[1], level)
        name = "heading" if name == "title" else name
        if name != "p":
            style_name = f"{name}{min(level, _DEEPEST_ITEM)}" if name in ("heading", "item") else name
            _set_property(paragraph, f"{WORD}pPr", "pStyle", style_name)
        if number and any((text.text or "").strip() for text in paragraph.iter(TEXT)):
            paragraph.insert(int(name != "p"), _new_run(paragraph, f"{number} "))


def _value(look: "Mapping[str, _Element]", name: str) -> str:
    element = look.get(WORD + name)
    return "" if element is None else element.get(VALUE, "")


def _shift_of(look: "Mapping[str, _Element]") -> str:
    """Return superscript or subscript for a raised or lowered run, or an empty text."""
    shift, moved = _value(look, "vertAlign"), _value(look, "position")
    if shift in ("superscript", "subscript"):
        return shift
    is_moved = read_number(moved.removeprefix("-"), 0) >= _LEAST_RAISED
    return "" if not is_moved else "subscript" if moved.startswith("-") else "superscript"


def _form_state(field: "_Element") -> str:
    box, choice = (field.find(f"{WORD}ffData/{WORD}{name}") for name in ("checkBox", "ddList"))
    if box is not None:
        checked = box.find(f"{WORD}checked")
        return "☒" if is_on(box.find(f"{WORD}default") if checked is None else checked) else "☐"
    if choice is None:
        return ""
    entries = [entry.get(VALUE, "") for entry in choice.iterchildren(f"{WORD}listEntry")]
    chosen = read_number(value_of(choice, "result") or value_of(choice, "default"), 0)
    return entries[chosen] if chosen < len(entries) else ""


def _place_notes(document: "_Element", parts: "list[_Element]", omissions: Omissions) -> None:
    """Put each note after the paragraph or table that refers to it first."""
    notes = {
        (f"{note.tag}Reference", note.get(f"{WORD}id", "")): note
        for part in parts
        for note in part.iterchildren(f"{WORD}footnote", f"{WORD}endnote")
        if note.get(f"{WORD}type", "normal") == "normal"  # others are lines between notes and text
    }
    body = document.find(f"{WORD}body")
    for element in list(document if body is None else body):
        referred = _referred(element, notes)
        for note in referred:  # grows, as notes refer to notes
            referred += _referred(note, notes)
            for style in note.iter(f"{WORD}pStyle"):
                style.set(VALUE, style.get(VALUE, "").replace("heading", "p"))
        for child in reversed([child for note in referred for child in note]):
            element.addnext(child)
    for note in notes.values():
        omissions.add("unreferenced_note", text_of(note, TEXT))


def _referred(element: "_Element", notes: "dict[tuple[str, str], _Element]") -> "list[_Element]":
    keys = ((str(mark.tag), mark.get(f"{WORD}id", "")) for mark in element.iter(*_NOTES))
    return [notes.pop(key) for key in keys if key in notes]


def _shape_table(table: "_Element") -> None:
    """Mark the rows that name columns; a table that only lays out a page becomes its content.

    That is a single cell, or a row or column with several paragraphs in a cell.
    """
    rows = list(table.iterchildren(ROW))
    cells = [list(row.iterchildren(CELL)) for row in rows]
    one_way = len(rows) == 1 or all(len(row) <= 1 for row in cells)
    if sum(map(len, cells)) == 1 or (one_way and any(_is_long(cell) for row in cells for cell in row)):
        for content in [child for row in cells for cell in row for child in cell]:
            if content.tag != f"{WORD}tcPr":
                table.addprevious(content)
        table[:] = []
        return
    for style_name in table.iter(f"{WORD}pStyle"):
        style_name.set(VALUE, re.sub("heading.", "p", style_name.get(VALUE, "")))
    for span in table.iter(f"{WORD}gridSpan"):
        span.set(VALUE, str(max(read_number(span.get(VALUE), 1), 1)))
    for merged in table.iter(f"{WORD}vMerge"):
        if text_of(next(merged.iterancestors(CELL)), TEXT).strip():  # shown alone
            merged.set(VALUE, "restart")
    is_head = len(rows) > 1
    for row in rows:
        is_head = is_head and is_on(row.find(f"{WORD}trPr/{WORD}tblHeader"))
        _straighten(row, is_head=is_head)


def _straighten(row: "_Element", *, is_head: bool) -> None:
    """Give a row its missing cells, and only the property of naming columns."""
    if ahead := read_number(value_of(row, f"trPr/{WORD}gridBefore"), 0):
        cell = row.makeelement(CELL)
        _set_property(cell, f"{WORD}tcPr", "gridSpan", str(ahead))
        row.insert(next((at for at, child in enumerate(row) if child.tag == CELL), len(row)), cell)
    for properties in row.findall(f"{WORD}trPr"):
        row.remove(properties)
    if is_head:
        _set_property(row, f"{WORD}trPr", "tblHeader", "1")


def _is_long(cell: "_Element") -> bool:
    return sum(bool(text_of(paragraph, TEXT).strip()) for paragraph in cell.iter(PARAGRAPH)) > 1


def _set_property(element: "_Element", holder_name: str, name: str, value: str) -> None:
    """Set a property of an element."""
    holder = element.find(holder_name)
    if holder is None:
        holder = element.makeelement(holder_name)
        element.insert(0, holder)
    for old in holder.findall(WORD + name):
        holder.remove(old)
    holder.append(holder.makeelement(WORD + name, {VALUE: value}))


def _new_run(beside: "_Element", text: str) -> "_Element":
    """Return a run with this text."""
    run = beside.makeelement(RUN)
    run.append(run.makeelement(TEXT))
    run[0].text = text
    return run
