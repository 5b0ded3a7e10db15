"""Read Word files (DOCX, DOCM): their elements are written as HTML, with the looks that may hide text."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.formats.formulas import write_formula
from qa_pipeline.documents.formats.html.boilerplate import looks_alike
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.office.docx_styles import FALSE, VALUE, Numbering, Styles, is_on, value_of
from qa_pipeline.documents.formats.office.package import (
    CHART,
    DIAGRAM,
    MATH,
    PICTURE,
    WORD,
    Package,
    list_item,
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

_TEXT, _PARAGRAPH = f"{WORD}t", f"{WORD}p"
_TABLE, _ROW, _CELL, _BOX = f"{WORD}tbl", f"{WORD}tr", f"{WORD}tc", f"{WORD}txbxContent"
_VML = "{urn:schemas-microsoft-com:vml}"
_LEFT_OUT = {
    f"{WORD}del": "deleted_text", f"{WORD}moveFrom": "moved_text", f"{WORD}altChunk": "embedded_object",
    f"{WORD}object": "embedded_object", f"{PICTURE}pic": "image", f"{_VML}imagedata": "image",
    f"{CHART}chart": "chart", f"{DIAGRAM}relIds": "diagram",
}  # fmt: skip
_SIGNS = {"tab": "\t", "br": "<br>", "cr": "<br>", "noBreakHyphen": "-"}
_SHIFTS = {"superscript": "sup", "subscript": "sub"}
_GREEK = zip("abcdefghiklmnopqrstuwxyzDFGLPQSWY", "αβχδεφγηικλμνοπθρστυωξψζΔΦΓΛΠΘΣΩΨ", strict=True)
_SYMBOLS = {  # signs by font and last digits of their code, for fonts whose letters are signs
    "Symbol": {
        "A3": "≤", "B3": "≥", "B1": "±", "B4": "×", "B0": "°", "B9": "≠", "BB": "≈", "AE": "→", "B7": "•",
        **{f"{ord(latin):X}": greek for latin, greek in _GREEK},
    },
    "Wingdings": {"6F": "☐", "A8": "☐", "FE": "☑", "FD": "☒", "FC": "✓", "FB": "✗", "E0": "→"},
    "Wingdings 2": {"A3": "☐", "52": "☑", "54": "☒", "50": "✓", "4F": "✗"},
}  # fmt: skip
_AROUND_THE_TEXT = {"header": "running_head", "footer": "running_foot", "comments": "comment"}
_SMALLEST = 2  # half points, the unit of `sz`: smaller text cannot be read
_SHADE = f"{WORD}pPr/{WORD}shd"
_DELETIONS = (f"{WORD}trPr/{WORD}del", f"{WORD}tcPr/{WORD}cellDel")  # of a row, of a cell


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a Word file."""
    package, main = open_package(source.content, ".docx")
    omissions = Omissions()
    document = package.tree(main)
    check_length(sum(len(text.text or "") for text in document.iter(_TEXT)), settings)
    markup = _Writer(package, main, omissions).write_document(document)
    blocks = read_fragment(markup, omissions, removes_menus=False)
    for purpose, kind in _AROUND_THE_TEXT.items():
        for root in package.trees(main, purpose):
            if text := text_of(root, _TEXT):
                omissions.add(kind, text)
    return read_file(package.trees("", "core-properties"), blocks, omissions)  # "" is the file itself


class _Writer:
    """Write a document as HTML; notes and text boxes follow the paragraph or table that they belong to."""

    def __init__(self, package: Package, main: str, omissions: Omissions) -> None:
        styles, numbering = (next(iter(package.trees(main, name)), None) for name in ("styles", "numbering"))
        self.styles = Styles(styles)
        self.numbering = Numbering(numbering, self.styles)
        self.notes = {  # by the tag of their references, such as `w:footnoteReference`, and their id
            (f"{note.tag}Reference", note.get(f"{WORD}id", "")): note
            for name in ("footnotes", "endnotes")
            for part in package.trees(main, name)
            for note in part.iterchildren(f"{WORD}footnote", f"{WORD}endnote")
            if note.get(f"{WORD}type", "normal") == "normal"  # others are lines between notes and text
        }
        self.omissions = omissions
        self.following: list[str] = []  # notes and boxes as HTML, to be written after the paragraph or table
        self.has_white_paper = True  # until the document states another background
        self.table_depth = 0  # the number of tables around the element

    def write_document(self, document: "_Element") -> str:
        """Return the main part as HTML; notes that it does not refer to are counted."""
        for root in (document, *self.notes.values()):
            unwrap_alternatives(root)
        self.has_white_paper = document.find(f"{WORD}background") is None
        markup = self._write_children(document) + self._take_following()
        for note in self.notes.values():  # each reference took its note out of them
            self.omissions.add("unreferenced_note", text_of(note, _TEXT))
        return markup.replace("</pre><pre>", "\n")  # each line of code is a paragraph

    def _write_children(self, element: "_Element") -> str:
        return "".join(map(self._write, element))

    def _write(self, element: "_Element") -> str:
        """Return an element as HTML; "" if it is left out, and counted."""
        tag = str(element.tag)
        if kind := self._kind_of_omission(element):
            return self._leave_out(element, kind)
        if tag == f"{MATH}oMath":
            return escape(write_formula(element, self.omissions))
        match tag.removeprefix(WORD):
            case "p":
                return self._write_paragraph(element) + self._take_following()
            case "tbl":
                return self._write_table(element) + self._take_following()
            case "r":
                return self._write_run(element)
            case "txbxContent":
                return self._postpone(element)
        is_properties = tag.endswith("Pr")  # whose elements are no text, such as `w:del` of a row
        return "" if is_properties else self._write_text(element) + self._write_children(element)

    def _write_text(self, element: "_Element") -> str:
        """Return the text of an element without its children, such as a tab; notes wait in `following`."""
        name = str(element.tag).removeprefix(WORD)
        match name:
            case "t":
                return escape(element.text or "")
            case "fldChar":
                return escape(_form_state(element))
            case "sym":
                code = element.get(f"{WORD}char", "")[-2:].upper()
                symbol = _SYMBOLS.get(element.get(f"{WORD}font", ""), {}).get(code, "")
                if not symbol:
                    self.omissions.add("symbol")
                return symbol
            case "footnoteReference" | "endnoteReference":
                note = self.notes.pop((str(element.tag), element.get(f"{WORD}id", "")), None)
                return "" if note is None else self._postpone(note)  # None for a repeated reference
        return _SIGNS.get(name, "")

    def _postpone(self, element: "_Element") -> str:
        """Write a note or box into `following`, and return "" as its HTML."""
        markup = self._write_children(element)  # first, as a paragraph in it replaces the list `following`
        self.following.append(markup)
        return ""

    def _leave_out(self, element: "_Element", kind: str) -> str:
        """Count the text of an element as left out, and return "" as its HTML."""
        self.omissions.add(kind, text_of(element, _TEXT, f"{WORD}delText"))
        return ""

    def _kind_of_omission(self, element: "_Element") -> str:
        """Return the kind under which an element is left out, such as `hidden`; "" if it is written."""
        match str(element.tag).removeprefix(WORD):
            case "p" if self.styles.role(self._style_of(element)).name == "navigation":
                return "navigation"
            case "sdt" if is_on(element.find(f"{WORD}sdtPr/{WORD}showingPlcHdr")):
                return "placeholder"
            case "sdt":
                gallery = value_of(element, f"sdtPr/{WORD}docPartObj/{WORD}docPartGallery")
                return "navigation" if gallery == "Table of Contents" else ""
            case "tr" if is_on(element.find(f"{WORD}trPr/{WORD}hidden")):
                return "hidden"
            case "tr" | "tc" if any(element.find(deletion) is not None for deletion in _DELETIONS):
                return "deleted_text"
        return _LEFT_OUT.get(str(element.tag), "")

    def _style_of(self, paragraph: "_Element | None") -> str:
        return value_of(paragraph, f"pPr/{WORD}pStyle") or self.styles.default

    def _take_following(self) -> str:
        """Return the notes and boxes that wait; in a table they wait for its end."""
        if self.table_depth:
            return ""
        following, self.following = self.following, []
        return "".join(following)

    def _write_paragraph(self, paragraph: "_Element") -> str:
        """Return a paragraph with its number as a heading, an item of a list, code, a quote or plain text."""
        style = self._style_of(paragraph)
        properties = paragraph.find(f"{WORD}pPr")
        role, level = self.styles.role(style)
        number = ""
        if numbered := self.numbering.take_next(properties, style):
            list_level, number = numbered
            if role in ("p", "item"):  # an item of `List Bullet 2` (level 1) may be on level 0 of its list
                role, level = "item", max(list_level, level)
        elif role == "item" and value_of(properties, f"numPr/{WORD}numId") == "0":  # taken out of its list
            role = "p"
        inside = self._write_children(paragraph)
        if number and inside.strip():
            inside = f"{escape(number)} {inside}"
        if role == "heading" and not self.table_depth:  # in a cell it opens no section
            return f"<h{min(level, 6)}>{inside}</h{min(level, 6)}>"
        if role == "code":
            return f"<pre>{inside}</pre>"
        if role == "item":
            return list_item(inside, level)
        return f"<blockquote><p>{inside}</p></blockquote>" if role == "quote" else f"<p>{inside}</p>"

    def _write_run(self, run: "_Element") -> str:
        """Return a run as HTML that says if it is bold, raised or lowered; invisible text is counted."""
        paragraph = next(run.iterancestors(_PARAGRAPH), None)
        look = self.styles.look(self._style_of(paragraph), run.find(f"{WORD}rPr"))
        switched_on = {name for name, value in look.items() if value not in FALSE}
        if not switched_on.isdisjoint({"strike", "dstrike"}):  # struck out with a line, or with two
            return self._leave_out(run, "deleted_text")
        is_tiny = read_number(look.get("sz"), otherwise=_SMALLEST) < _SMALLEST
        if is_tiny or "vanish" in switched_on or self._is_blended(run, look):
            return self._leave_out(run, "hidden")
        inside = self._write_children(run)
        if "b" in switched_on:
            inside = f"<b>{inside}</b>"
        shift = _SHIFTS.get(look.get("vertAlign", ""))
        return f"<{shift}>{inside}</{shift}>" if shift and inside else inside

    def _is_blended(self, run: "_Element", look: Mapping[str, str]) -> bool:
        """Return True for text in the colour of its background: white on paper, or black on black."""
        colour, highlight = look.get("color", ""), look.get("highlight", "")
        if highlight == "black":  # blacked out; text without a colour is black
            return colour in ("", "auto", "000000")
        # the style of a table or a shape may colour the background, and so do other highlights
        is_on_paper = self.has_white_paper and next(run.iterancestors(_TABLE, _BOX), None) is None
        has_shade = any(part.find(_SHADE) is not None for part in run.iterancestors(_PARAGRAPH))
        is_shaded = highlight not in ("", "none") or "shd" in look or has_shade
        return is_on_paper and not is_shaded and looks_alike(f"#{colour}", "#FFFFFF")  # not for `auto`

    def _write_table(self, table: "_Element") -> str:
        """Return a table; a single cell, which only lays out a page, becomes its content."""
        rows = []
        for row in _inner(table, _ROW):
            if kind := self._kind_of_omission(row):
                self._leave_out(row, kind)
            else:
                rows.append(row)
        cells = [cell for row in rows for cell in _inner(row, _CELL)]
        if len(cells) == 1:
            return self._write(cells[0])
        self.table_depth += 1
        heights = _find_heights(rows)
        lines = []
        for row in rows:
            skipped = _skipped_by(row)
            line = f'<td colspan="{skipped}"></td>' if skipped else ""
            for cell in _inner(row, _CELL):
                if height := heights.get(cell, 1):  # 0 for a cell that one above covers
                    line += f'<td colspan="{_width_of(cell)}" rowspan="{height}">{self._write(cell)}</td>'
            names_columns = is_on(row.find(f"{WORD}trPr/{WORD}tblHeader"))
            lines.append(f"<thead><tr>{line}</tr></thead>" if names_columns else f"<tr>{line}</tr>")
        self.table_depth -= 1
        return f"<table>{''.join(lines)}</table>"


def _find_heights(rows: "list[_Element]") -> "dict[_Element, int]":
    """Return the number of rows of merged cells: 3, 0 and 0 for three cells merged down a column."""
    heights: dict[_Element, int] = {}
    merged: dict[int, _Element] = {}  # by column: the first cell of the merged range that reaches this row
    for row in rows:
        above, merged = merged, {}
        column = _skipped_by(row)
        for cell in _inner(row, _CELL):
            merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
            if merge is not None:
                # a continued cell with a text of its own would lose it, so it begins a range
                begins = merge.get(VALUE) == "restart" or bool(text_of(cell, _TEXT).strip())
                first_cell = None if begins else above.get(column)
                if first_cell is None:
                    merged[column], heights[cell] = cell, 1
                else:
                    merged[column], heights[cell] = first_cell, 0
                    heights[first_cell] += 1
            column += _width_of(cell)
    return heights


def _skipped_by(row: "_Element") -> int:
    return read_number(value_of(row, f"trPr/{WORD}gridBefore"), 0)  # columns before its first cell


def _width_of(cell: "_Element") -> int:
    return max(read_number(value_of(cell, f"tcPr/{WORD}gridSpan"), 1), 1)


def _inner(element: "_Element", tag: str) -> "Iterator[_Element]":
    """Yield the rows or cells of a table itself, without tables in its cells."""
    for part in element.iter(tag):
        if next(part.iterancestors(element.tag)) is element:
            yield part


def _form_state(field: "_Element") -> str:
    """Return the state of a check box or list, such as `☒`; "" for other fields."""
    box, choice = (field.find(f"{WORD}ffData/{WORD}{name}") for name in ("checkBox", "ddList"))
    if box is not None:
        checked = box.find(f"{WORD}checked")
        return "☒" if is_on(box.find(f"{WORD}default") if checked is None else checked) else "☐"
    if choice is None:
        return ""
    entries = [entry.get(VALUE, "") for entry in choice.iterchildren(f"{WORD}listEntry")]
    chosen = read_number(value_of(choice, "result") or value_of(choice, "default"), 0)
    return entries[chosen] if chosen < len(entries) else ""
