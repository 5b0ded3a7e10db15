"""Read Word files (DOCX, DOCM): the main part is reduced to its visible text, and mammoth writes it as HTML.

mammoth alone reads hidden text and prompts, ignores numbers of clauses, and drops formulas.
"""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions, check_length
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
_CONTROL, _BOX, _RUN_PROPERTIES = f"{WORD}sdt", f"{WORD}txbxContent", f"{WORD}rPr"
_NOTE, _END_NOTE = f"{WORD}footnote", f"{WORD}endnote"
_REFERENCES = (f"{_NOTE}Reference", f"{_END_NOTE}Reference")
_ALWAYS_LEFT_OUT = {
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
_READ_BY_MAMMOTH = _PROPERTIES | {TEXT, RUN, PARAGRAPH, TABLE, ROW, CELL}
_READ_BY_MAMMOTH |= {
    f"{WORD}{name}"
    for name in (
        "document", "body", "br", "tab", "sym", "pStyle", "vertAlign", "gridSpan", "vMerge",
        "tblHeader", "b",
    )
}  # fmt: skip
_BOXES = str.maketrans("🞏🞎🗹🗷🗶", "☐☐☑☒✗")
"""Common characters for the rare characters that mammoth writes for Wingdings."""
_AROUND_THE_TEXT = {"header": "running_head", "footer": "running_foot", "comments": "comment"}
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
    _insert_notes(document, notes, omissions)
    check_length(sum(len(text.text or "") for text in document.iter(TEXT)), settings)
    blocks = read_fragment(_convert(document, omissions), omissions, page=False)
    for purpose, kind in _AROUND_THE_TEXT.items():
        for root in package.trees(main, purpose):
            for part in root if purpose == "comments" else [root]:
                if text := text_of(part, TEXT):
                    omissions.add(kind, text)
    for _ in package.linked(main, "vbaProject"):
        omissions.add("macro")
    return read_file(package.trees("", "core-properties"), blocks, omissions)


def _convert(document: "_Element", omissions: Omissions) -> str:
    """Return the reduced document as HTML."""
    import mammoth
    from lxml import etree

    etree.strip_tags(document, *{str(element.tag) for element in document.iter()} - _READ_BY_MAMMOTH)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("word/document.xml", etree.tostring(document))
    paths = {"code": "pre:separator('\\n')", "quote": "blockquote > p:fresh"}
    paths |= {f"heading{level}": f"h{min(level, 6)}:fresh" for level in range(1, 10)}
    paths |= {f"item{level}": f"{'ul > li > ' * level}ul > li:fresh" for level in range(_DEEPEST_ITEM + 1)}
    used = {style.get(VALUE, "") for style in document.iter(f"{WORD}pStyle")}
    # mammoth tries each rule on each paragraph
    rules = [f"p.{name} => {path}" for name, path in sorted(paths.items()) if name in used]
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
        self._remove_unseen(root)
        self._write_formulas_and_breaks(root)
        self._write_form_fields(root)
        in_properties = {  # the tags of settings, which are no text
            str(part.tag) for name in _PROPERTIES for holder in root.iter(name) for part in holder.iter()
        }
        kept = _READ_BY_MAMMOTH | in_properties | {_BOX, *_REFERENCES, _NOTE, _END_NOTE, str(root.tag)}
        etree.strip_tags(root, *{str(element.tag) for element in root.iter()} - kept)
        for box in reversed(list(root.iter(_BOX))):  # its text follows the paragraph of its anchor
            for child in reversed(list(box)):
                next(box.iterancestors(PARAGRAPH), box).addnext(child)
        for paragraph in list(root.iter(PARAGRAPH)):
            self._set_role(paragraph)
        for table in reversed(list(root.iter(TABLE))):
            _shape_table(table)

    def _style_of(self, paragraph: "_Element | None") -> str:
        return value_of(paragraph, f"pPr/{WORD}pStyle") or self.styles.default

    def _remove_unseen(self, root: "_Element") -> None:
        """Remove invisible text, and mark raised and lowered runs."""
        background = root.find(f"{WORD}background")
        paper = "FFFFFF" if background is None else background.get(f"{WORD}color", "FFFFFF")
        unseen: list[tuple[_Element, str]] = []
        for element in root.iter(*_ALWAYS_LEFT_OUT, PARAGRAPH, _CONTROL, ROW, CELL):
            if kind := self._unseen_as(element):
                unseen.append((element, kind))
            elif element.tag == PARAGRAPH:
                runs = (run for run in element.iter(RUN) if next(run.iterancestors(PARAGRAPH)) is element)
                unseen += self._unseen_runs(element, runs, paper)
        removed: set[_Element] = set()
        for element, kind in unseen:
            if removed.isdisjoint(element.iterancestors()):
                removed.add(element)
                self._take_out(element, kind)

    def _unseen_as(self, element: "_Element") -> str:
        """Return the kind that an element is left out as, or an empty text."""
        if element.tag == PARAGRAPH:
            return "navigation" if self.styles.role(self._style_of(element)).name == "navigation" else ""
        if element.tag == _CONTROL:
            if is_on(element.find(f"{WORD}sdtPr/{WORD}showingPlcHdr")):
                return "placeholder"
            gallery = value_of(element, f"sdtPr/{WORD}docPartObj/{WORD}docPartGallery")
            return "navigation" if gallery == "Table of Contents" else ""
        if element.tag == ROW and is_on(element.find(f"{WORD}trPr/{WORD}hidden")):
            return "hidden"
        if element.tag in (ROW, CELL):
            deletion = f"{WORD}trPr/{WORD}del" if element.tag == ROW else f"{WORD}tcPr/{WORD}cellDel"
            return "deleted_text" if element.find(deletion) is not None else ""
        parent = element.getparent()
        is_mark = parent is not None and parent.tag in _PROPERTIES  # such as `w:del` of a row
        return "" if is_mark else _ALWAYS_LEFT_OUT[str(element.tag)]

    def _unseen_runs(
        self, paragraph: "_Element", runs: "Iterable[_Element]", paper: str
    ) -> "Iterator[tuple[_Element, str]]":
        """Yield the invisible runs of a paragraph with their kind, and mark raised and lowered runs."""
        style = self._style_of(paragraph)
        shades = [self.styles.shade(paragraph.find(f"{WORD}pPr"), style)]
        shades += [cell.find(f"{WORD}tcPr/{WORD}shd") for cell in paragraph.iterancestors(CELL)]
        # a shape or the style of a table may colour the ground
        is_on_paper = next(paragraph.iterancestors(_BOX, TABLE), None) is None
        for run in runs:
            look = self.styles.look(style, run.find(_RUN_PROPERTIES))
            grounds = filter(None, map(_fill_of, [look.get(f"{WORD}shd"), *shades]))
            ground = next(grounds, paper if is_on_paper else "")
            if kind := _run_unseen_as(look, ground):
                yield run, kind
            elif (shift := _value(look, "vertAlign")) in ("superscript", "subscript"):
                _set_property(run, _RUN_PROPERTIES, "vertAlign", shift)

    def _take_out(self, element: "_Element", kind: str) -> None:
        """Remove an element and count its text; the name of an icon stays as the text of its cell."""
        drawing = next(element.iterancestors("{*}inline", "{*}anchor"), None) if kind == "image" else None
        properties = None if drawing is None else drawing.find("{*}docPr")  # with the alternative text
        name = "" if properties is None else properties.get("descr", "").strip()
        cell, run = (next(element.iterancestors(tag), None) for tag in (CELL, RUN))
        if name and cell is not None and run is not None and not text_of(cell, TEXT).strip():
            run.addprevious(_new_run(run, name))  # such as a tick
        else:
            self.omissions.add(kind, text_of(element, TEXT, f"{WORD}delText") + name)
        if element.tag == CELL:  # it keeps the columns of the row
            element[:] = []
        elif (parent := element.getparent()) is not None:
            parent.remove(element)

    def _write_formulas_and_breaks(self, root: "_Element") -> None:
        """Replace formulas by text, and breaks and tabs by elements that mammoth reads."""
        for formula in list(root.iter(f"{MATH}oMath")):
            formula.addprevious(_new_run(formula, write_formula(formula, self.omissions)))
            formula[:] = []  # only the run before it is read
        for element in root.iter(f"{WORD}cr", f"{WORD}br"):
            element.attrib.clear()  # of a page break too: mammoth would drop it
            element.tag = f"{WORD}br"
        for element in root.iter(f"{WORD}ptab"):
            element.attrib.clear()
            element.tag = f"{WORD}tab"
        for element in root.iter(f"{WORD}noBreakHyphen"):
            element.tag, element.text = TEXT, "-"

    def _write_form_fields(self, root: "_Element") -> None:
        """Write the state of check boxes and lists before their field, such as `☒`."""
        for field in root.iter(f"{WORD}fldChar"):
            if state := _form_state(field):
                field.tag, field.text = TEXT, state

    def _set_role(self, paragraph: "_Element") -> None:
        """Name the kind of a paragraph as its style, and write its number."""
        style = self._style_of(paragraph)
        properties = paragraph.find(f"{WORD}pPr")
        if properties is not None:
            paragraph.remove(properties)
        name, level = self.styles.role(style)
        if name == "title":
            name, level = "heading", 1
        if name == "item" and value_of(properties, f"numPr/{WORD}numId") == "0":  # taken out of its list
            name = "p"
        number = ""
        numbered = self.numbering.find_level(properties, style)
        if numbered is not None:
            list_id, list_level = numbered
            number = self.numbering.count(list_id, list_level)
            if name in ("p", "item"):
                name, level = "item", max(list_level, level)
        if name != "p":
            has_level = name in ("heading", "item")
            style_name = f"{name}{min(level, _DEEPEST_ITEM)}" if has_level else name
            _set_property(paragraph, f"{WORD}pPr", "pStyle", style_name)
        if number and text_of(paragraph, TEXT).strip():
            first = 0 if name == "p" else 1  # behind the properties with the style
            paragraph.insert(first, _new_run(paragraph, f"{number} "))


def _value(look: "Mapping[str, _Element]", name: str) -> str:
    element = look.get(WORD + name)
    return "" if element is None else element.get(VALUE, "")


def _fill_of(shade: "_Element | None") -> str:
    """Return the colour of a shading; "" if it has none."""
    if shade is None:
        return ""
    name = "color" if shade.get(VALUE) == "solid" else "fill"  # a solid pattern covers the fill
    colour = shade.get(f"{WORD}{name}", "")
    return "" if colour in _NO_COLOUR else colour


def _run_unseen_as(look: "Mapping[str, _Element]", ground: str) -> str:
    """Return the kind that a run is left out as, or an empty text."""
    if is_on(look.get(f"{WORD}strike")) or is_on(look.get(f"{WORD}dstrike")):
        return "deleted_text"
    if is_on(look.get(f"{WORD}vanish")) or read_number(_value(look, "sz"), _SMALLEST) < _SMALLEST:
        return "hidden"
    colour, highlight = _value(look, "color"), _value(look, "highlight")
    if highlight not in _NO_COLOUR:  # automatic text stays black on it
        foreground = "black" if colour in _NO_COLOUR else f"#{colour}"
        return "hidden" if looks_alike(foreground, highlight) else ""
    return "hidden" if colour not in _NO_COLOUR and looks_alike(f"#{colour}", f"#{ground}") else ""


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


def _insert_notes(document: "_Element", parts: "list[_Element]", omissions: Omissions) -> None:
    """Insert each note after the paragraph or table that refers to it first."""
    notes = {
        (f"{note.tag}Reference", note.get(f"{WORD}id", "")): note
        for part in parts
        for note in part.iterchildren(_NOTE, _END_NOTE)
        if note.get(f"{WORD}type", "normal") == "normal"  # others are lines between notes and text
    }
    body = document.find(f"{WORD}body")
    for element in list(document if body is None else body):
        following = element
        for reference in list(element.iter(*_REFERENCES)):
            note = notes.pop((str(reference.tag), reference.get(f"{WORD}id", "")), None)
            for child in () if note is None else list(note):
                following.addnext(child)
                following = child
    for note in notes.values():
        omissions.add("unreferenced_note", text_of(note, TEXT))


def _shape_table(table: "_Element") -> None:
    """Prepare a table for mammoth; a single cell, which only lays out a page, becomes its content."""
    cells = table.findall(f"{ROW}/{CELL}")
    if len(cells) == 1:
        for content in list(cells[0]):
            if content.tag != f"{WORD}tcPr":
                table.addprevious(content)
        table[:] = []
        return
    for style in table.iter(f"{WORD}pStyle"):  # a heading in a cell opens no section
        if style.get(VALUE, "").startswith("heading"):
            style.set(VALUE, "p")
    for span in table.iter(f"{WORD}gridSpan"):
        span.set(VALUE, str(max(read_number(span.get(VALUE), 1), 1)))
    for merged in table.iter(f"{WORD}vMerge"):
        if text_of(next(merged.iterancestors(CELL)), TEXT).strip():  # shown alone
            merged.set(VALUE, "restart")


def _set_property(element: "_Element", holder_name: str, name: str, value: str) -> None:
    """Set a property in its holder, such as `pStyle` in the `w:pPr` of a paragraph."""
    holder = element.find(holder_name)
    if holder is None:
        holder = element.makeelement(holder_name)
        element.insert(0, holder)
    for old in holder.findall(WORD + name):
        holder.remove(old)
    holder.append(holder.makeelement(WORD + name, {VALUE: value}))


def _new_run(neighbour: "_Element", text: str) -> "_Element":
    run = neighbour.makeelement(RUN)
    run.append(run.makeelement(TEXT))
    run[0].text = text
    return run
