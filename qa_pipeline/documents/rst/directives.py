"""Directives of reStructuredText: what each leaves in the tree.

What belongs here: every directive, known or not, as nodes whose text is kept or counted. What does not:
finding them (`machine`), tables in directives (`table_directives`), and turning nodes into blocks
(`blocks`).

A directive nobody knows keeps its text: what stands on its line as a paragraph, its content as blocks.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives, states
from docutils.statemachine import StringList

from qa_pipeline.documents.rst.directive_parts import Directive, Nodes, written_directive
from qa_pipeline.documents.rst.table_directives import TABLES, table_nodes

_BOXES = {
    name: name.capitalize()
    for name in (
        "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "todo", "warning",
    )
}  # fmt: skip
_BOXES |= {"seealso": "See also", "withdrawn": "Withdrawn", "admonition": "", "topic": "", "sidebar": ""}
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_CODE = frozenset({"code", "code-block", "sourcecode", "prompt", "ipython"})
_VERBATIM = frozenset(
    {
        "parsed-literal", "math", "productionlist", "testcode", "testoutput", "testsetup", "testcleanup",
        "doctest", "graphviz", "digraph", "graph", "mermaid", "plantuml", "uml", "literal",
    }
)  # fmt: skip
_INCLUDES = frozenset(
    {
        "include", "literalinclude", "automodule", "autoclass", "autofunction", "autoexception", "automethod",
        "autoattribute", "autodata", "autosummary", "argparse", "program-output", "doxygenfile",
    }
)  # fmt: skip
_LEFT_OUT = {
    "raw": "raw",
    "image": "image",
    "thumbnail": "image",
    "contents": "navigation",
    "toctree": "navigation",
    "index": "navigation",
    "tabularcolumns": "metadata",
    "meta": "metadata",
    "title": "metadata",
    "header": "running_head",
    "footer": "running_foot",
}
_MARKUP_ONLY = frozenset(
    {
        "sectnum", "section-numbering", "target-notes", "default-role", "highlight", "currentmodule", "date",
    }
)  # fmt: skip
_CONTENT_ONLY = frozenset(
    {
        "only", "ifconfig", "class", "rst-class", "cssclass", "container", "compound", "grid", "tabs",
        "tab-set", "figure", "list", "hlist", "figure-md", "div",
    }
)  # fmt: skip
_QUOTES = frozenset({"epigraph", "highlights", "pull-quote", "pull_quote"})
_SIGNATURES = frozenset(
    {
        "function", "method", "class", "attribute", "data", "module", "exception", "classmethod",
        "staticmethod", "decorator", "describe", "object", "option", "cmdoption", "envvar", "confval",
        "program", "opcode", "c:function", "c:type", "c:macro", "c:var",
    }
) - _CONTENT_ONLY  # fmt: skip
_COMMENT_IN_CODES = re.compile(r"(?: |\n|^)\.\. ")


def run_directive(state: Any, name: str, block: StringList, offset: int, line: int) -> Nodes:
    """Nodes for a directive.

    Args:
        state: the state of docutils' parser that met it.
        name: its name as written.
        block: the lines that belong to it, from behind its name, without their indentation.
        offset: number of the first of these lines in the file, from 0.
        line: number of the directive's first line in the file, from 1.
    """
    short = name.lower()
    directive = written_directive(state, short, block, offset, line)
    if isinstance(state, states.SubstitutionDef):
        return list(_inline_nodes(directive))
    found = _handler(short)(directive)
    rest = " ".join(directive.options.values()).strip()
    return [*found, left_out("option", rest)] if rest else found


def _handler(name: str) -> Callable[[Directive], Nodes]:
    for names, handle in _HANDLERS:
        if name in names:
            return handle
    return _signature if name.rpartition(":")[2] in _SIGNATURES else _body


def left_out(what: str, text: str = "") -> nodes.Node:
    """A node that stands for text left out of the document."""
    return nodes.comment("", text, what=what)


def _code(directive: Directive) -> Nodes:
    """Code; what stands on the directive's line names its language."""
    lines = directive.body[1:] if directive.argument else directive.body
    return directive.paragraph(directive.take("caption")) + _literal("\n".join(lines))


def _verbatim(directive: Directive) -> Nodes:
    text = "\n".join(directive.body)
    if directive.name == "parsed-literal":
        found, _ = directive.state.inline_text(text, directive.line)
        return [nodes.literal_block(text, "", *found)]
    return directive.paragraph(directive.take("caption")) + _literal(text)


def _literal(text: str) -> Nodes:
    return [nodes.literal_block(text, text)] if text.strip() else []


def _box(directive: Directive) -> Nodes:
    """A box beside the text, whose title labels it and opens no section."""
    label = _BOXES[directive.name]
    body = directive.body
    if not label:
        label, body = directive.title(), directive.content
    box = nodes.admonition(label=label.rstrip(":"))
    box += directive.blocks(body)
    return [box]


def _version(directive: Directive) -> Nodes:
    version, _, text = directive.title().partition(" ")
    box = nodes.admonition(label=f"{_VERSIONS[directive.name]} {version}".strip())
    box += directive.paragraph(text) + directive.blocks(directive.content)
    return [box]


def _include(directive: Directive) -> Nodes:
    """What stands in another file, which is not read."""
    return [left_out("include", _below_line(directive)), *directive.blocks(directive.content)]


def _below_line(directive: Directive) -> str:
    """What goes on below the name of a file, although such names do not."""
    return " ".join(directive.argument[1:])


def _left_out(directive: Directive) -> Nodes:
    what = _LEFT_OUT[directive.name]
    if what == "image":
        text = " ".join([directive.take("alt"), _below_line(directive)])
        return [left_out(what, text), *directive.blocks(directive.content)]
    if what == "metadata":
        values = [directive.take(name) for name in list(directive.options)]
        return [left_out(what, " ".join([*directive.body, *values]))]
    return [left_out(what, "\n".join(directive.content if what == "raw" else directive.body))]


def _content_only(directive: Directive) -> Nodes:
    below = _below_line(directive)
    if directive.name == "figure":
        above = [left_out("image", f"{directive.take('alt')} {below}")]
    else:
        above = directive.paragraph(below)
    return above + directive.paragraph(directive.take("caption")) + _content(directive)


def _body(directive: Directive) -> Nodes:
    return directive.blocks(directive.body)


def _content(directive: Directive) -> Nodes:
    return directive.blocks(directive.content)


def _role(directive: Directive) -> Nodes:
    """A role the document defines; only one whose text is meant for another format needs remembering."""
    name, _, base = directive.title().partition("(")
    if base.rstrip(") ").endswith("raw"):
        directive.state.memo.inliner.raw_roles.add(name.strip().lower())
    return []


def _rubric(directive: Directive) -> Nodes:
    return directive.paragraph(directive.title()) + _content(directive)


def _quote(directive: Directive) -> Nodes:
    quote = nodes.block_quote()
    quote += directive.blocks(directive.body)
    return [quote]


def _signature(directive: Directive) -> Nodes:
    """What a directive of the Python, C or another domain describes, and the description."""
    lines = [nodes.paragraph(line, line) for line in directive.argument if line.strip()]
    return [*lines, *_content(directive)]


def _table(directive: Directive) -> Nodes:
    if "file" in directive.options or "url" in directive.options:
        return [*directive.paragraph(directive.title()), left_out("include")]
    found = table_nodes(directive)
    return directive.blocks(directive.body) if found is None else found


def _nothing(_: Directive) -> Nodes:
    return []


def _inline_nodes(directive: Directive) -> Iterator[nodes.Node]:
    """What a substitution stands for."""
    if directive.name == "replace":
        found, _ = directive.state.inline_text("\n".join(directive.body), directive.line)
        yield from found
    elif directive.name == "unicode":
        for code in _COMMENT_IN_CODES.split(" ".join(directive.argument))[0].split():
            yield nodes.Text(_character(code))
    else:
        # Only a picture, a date or something nobody knows; none of them has text of its own.
        yield nodes.image("", alt=directive.take("alt"))


def _character(code: str) -> str:
    try:
        return str(directives.unicode_code(code))
    except ValueError:
        return code


_HANDLERS: tuple[tuple[Any, Callable[[Directive], Nodes]], ...] = (
    (_CODE, _code),
    (_VERBATIM, _verbatim),
    (_BOXES, _box),
    (_VERSIONS, _version),
    (_INCLUDES, _include),
    (_LEFT_OUT, _left_out),
    (_MARKUP_ONLY, _nothing),
    (_CONTENT_ONLY, _content_only),
    (_QUOTES, _quote),
    (TABLES, _table),
    (frozenset({"role"}), _role),
    (frozenset({"rubric", "centered"}), _rubric),
)
