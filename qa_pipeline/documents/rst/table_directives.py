"""Tables that directives of reStructuredText describe: in lists, in comma-separated lines, or drawn.

What belongs here: calling docutils' own directives with the options they know. What does not: other
directives (`directives`), and tables as rows of text (`blocks`).
"""

from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import Directive, DirectiveError
from docutils.parsers.rst.directives import tables

if TYPE_CHECKING:
    from qa_pipeline.documents.rst import directive_parts

TABLES: dict[str, type[Directive]] = {
    "csv-table": tables.CSVTable,
    "list-table": tables.ListTable,
    "table": tables.RSTTable,
}
_USED = frozenset({"header-rows", "stub-columns", "header", "delim", "quote", "escape", "keepspace"})


def table_nodes(written: "directive_parts.Directive") -> list[nodes.Node] | None:
    """The table; None when its content is not what the directive wants."""
    kind = TABLES[written.name]
    title = written.title()
    directive = kind(
        written.name,
        [title] if title else [],
        _options(kind, written.options),
        written.content,
        written.line,
        written.offset,
        "",
        written.state,
        written.state.state_machine,
    )
    try:
        found = list(directive.run())
    except (DirectiveError, ValueError):  # ValueError: a cell with a zero byte
        return None
    if not any(isinstance(node, nodes.table) for node in found):
        return None
    written.take("header")
    return found


def _options(kind: type[Directive], written: dict[str, str]) -> dict[str, Any]:
    """The options that decide what is a cell and what a header; widths and classes are no text."""
    found: dict[str, Any] = {}
    for name in sorted(_USED & written.keys()):
        convert = (kind.option_spec or {}).get(name)
        try:
            if convert is not None:
                found[name] = convert(written[name])
        except (ValueError, TypeError):
            continue
    return found
