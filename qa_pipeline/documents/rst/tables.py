"""Tables of reStructuredText as rows of text.

What belongs here: a table of docutils' tree as a grid of cells. What does not: how rows are worded (`rows`).
"""

from collections.abc import Iterator

from docutils import nodes

from qa_pipeline.documents.rows import Cell, counted_lines
from qa_pipeline.documents.rst.inline import InlineText
from qa_pipeline.records import Block


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
