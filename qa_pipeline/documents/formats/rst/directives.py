"""Directives of reStructuredText: what each leaves in the tree.

What belongs here: every directive, known or not, as nodes whose text is kept or counted. What does not:
finding them (`machine`), tables in directives (`table_directives`), and turning nodes into blocks
(`blocks`).

A directive nobody knows keeps its text: what stands on its line as a paragraph, its content as blocks.
"""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive as TableDirectivesDirective
from docutils.parsers.rst import DirectiveError, directives, states
from docutils.parsers.rst.directives import tables
from docutils.statemachine import StringList

Nodes = list[nodes.Node]

_FIELD = re.compile(states.Body.patterns["field_marker"])
_OPTION = re.compile(r":((?:[^:\\]|\\.|:(?! |$))+):(?: +(.*))?$")


@dataclass(slots=True)
class Directive:
    """A directive as written: what stands on its line, its options, and its content.

    `body` is line and content together, without the options, for directives that tell no difference. What
    nothing takes of the options is left out of the text.
    """

    state: Any
    name: str
    line: int
    offset: int
    argument: StringList
    options: dict[str, str]
    content: StringList
    body: StringList

    def take(self, option: str) -> str:
        """The value of an option, empty without it; it is no longer there afterwards."""
        return self.options.pop(option, "")

    def title(self) -> str:
        """What stands on the directive's own line, and goes on below."""
        return " ".join(part.strip() for part in self.argument).strip()

    def paragraph(self, text: str) -> Nodes:
        """A paragraph of text with inline markup; none without text."""
        if not text.strip():
            return []
        found, _ = self.state.inline_text(text, self.line)
        return [nodes.paragraph(text, "", *found)]

    def blocks(self, content: StringList) -> Nodes:
        """Content as blocks."""
        inside = nodes.container()
        if content:
            self.state.nested_parse(content, self.offset, inside)
        return list(inside.children)


def written_directive(state: Any, name: str, block: StringList, offset: int, line: int) -> Directive:
    """Tell the parts of a directive; options follow its line at once, content a blank line or its name."""
    named = bool(block) and bool(block[0].strip())
    head = next((number for number in range(1, len(block)) if not block[number].strip()), len(block))
    first = next((number for number in range(1, head) if _FIELD.match(block[number])), head)
    end = next((n for n in range(first, head) if not _FIELD.match(block[n]) and block[n][0] != " "), head)
    options = _options(block[first:end])
    named = named or (bool(options) and first > 1)  # text above the options begins below the name
    argument = block[:first] if named else block[:0]
    content = block[1:] if not named and not options else block[end + (end == head) :]
    body = argument + block[end:] if named else content
    return Directive(state, name, line, offset, argument, options, content, body)


def _options(lines: StringList) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        option = _OPTION.match(line)
        if option:
            name = option[1].strip().lower()
            found[name] = "\n".join(filter(None, [found.get(name, ""), (option[2] or "").strip()]))
        elif name:
            found[name] = f"{found[name]}\n{line.strip()}".strip("\n")
    return found


TABLES: dict[str, type[TableDirectivesDirective]] = {
    "csv-table": tables.CSVTable,
    "list-table": tables.ListTable,
    "table": tables.RSTTable,
}
_USED = frozenset({"header-rows", "stub-columns", "header", "delim", "quote", "escape", "keepspace"})


def table_nodes(written: "Directive") -> list[nodes.Node] | None:
    """The table; None when its content is not what the directive wants."""
    kind = TABLES[written.name]
    title = written.title()
    directive = kind(
        written.name,
        [title] if title else [],
        _table_directives_options(kind, written.options),
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


def _table_directives_options(
    kind: type[TableDirectivesDirective], written: dict[str, str]
) -> dict[str, Any]:
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


_LITERAL = frozenset(
    {
        None, "code", "command", "dfn", "emphasis", "file", "guilabel", "kbd", "literal", "mailheader",
        "mimetype", "program", "regexp", "samp", "strong", "sub", "subscript", "title-reference", "title",
    }
)  # fmt: skip
"""Roles whose text is all there is to it; in others `Text <target>` names what is linked to."""
_NUMBERED = {"pep": "PEP", "pep-reference": "PEP", "rfc": "RFC", "rfc-reference": "RFC"}
_TITLED = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)


def role_node(role: str | None, text: str, raw_roles: AbstractSet[str]) -> nodes.Node:
    """The node for a piece of interpreted text.

    Args:
        role: its name as written; None where the writer gave none.
        text: what stands between the backquotes.
        raw_roles: names that the document defined for output of another format.
    """
    name = role.lower().rpartition(":")[2] if role else None
    if name in raw_roles or name == "raw":
        return nodes.raw("", text, format="")
    if name in ("sup", "superscript"):
        return nodes.superscript("", text)
    if name == "math":
        return nodes.math("", text)
    if name in _LITERAL:
        return nodes.inline("", text)
    titled = _TITLED.match(text)
    if titled:
        return nodes.inline("", titled["title"], target=titled["target"])
    if name in _NUMBERED:
        return nodes.inline("", f"{_NUMBERED[name]} {text.partition('#')[0].strip()}")
    if name == "ref":
        return nodes.inline("", text, label=" ".join(text.lower().split()))
    return nodes.inline("", text.lstrip("~!"))
