"""reStructuredText files: docutils' parser and HTML writer, then the reader of HTML.

Directives and roles are looked up here and not in docutils: one that it does not know would become an error
message, and one that it knows might read a file. Text of unknown directives and roles is kept; what has no
place in the text is counted.

A file may begin with lines such as `Title: ...`, as Python Enhancement Proposals do: they become rows of a
table, and the title above them the heading of the document.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from functools import cache
from typing import Any, ClassVar

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Directive, Parser, directives, roles, states, tableparser
from docutils.parsers.rst.directives import misc, tables
from docutils.statemachine import StringList
from docutils.writers import html5_polyglot

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.front_matter import known_fields
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_SETTINGS = {
    "file_insertion_enabled": False, "raw_enabled": False, "halt_level": 6, "report_level": 6,
    "line_length_limit": 10**9, "warning_stream": False, "traceback": True, "initial_header_level": 1,
    "stylesheet_path": None, "embed_stylesheet": False,
}  # fmt: skip
_HEADERS = re.compile(r"\A\s*(?:[A-Za-z][\w-]*:(?:[ \t]+[^\n]*)?\n(?:[ \t]+\S[^\n]*\n)*){2,}(?:[ \t]*\n|\Z)")
_ADORNED = re.compile(r"(?:([^\w\s])\1*\n)?(?P<text>[^\n]+)\n([^\w\s])\3+\s*\Z")
"""A title whose adornment does not fit those before it, as the parser gives it back."""
_TITLED = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)
_NUMBERED = {"pep": "PEP", "pep-reference": "PEP", "rfc": "RFC", "rfc-reference": "RFC"}
_PLAIN_ROLES = frozenset({
    "code", "command", "dfn", "emphasis", "file", "guilabel", "kbd", "literal", "mailheader", "math",
    "mimetype", "program", "regexp", "samp", "strong", "title-reference", "title",
})  # fmt: skip
"""Roles whose text is all there is to it; in others `Text <target>` names what is linked to."""
_STRUCK = frozenset({"strike", "strikethrough", "del", "deleted", "line-through", "s"})
_LEVELS = {
    "sup": nodes.superscript, "superscript": nodes.superscript, "sub": nodes.subscript,
    "subscript": nodes.subscript,
}  # fmt: skip
_LIST_TYPES = {"loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I"}
_LONGEST_SUBSTITUTION = 2_000  # characters; definitions that use one another may double with each step
_MOST_SEARCHED = 400_000_000
"""Characters looked at for the ends of inline markup in one paragraph: a few seconds."""
_DEEPEST = 100
"""More levels cost the parser a copy of all lines each, and end in a RecursionError anyway."""

_BOXES = {
    name: name.capitalize()
    for name in (
        "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "todo", "warning",
        "withdrawn",
    )
} | {
    "seealso": "See also", "versionadded": "New in version", "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version", "versionremoved": "Removed in version",
}  # fmt: skip
_CODE = frozenset({
    "code", "code-block", "sourcecode", "parsed-literal", "math", "productionlist", "doctest", "testcode",
    "graphviz",
})  # fmt: skip
_INCLUDES = frozenset({"include", "literalinclude", "automodule", "autoclass", "autofunction"})
_FRAMES = frozenset({"only", "class", "rst-class", "container", "tabs", "tab-set", "hlist"})
"""Directives whose own line only says where or how their content is shown."""
_COUNTED = {
    **dict.fromkeys(("contents", "toctree", "index"), "navigation"),
    **dict.fromkeys(("header", "footer"), "running_head"),
    **dict.fromkeys(
        ("sectnum", "default-role", "highlight", "currentmodule", "meta", "title", "role"), "metadata"
    ),
    "raw": "raw",
}


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one reStructuredText file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or blocks are nested deeper than any writer means.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n")
    check_length(len(text), settings)  # the parser takes a hundred times the memory of what it reads
    lines = text.split("\n")
    widths: list[int] = []
    for line in filter(str.strip, lines):
        width = len(line) - len(line.lstrip())
        widths = [*(above for above in widths if above < width), width]
        if len(widths) > _DEEPEST:
            raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    omissions = Omissions()
    as_written: list[str] = []
    document = utils.new_document("document", copy(_load_settings()))
    try:
        with _look_up_here():
            headers = _HEADERS.match(f"{text}\n") is not None
            Parser(rfc2822=headers, inliner=_bounded_inliner(as_written)).parse(text, document)
        unread = _replace_messages(document, lines) + len(as_written)
        fields = _read_first_fields(document)
        translator = _Translator(document, omissions, title=_take_title(fields))
        document.walkabout(translator)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    for node in document.findall(nodes.substitution_definition):
        if id(node) not in translator.used:
            omissions.add("substitution", node.astext())
    blocks = read_fragment("".join(translator.body), omissions, page=False)
    about = known_fields({name: " ".join(body.astext().split()) for name, body in fields.items()})
    pieces = f"{unread} piece{'s' if unread > 1 else ''} of markup could not be read; kept as written"
    notes = (*omissions.notes(), *([pieces] if unread else []))
    return ParsedFile(tuple(blocks), **asdict(about), left_out=omissions.record(), notes=notes)


@cache
def _load_settings() -> Any:
    """Return settings of parser and writer, cached: docutils derives them from a command line, slowly."""
    settings = frontend.get_default_settings(Parser, html5_polyglot.Writer)
    vars(settings).update(_SETTINGS)
    return settings


@contextmanager
def _look_up_here() -> Iterator[None]:
    """Let docutils find every directive and role here while entered."""
    before = directives.directive, roles.role, tableparser.SimpleTableParser
    directives.directive = lambda name, *_: (_DIRECTIVES.get(name.lower(), _Any), [])
    roles.role = lambda *_: (_role, [])
    tableparser.SimpleTableParser = _SimpleTables  # type: ignore[misc]
    try:
        yield
    finally:
        directives.directive, roles.role, tableparser.SimpleTableParser = before  # type: ignore[misc]


def _bounded_inliner(as_written: list[str]) -> states.Inliner:
    """Return a parser of inline markup that keeps paragraphs of too many marks `as_written`.

    Each mark that nothing ends costs a search to the end of its paragraph.
    """
    inliner = states.Inliner()
    read = inliner.parse

    def parse_inline(text: str, *about: Any) -> Any:
        if sum(map(text.count, "*`|_[")) * len(text) <= _MOST_SEARCHED:
            return read(text, *about)
        as_written.append(text)
        return [nodes.Text(text)], []

    vars(inliner)["parse"] = parse_inline  # a subclass would lose the patterns, taken from its own class
    return inliner


class _SimpleTables(tableparser.SimpleTableParser):
    """A parser of tables that keeps lines above the first row with text, which docutils would drop."""

    def setup(self, block: Any) -> None:
        super().setup(block)
        width = len(self.block[0].split(" ", 1)[0])
        below_border = False
        for number, line in enumerate(self.block):
            if not line.strip("-= "):
                below_border = below_border or bool(line)
            else:
                if below_border and not line[:width].strip():
                    self.block[number] = f"\\{line[1:]}"
                below_border = False


class _Options(dict[str, Any]):
    """Options of a directive: any name is known, and its value text unless the directive wants it read."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class _Any(Directive):
    """Any directive but tables, by what it is for the text."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _Options()

    def run(self) -> list[nodes.Node]:
        if isinstance(self.state, states.SubstitutionDef):
            # A picture, a date or something nobody knows; none of them has text of its own.
            return [nodes.image(alt=self.options.get("alt", ""))]
        name = self.name.lower()
        below = self.arguments[0].split("\n") if self.arguments else []
        first = below.pop(0) if self.block_text.split("\n", 1)[0].partition("::")[2].strip() and below else ""
        if name == "raw" and {"file", "url"} & self.options.keys():
            return [_left_out("include")]
        if name in _COUNTED:
            return [
                _left_out(_COUNTED[name], "\n".join([first, *below, *self.content, *self.options.values()]))
            ]
        caption = self.options.pop("caption", "")
        inline, _ = self.state.inline_text(caption, self.lineno)
        found: list[nodes.Node] = [nodes.paragraph(caption, "", *inline)] if caption.strip() else []
        if name in _CODE:
            above = below if name.startswith(("code", "source")) else [first, *below]
            above = [line for line in above if line or name.startswith(("code", "source"))]
            found += _literal([*above, *([""] if above and self.content else []), *self.content])
        elif name in ("image", "figure"):
            found += [nodes.image(alt=" ".join([self.options.pop("alt", ""), *below])), *self._blocks()]
        elif name in _INCLUDES:
            found += [_left_out("include", " ".join(below)), *self._blocks()]
        elif name in _FRAMES:
            found += self._blocks(*below)
        else:
            found += self._box(name, first, below)
        rest = " ".join(self.options.values()).strip()
        return [*found, _left_out("option", rest)] if rest else found

    def _box(self, name: str, first: str, below: list[str]) -> list[nodes.Node]:
        """Return what a directive holds, under the label of its kind or its own."""
        label = _BOXES.get(name, "")
        if label.endswith("version"):
            version, _, first = first.partition(" ")
            label = f"{label} {version}".strip()
        elif name in ("admonition", "topic", "sidebar"):
            label, first, below = " ".join([first, *below]).strip().rstrip(":"), "", []
        inside = self._blocks(first, *below)
        return [nodes.admonition("", nodes.title("", label), *inside)] if label else inside

    def _blocks(self, *above: str) -> list[nodes.Node]:
        """Return the lines above the content, and the content, as blocks."""
        lines = [line for line in above if line.strip()]
        inside = nodes.container()
        head = StringList([*lines, ""] if lines else [], "document")
        self.state.nested_parse(head + self.content, self.content_offset, inside)
        return list(inside.children)


class _Table(Directive):
    """Tables in lists and comma-separated lines, by docutils, with the options that say what is a header."""

    def run(self) -> list[nodes.Node]:
        if "file" in self.options or "url" in self.options:
            title = nodes.paragraph("", " ".join(self.arguments)) if self.arguments else None
            return [*([title] if title else []), _left_out("include")]
        self.options = {name: value for name, value in self.options.items() if name in _TABLE_OPTIONS}
        return list(super().run())


_TABLE_OPTIONS = ("header-rows", "stub-columns", "header", "keepspace", "delim", "quote", "escape")
_DIRECTIVES: dict[str, type[Directive]] = {"replace": misc.Replace, "unicode": misc.Unicode}
for _kind in (tables.CSVTable, tables.ListTable, tables.RSTTable):
    _known = {name: _kind.option_spec[name] for name in _TABLE_OPTIONS if name in _kind.option_spec}
    _name = {tables.CSVTable: "csv-table", tables.ListTable: "list-table"}.get(_kind, "table")
    _DIRECTIVES[_name] = type(_kind.__name__, (_Table, _kind), {"option_spec": _Options(_known)})


def _left_out(what: str, text: str = "") -> nodes.Node:
    return nodes.comment("", text, what=what)


def _literal(lines: list[str]) -> list[nodes.Node]:
    text = "\n".join(lines)
    return [nodes.literal_block(text, text)] if text.strip() else []


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    text = utils.unescape(text)
    name = name.lower().rpartition(":")[2]
    is_plain = name in _PLAIN_ROLES or not name
    titled = None if is_plain else _TITLED.match(text)
    node: nodes.Node
    if name == "raw":
        node = nodes.raw("", text, format="")
    elif name in _LEVELS:
        node = _LEVELS[name]("", text)
    elif name in _STRUCK:
        node = _left_out("deleted_text", text)
    elif titled:
        node = nodes.reference("", titled["title"], refuri=titled["target"])
    elif name in _NUMBERED:
        node = nodes.inline("", f"{_NUMBERED[name]} {text.partition('#')[0].strip()}")
    else:
        label = " ".join(text.lower().split()) if name == "ref" else ""
        node = nodes.inline("", text if is_plain else text.lstrip("~!"), label=label)
    return [node], []


def _replace_messages(document: nodes.document, lines: list[str]) -> int:
    """Put the markup that a message quotes in its place, as it is written; how many pieces there are.

    A title out of order stays a heading. Other messages go: they are docutils' words, not the file's.
    """
    unread = 0
    for message in list(document.findall(nodes.system_message)):
        quoted = next((node for node in message.children if isinstance(node, nodes.literal_block)), None)
        title = _ADORNED.match(quoted.astext()) if quoted is not None else None
        place = message.parent.index(message)
        before = message.parent[place - 1] if place else None
        if title:
            heading = isinstance(message.parent, nodes.section | nodes.document)
            message.replace_self((nodes.rubric if heading else nodes.paragraph)("", title["text"]))
        elif quoted is not None:
            unread += 1
            message.replace_self(quoted)
        else:
            message.parent.remove(message)
            if isinstance(before, nodes.comment) and "malformed" in message.astext():
                # A target or substitution, of which docutils takes the last line for a comment.
                unread += 1
                before.replace_self(_literal(_find_markup(lines, message["line"])))
    return unread


def _find_markup(lines: list[str], last: int) -> list[str]:
    """Return lines of a construct behind two dots, by the number of its last line, from 1."""
    above = range(min(last, len(lines)), 0, -1)
    first = next((number for number in above if lines[number - 1].lstrip().startswith("..")), last)
    return [line.strip() for line in lines[first - 1 : last]]


def _read_first_fields(document: nodes.document) -> dict[str, nodes.Element]:
    """Return the fields a file begins with, at once or under its title: the value of each by its name."""
    inside: nodes.Element = document
    while True:
        seen = (node for node in inside.children if not isinstance(node, nodes.Invisible | nodes.title))
        first = next(seen, None)
        if not isinstance(first, nodes.section):
            break
        inside = first
    fields = first.children if isinstance(first, nodes.field_list) else []
    return {
        field[0].astext().strip().lower(): field[1]
        for field in fields
        if isinstance(field, nodes.field) and len(field) == 2 and isinstance(field[1], nodes.Element)
    }


def _take_title(fields: dict[str, nodes.Element]) -> nodes.Element | None:
    """Return the title in the headers of a file, which becomes its heading and is no field any more."""
    value = fields.get("title")
    if value is None or "rfc2822" not in value.parent.parent["classes"] or not value.astext().strip():
        return None
    value.parent.parent.remove(value.parent)
    return value


class _Translator(html5_polyglot.HTMLTranslator):
    """The writer of HTML; what has no place in the text is counted, what leads elsewhere is its text."""

    attribution_formats: ClassVar = {"dash": ("— ", "")}

    def __init__(self, document: nodes.document, omissions: Omissions, title: nodes.Element | None) -> None:
        super().__init__(document)
        self.omissions = omissions
        self.resolved: dict[str, str] = {}
        self.used: set[int] = set()
        if title is not None:
            self.body.append(f"<h1>{self._inner(title)}</h1>")
            self.initial_header_level = 2

    def _inner(self, node: nodes.Element) -> str:
        body, self.body = self.body, []
        for child in node.children:
            child.walkabout(self)
        inner, self.body = "".join(self.body), body
        return inner

    def _skip(self, what: str, text: str) -> None:
        self.omissions.add(what, text)
        raise nodes.SkipNode

    def visit_comment(self, node: Any, sub: Any = None) -> None:
        self._skip(node.get("what", "comment"), node.astext())

    def visit_image(self, node: Any) -> None:
        self._skip("image", node.get("alt", ""))

    def visit_raw(self, node: Any) -> None:
        self._skip("raw", node.astext())

    def visit_footnote_reference(self, node: Any) -> None:
        if self.body:
            self.body[-1] = self.body[-1].rstrip()  # the blank before a mark goes with it
        self._skip("footnote_mark", node.rawsource.rstrip("_"))

    def visit_target(self, node: Any) -> None:
        if "refuri" in node and not isinstance(node.parent, nodes.TextElement):
            self.omissions.add("link_target", node["refuri"])

    def visit_reference(self, node: Any) -> None:
        target = node.get("refuri", "")
        if target not in (node.astext(), f"mailto:{node.astext()}"):
            self.omissions.add("link_target", target)

    def visit_inline(self, node: Any) -> None:
        """Visit a role; a reference to a label stands as the title of the section below that."""
        target = self.document.ids.get(self.document.nameids.get(node.get("label", "")) or "")
        below = (
            target.findall(include_self=False, descend=False, siblings=True, ascend=True) if target else ()
        )
        found = next((element for element in below if not isinstance(element, nodes.target)), None)
        if isinstance(found, nodes.section):
            self.body.append(self.encode(found[0].astext()))
            self._skip("link_target", node.astext())

    def visit_substitution_reference(self, node: Any) -> None:
        """Visit a substitution; one that is not defined, or explodes, stays as it is written."""
        name = " ".join(node.astext().split())
        if name not in self.resolved:
            definitions, names = self.document.substitution_defs, self.document.substitution_names
            definition = definitions.get(name) or definitions.get(names.get(name.lower(), ""))
            # While it is being read it stands for itself, so that a circle ends.
            self.resolved[name] = self.encode(f"|{name}|")
            if definition is not None:
                self.used.add(id(definition))
                inner = self._inner(definition)
                if len(inner) <= _LONGEST_SUBSTITUTION:
                    self.resolved[name] = inner
        self.body.append(self.resolved[name])
        raise nodes.SkipNode

    def visit_citation(self, node: Any) -> None:
        self.body.append("<div>")

    def depart_citation(self, node: Any) -> None:
        self.body.append("</div>")

    def visit_footnote(self, node: Any) -> None:
        label = "".join(child.astext() for child in node.children if isinstance(child, nodes.label))
        self.omissions.add("footnote_mark", f"[{label or '#' + ''.join(node['names'])}]")
        self.visit_citation(node)

    depart_footnote = depart_citation

    def visit_label(self, node: Any) -> None:
        if isinstance(node.parent, nodes.citation):
            self.body.append(f'<p class="admonition-title">[{self.encode(node.astext())}]:</p>')
        raise nodes.SkipNode

    def visit_citation_reference(self, node: Any) -> None:
        self.body.append(f"[{self.encode(node.astext())}]")
        raise nodes.SkipNode

    def visit_rubric(self, node: Any) -> None:
        """Visit a title out of order; a rubric of the writer is a paragraph by then."""
        level = min(self.section_level + self.initial_header_level, 6)
        self.body.append(f"<h{level}>{self._inner(node)}</h{level}>")
        raise nodes.SkipNode

    def visit_classifier(self, node: Any) -> None:
        self.body.append(" (")

    def depart_classifier(self, node: Any) -> None:
        self.body.append(")")
        self.depart_term(node)

    def visit_line_block(self, node: Any) -> None:
        if not isinstance(node.parent, nodes.line_block):
            lines = "<br>".join(self._inner(line) for line in node.findall(nodes.line))
            self.body.append(f"<p>{lines}</p>")
            raise nodes.SkipNode

    def visit_enumerated_list(self, node: Any) -> None:
        kind = _LIST_TYPES.get(node.get("enumtype", ""), "1")
        self.body.append(f'<ol type="{kind}" start="{node.get("start", 1)}">')

    def visit_field_list(self, node: Any) -> None:
        """Visit fields as rows of a table, or as a list where a value is more than a paragraph."""
        fields = [field.children for field in node.children if len(field.children) == 2]
        row = "<tr><th>{}</th><td>{}</td></tr>"
        simple = all([*map(type, body.children)] in ([], [nodes.paragraph]) for _, body in fields)
        if not simple:
            row = "<dt>{}</dt><dd>{}</dd>"
        self.body.append("<table>" if simple else "<dl>")
        for name, body in fields:
            written = row if len(body) or not simple else "<tr><td>{}</td></tr>"
            self.body.append(written.format(self._inner(name), self._inner(body)))
        self.body.append("</table>" if simple else "</dl>")
        raise nodes.SkipNode

    def _nothing(self, node: Any) -> None:
        pass

    depart_target = depart_reference = depart_inline = _nothing
    visit_problematic = depart_problematic = visit_pending = depart_pending = _nothing
