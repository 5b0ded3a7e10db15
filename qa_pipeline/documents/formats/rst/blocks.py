"""docutils' tree of a reStructuredText file to blocks in reading order.

What belongs here: the walk over blocks of the tree. What does not: parsing (`machine`), inline nodes
(`inline`) and tables (`tables`).

The level of a section is its depth in the tree, so a lone section around all others is the title of the
document, and one below it that holds all the rest its subtitle. Footnotes and citations stand at the end of
the text of their section, before the sections inside it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from docutils import nodes

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.list_numbers import OrderedList, Style
from qa_pipeline.documents.formats.rows import Cell, counted_lines
from qa_pipeline.records import Block, BlockKind

_LONGEST_SUBSTITUTION = 2_000


@dataclass(slots=True)
class InlineText:
    """Reads inline nodes of one document.

    Args:
        left: counts what has no place in the text.
        substitutions: definitions by name.
        labels: titles of the sections a reference may name, by label.
    """

    left: Omissions
    substitutions: Mapping[str, nodes.Element] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    _resolved: dict[str, str] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)

    def of(self, node: nodes.Element) -> str:
        """Text of a node's children."""
        parts: list[str] = []
        for child in node.children:
            text = self._text(child, parts)
            if text is None:
                # A mark that goes takes the blanks before it along.
                parts[-1:] = [parts[-1].rstrip()] if parts else []
            else:
                parts.append(text)
        return "".join(parts)

    def _text(self, node: nodes.Node, before: list[str]) -> str | None:
        """Text of one node; None for the mark of a footnote."""
        if isinstance(node, nodes.Text):
            return node.astext()
        if not isinstance(node, nodes.Element):
            return ""
        if isinstance(node, nodes.footnote_reference):
            self.left.add("footnote_mark", node.rawsource.rstrip("_"))
            return None
        if isinstance(node, nodes.substitution_reference):
            return self._substituted(node)
        return self._special(node, before)

    def _special(self, node: nodes.Element, before: list[str]) -> str:
        if isinstance(node, nodes.image):
            self.left.add("image", node.get("alt", ""))
            return ""
        if isinstance(node, nodes.raw):
            self.left.add("raw", node.astext())
            return ""
        if isinstance(node, nodes.system_message):
            return ""
        if isinstance(node, nodes.citation_reference):
            return f"[{node.astext()}]"
        text = self.of(node)
        if isinstance(node, nodes.reference) and node.get("refuri", text) != text:
            self.left.add("link_target", node["refuri"])
        if "target" in node.attributes:
            self.left.add("link_target", node["target"])
        if isinstance(node, nodes.superscript):
            return _raised(text, "".join(before[-1:]))
        title = self.labels.get(node.get("label", ""))
        if title is not None:
            self.left.add("link_target", text)
        return text if title is None else title

    def _substituted(self, node: nodes.Element) -> str:
        """What a substitution stands for; one that is not defined, or explodes, stays as it is written."""
        name = " ".join(node.astext().split())
        if name not in self._resolved:
            # While it is being read it stands for itself, so that a circle ends.
            self._resolved[name] = f"|{name}|"
            found = self.substitutions.get(name) or self.substitutions.get(name.lower())
            self._used.add(id(found))
            text = self.of(found) if found is not None else ""
            if found is not None and len(text) <= _LONGEST_SUBSTITUTION:
                self._resolved[name] = text
        return self._resolved[name]

    def count_unused(self, definitions: Iterable[nodes.Element]) -> None:
        """Count definitions of substitutions that nothing in the text refers to."""
        for node in definitions:
            if id(node) not in self._used:
                self.left.add("substitution", node.astext())


def _raised(text: str, before: str) -> str:
    """A power is written with a caret, lest 10 to the sixth become 106."""
    power = before.rstrip()[-1:].isalnum() and text.lstrip("+-−").isdigit()
    return f"^{text}" if power else text


def table_blocks(table: nodes.Element, inline: InlineText) -> Iterator[Block]:
    """The title of a table as a paragraph, then its rows."""
    for child in table.children:
        if isinstance(child, nodes.title):
            yield Block("paragraph", inline.of(child))
    rows = [_cells(row, inline) for row in _own(table, nodes.row)]
    yield from (Block("table_row", line) for line in counted_lines(rows, inline.left))


def _own(node: nodes.Element, kind: type[nodes.Element]) -> Iterator[nodes.Element]:
    """Nodes of a kind below `node`, those inside another table left to it."""
    for child in node.children:
        if isinstance(child, kind):
            yield child
        elif isinstance(child, nodes.Element) and not isinstance(child, nodes.table):
            yield from _own(child, kind)


def _cells(row: nodes.Element, inline: InlineText) -> list[Cell]:
    head = isinstance(row.parent, nodes.thead)
    return [
        Cell(
            " ".join(", ".join(_texts(entry, inline)).split()),
            head or bool(entry.get("stub")),
            entry.get("morecols", 0) + 1,
            entry.get("morerows", 0) + 1,
        )
        for entry in row.children
        if isinstance(entry, nodes.Element)
    ]


def _texts(entry: nodes.Element, inline: InlineText) -> Iterator[str]:
    """Text of each list item, and of what stands between lists, in a cell."""
    flowing: list[str] = []
    for text, apart in _pieces(entry, inline, in_list=False):
        if apart and flowing:
            yield " ".join(flowing)
            flowing = []
        flowing.append(text)
    if flowing:
        yield " ".join(flowing)


def _pieces(node: nodes.Element, inline: InlineText, *, in_list: bool) -> Iterator[tuple[str, bool]]:
    """Paragraphs and lines of a cell, and whether each begins a list item."""
    first = in_list
    for child in node.children:
        if isinstance(child, nodes.paragraph) and isinstance(node, nodes.system_message):
            continue  # what the parser says, and not the file
        if isinstance(child, nodes.TextElement) and not isinstance(child, nodes.Invisible):
            text = inline.of(child).strip()
            if text:
                yield text, first
                first = False
        elif isinstance(child, nodes.comment):
            inline.left.add(child.get("what", "comment"), child.astext())
        elif isinstance(child, nodes.image):
            inline.left.add("image", child.get("alt", ""))
        elif isinstance(child, nodes.Element):
            listed = isinstance(child, nodes.list_item | nodes.definition_list_item)
            for text, apart in _pieces(child, inline, in_list=listed):
                yield text, apart or first
                first = False


_STYLES: dict[str, Style] = {"alpha": "letters", "roman": "roman"}
_ADORNED = re.compile(r"(?:([^\w\s])\1*\n)?(?P<text>[^\n]+)\n([^\w\s])\3+\s*\Z")
"""A title whose adornment does not fit those before it, as the parser gives it back."""


class Walk:
    """One pass over a tree.

    Args:
        inline: reads inline nodes.
        left: counts what is left out.
        above: level of the heading that stands above all sections, 0 without one.
    """

    def __init__(self, inline: InlineText, left: Omissions, above: int) -> None:
        self.inline = inline
        self.left = left
        self.blocks: list[Block] = []
        self.level = above
        self.lists: list[OrderedList | None] = []
        self.marker: str | None = None
        self.quotes = 0
        self.fresh_item = False
        self.label: str | None = None
        self.notes: list[nodes.Element] = []
        self.unread = 0

    def visit(self, node: nodes.Node) -> None:
        """Write the blocks of a node."""
        handle = _HANDLERS.get(type(node))
        if handle is not None and isinstance(node, nodes.Element):
            handle(self, node)
        elif isinstance(node, nodes.Inline | nodes.Text):
            self.write("paragraph", self.inline.of(_wrapped(node)))
        elif isinstance(node, nodes.Element):
            self.inside(node)

    def inside(self, node: nodes.Element) -> None:
        """Write the blocks of a node's children."""
        for child in node.children:
            self.visit(child)

    def write(self, kind: BlockKind, text: str) -> None:
        """Write one block; the first of a list item is the item, the first of a box takes its label."""
        if not text.strip():
            return
        if kind == "paragraph" and self.fresh_item:
            kind, self.fresh_item = "list_item", False
        elif kind == "paragraph" and self.quotes:
            kind = "quote"
        if self.label and kind in ("paragraph", "list_item", "quote"):
            label, self.label = self.label, None
            text = f"{label} {text}" if label.endswith((".", ":", "!", "?")) else f"{label}: {text}"
        self.write_label()
        if kind == "list_item":
            self._write_item(text)
        else:
            self.write_marker()
            self.blocks.append(Block(kind, text))

    def _write_item(self, text: str) -> None:
        marker, self.marker = self.marker, None
        self.blocks.append(Block("list_item", text, max(len(self.lists) - 1, 0), marker=marker))

    def write_marker(self) -> None:
        """The number of an item that begins with a list, a table or code stands alone."""
        if self.marker:
            self.fresh_item = False
            self._write_item("")

    def write_label(self) -> None:
        """A label with no text to go with stands alone."""
        if self.label:
            self.blocks.append(Block("paragraph", self.label))
            self.label = None

    def end_section(self) -> None:
        """Write the footnotes met since the last heading."""
        notes, self.notes = self.notes, []
        for note in notes:
            self._note(note)

    def _note(self, note: nodes.Element) -> None:
        label = "".join(child.astext() for child in note.children if isinstance(child, nodes.label))
        if isinstance(note, nodes.citation):
            self.label = f"[{label}]:"
        else:
            self.left.add("footnote_mark", f"[{label or '#' + ''.join(note['names'])}]")
        for child in note.children:
            if not isinstance(child, nodes.label):
                self.visit(child)
        self.write_label()

    def section(self, node: nodes.Element) -> None:
        """A heading and what stands under it."""
        self.end_section()
        self.level += 1
        title = node.children[0] if node.children else None
        if isinstance(title, nodes.title):
            self.write_label()
            self.blocks.append(Block("heading", self.inline.of(title), min(self.level, 6)))
        for child in node.children[1:]:
            self.visit(child)
        self.end_section()
        self.level -= 1

    def paragraph(self, node: nodes.Element) -> None:
        """Flowing text."""
        self.write("paragraph", self.inline.of(node).replace("\n", " "))

    def line_block(self, node: nodes.Element) -> None:
        """Lines that stay lines."""
        lines = (self.inline.of(line).strip() for line in node.findall(nodes.line))
        self.write("paragraph", "\n".join(line for line in lines if line))

    def code(self, node: nodes.Element) -> None:
        """Text whose lines and blanks are meant."""
        self.fresh_item = False
        self.write("code", self.inline.of(node))

    def list_of_items(self, node: nodes.Element) -> None:
        """A list of any kind."""
        self.write_marker()
        self.lists.append(_ordered(node) if isinstance(node, nodes.enumerated_list) else None)
        self.fresh_item = False
        self.inside(node)
        self.lists.pop()

    def item(self, node: nodes.Element) -> None:
        """An item, whose first paragraph is its line."""
        self.fresh_item = True
        ordered = self.lists[-1] if self.lists else None
        self.marker = ordered.number() if ordered else None
        self.inside(node)
        self.fresh_item, self.marker = False, None

    def definition(self, node: nodes.Element) -> None:
        """Term and meaning stand on one line, as do an option and its description."""
        term = ""
        for child in node.children:
            if isinstance(child, nodes.term):
                term = f"{term}, {self.inline.of(child)}" if term else self.inline.of(child)
            elif isinstance(child, nodes.classifier):
                term += f" ({self.inline.of(child)})"
            elif isinstance(child, nodes.option_group):
                term = ", ".join(_option(option) for option in child.findall(nodes.option))
            elif isinstance(child, nodes.Element):
                self._meaning(term.rstrip(" :"), child)

    def _meaning(self, term: str, node: nodes.Element) -> None:
        first = node.children[0] if node.children else None
        if isinstance(first, nodes.paragraph):
            self.fresh_item = True
            self.write("paragraph", f"{term}: {self.inline.of(first)}".replace("\n", " "))
        else:
            self._write_item(term)
        for child in node.children[1:] if isinstance(first, nodes.paragraph) else node.children:
            self.visit(child)

    def field(self, node: nodes.Element) -> None:
        """A name and what is said about it, as a row of a table."""
        name, *bodies = node.children
        said = self.inline.of(name) if isinstance(name, nodes.Element) else ""
        rest = [child for body in bodies for child in body.children]
        first = rest.pop(0) if rest and isinstance(rest[0], nodes.paragraph) else None
        text = self.inline.of(first) if isinstance(first, nodes.Element) else ""
        self.fresh_item = False
        self.write("table_row", f"{said}: {text}" if text else said)
        for child in rest:
            self.visit(child)

    def quote(self, node: nodes.Element) -> None:
        """Quoted text."""
        self.quotes += 1
        self.inside(node)
        self.quotes -= 1

    def attribution(self, node: nodes.Element) -> None:
        """Who is quoted."""
        self.write("paragraph", f"— {self.inline.of(node)}")

    def box(self, node: nodes.Element) -> None:
        """A box beside the text, whose title goes with its first paragraph."""
        self.write_label()
        self.label = node.get("label") or None
        self.inside(node)
        self.write_label()

    def table(self, node: nodes.Element) -> None:
        """A table as rows."""
        self.write_label()
        self.write_marker()
        self.fresh_item = False
        self.blocks += table_blocks(node, self.inline)

    def note(self, node: nodes.Element) -> None:
        """A footnote or citation, which waits for the end of its section."""
        self.notes.append(node)

    def left_out(self, node: nodes.Element) -> None:
        """What has no place in the text."""
        self.left.add(node.get("what", "comment"), node.astext())

    def image(self, node: nodes.Element) -> None:
        """A picture, of which the text has nothing."""
        self.left.add("image", node.get("alt", ""))

    def target(self, node: nodes.Element) -> None:
        """Where a link leads is no text of the document."""
        if "refuri" in node.attributes:
            self.left.add("link_target", node["refuri"])

    def complaint(self, node: nodes.Element) -> None:
        """Markup that could not be read comes with the complaint, and stays as it is written."""
        for child in node.children:
            if not isinstance(child, nodes.literal_block):
                continue
            title = _ADORNED.match(child.astext())
            if title is None:
                self.unread += 1
                self.code(child)
            elif isinstance(node.parent, nodes.section | nodes.document):
                self.end_section()
                self.blocks.append(Block("heading", title["text"], min(self.level + 1, 6)))
            else:
                self.write("paragraph", title["text"])

    def nothing(self, node: nodes.Element) -> None:
        """What only tells docutils something."""


def _ordered(node: nodes.Element) -> OrderedList:
    """How the items of a list are numbered."""
    kind = node.get("enumtype", "arabic")
    style = _STYLES.get(kind.removeprefix("lower").removeprefix("upper"), "digits")
    return OrderedList(node.get("start", 1), style, kind.startswith("upper"))


def _option(option: nodes.Element) -> str:
    return "".join(part.astext() for part in option.children)


def _wrapped(node: nodes.Node) -> nodes.Element:
    holder = nodes.inline()
    holder.children = [node]  # without making it the node's parent
    return holder


_HANDLERS: dict[type[nodes.Node], Callable[[Walk, nodes.Element], None]] = {
    nodes.section: Walk.section,
    nodes.paragraph: Walk.paragraph,
    nodes.rubric: Walk.paragraph,
    nodes.line_block: Walk.line_block,
    nodes.literal_block: Walk.code,
    nodes.doctest_block: Walk.code,
    nodes.math_block: Walk.code,
    nodes.bullet_list: Walk.list_of_items,
    nodes.enumerated_list: Walk.list_of_items,
    nodes.definition_list: Walk.list_of_items,
    nodes.option_list: Walk.list_of_items,
    nodes.list_item: Walk.item,
    nodes.definition_list_item: Walk.definition,
    nodes.option_list_item: Walk.definition,
    nodes.field: Walk.field,
    nodes.block_quote: Walk.quote,
    nodes.attribution: Walk.attribution,
    nodes.admonition: Walk.box,
    nodes.table: Walk.table,
    nodes.footnote: Walk.note,
    nodes.citation: Walk.note,
    nodes.comment: Walk.left_out,
    nodes.image: Walk.image,
    nodes.target: Walk.target,
    nodes.system_message: Walk.complaint,
    nodes.substitution_definition: Walk.nothing,
    nodes.transition: Walk.nothing,
    nodes.pending: Walk.nothing,
}
