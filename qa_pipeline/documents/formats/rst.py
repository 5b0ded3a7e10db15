"""Read reStructuredText: docutils parses it and writes HTML, and the HTML reader reads that.

Directives and roles are looked up here: docutils would report unknown ones as errors, and read files for
others. Text of unknown directives is kept and their names are counted.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Directive, Parser, directives, roles, states, tableparser
from docutils.parsers.rst.directives import misc, tables
from docutils.statemachine import StringList
from docutils.transforms.references import PropagateTargets, Substitutions
from docutils.writers import html5_polyglot

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.text import known_fields
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_SETTINGS = {
    "file_insertion_enabled": False, "raw_enabled": False, "halt_level": 6, "report_level": 6,
    "line_length_limit": 10**9, "warning_stream": False, "traceback": True, "initial_header_level": 1,
    "stylesheet_path": None, "embed_stylesheet": False,
}  # fmt: skip
_HEADERS = re.compile(r"\A\s*(?:[A-Za-z][\w-]*:(?:[ \t]+[^\n]*)?\n(?:[ \t]+\S[^\n]*\n)*){2,}(?:[ \t]*\n|\Z)")
"""Lines such as `Title: ...`, with which a Python Enhancement Proposal begins."""
_ADORNED = re.compile(r"(?:([^\w\s])\1*\n)?(?P<text>[^\n]+)\n([^\w\s])\3+\s*\Z")
"""A title whose adornment does not fit those before it, as the parser gives it back."""
_LINK = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)
_PLAIN_ROLES = frozenset({"code", "command", "kbd", "literal", "math", "samp"})
"""Roles whose text may look like a link: `Title <target>`."""
_LEVELS = {
    "sup": nodes.superscript, "superscript": nodes.superscript, "sub": nodes.subscript,
    "subscript": nodes.subscript,
}  # fmt: skip
_LIST_TYPES = {"loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I"}
_LONGEST_SUBSTITUTION = 2_000  # characters
_MOST_INNER = 20  # names of substitutions in substitutions: with each the text may double
_LABELS = {
    "seealso": "See also", "versionadded": "New in version", "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
} | {
    name: name.capitalize()
    for name in ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning")
}  # fmt: skip
_TITLED = frozenset({"admonition", "topic", "sidebar", "rubric", "tab", "tab-item", "dropdown"})
"""Boxes whose argument is their title."""
_FRAMES = frozenset({"class", "compound", "container", "epigraph", "highlights", "only", "pull-quote"})
"""Boxes without a title; their argument is a name of a look or a condition."""
_CODE = frozenset({"code", "code-block", "sourcecode"})
"""Their argument is a language."""
_VERBATIM = frozenset({"parsed-literal", "math", "doctest", "productionlist"})
_OMITTED = {
    **dict.fromkeys(("contents", "toctree", "index"), "navigation"),
    **dict.fromkeys(("header", "footer"), "running_head"),
    **dict.fromkeys(("highlight", "meta", "title", "role", "default-role"), "metadata"),
    "raw": "raw",
}
"""Directives without text of the document, and how their text is counted."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a reStructuredText file."""
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n")
    check_length(len(text), settings)  # the parser takes a hundred times its memory
    omissions = Omissions()
    document = utils.new_document("document", copy(_load_settings()))
    has_headers = _HEADERS.match(f"{text}\n") is not None
    try:
        with _own_directives_and_roles():
            Parser(rfc2822=has_headers).parse(text, document)
        unread = _replace_messages(document, text.split("\n"))
        PropagateTargets(document).apply()
        _substitute(document, omissions)
        fields = _read_first_fields(document)
        translator = _Translator(document, omissions, _take_title(fields))
        document.walkabout(translator)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    blocks = read_fragment("".join(translator.body), omissions, page=False)
    about = known_fields({name: " ".join(body.astext().split()) for name, body in fields.items()})
    notes = list(omissions.notes())
    if unread:
        notes.append(f"markup that could not be read and was kept as written: {unread}")
    return ParsedFile(tuple(blocks), **asdict(about), left_out=omissions.record(), notes=tuple(notes))


@cache
def _load_settings() -> Any:
    """Return docutils' settings, which it derives slowly from a command line."""
    settings = frontend.get_default_settings(Parser, html5_polyglot.Writer)
    vars(settings).update(_SETTINGS)
    return settings


@contextmanager
def _own_directives_and_roles() -> Iterator[None]:
    """Make docutils take directives, roles and simple tables from here; look-ups also return messages."""
    own: list[tuple[Any, str, Any]] = [
        (directives, "directive", lambda name, *_: (_TABLES.get(name.lower(), _Directive), [])),
        (roles, "role", lambda *_: (_role, [])),
        (tableparser, "SimpleTableParser", _SimpleTable),
    ]
    originals = [(module, name, getattr(module, name)) for module, name, _ in own]
    try:
        for module, name, value in own:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in originals:
            setattr(module, name, value)


class _SimpleTable(tableparser.SimpleTableParser):
    """The parser of simple tables, which drops a first row whose first column is empty."""

    def setup(self, block: StringList) -> None:
        super().setup(block)
        for number, (above, line) in enumerate(pairwise(self.block), 1):
            is_below_border = above != "" and not above.strip("=- ")
            if is_below_border and line[:1] == " " and line.strip():
                self.block[number] = f"\\{line[1:]}"  # an escaped blank is text that does not show


class _Options(dict[str, Any]):
    """Options of a directive: any name is known."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class _Directive(Directive):
    """Any directive except tables. An unknown directive is a box that its name heads."""

    has_content = True
    option_spec = _Options()

    def run(self) -> list[nodes.Node]:
        """Return the nodes of a directive such as `.. note:: argument`, with a body of lines below."""
        if isinstance(self.state, states.SubstitutionDef):
            # A picture, a date or an unknown directive, which have no text of their own.
            return [nodes.image(alt=self.options.get("alt", ""))]
        name = self.name.lower()
        if name in _OMITTED:
            is_include = not {"file", "url"}.isdisjoint(self.options)
            if is_include:  # raw text of another file
                return [_left_out("include")]
            return [_left_out(_OMITTED[name], "\n".join([*self.content, *self.options.values()]))]
        caption = StringList([self.options.pop("caption", "")], "document")
        content = [*self._read(caption), *self._read_kind(name)]
        rest = " ".join(self.options.values()).strip()  # of the options that are no text
        return [*content, _left_out("option", rest)] if rest else content

    def _read_kind(self, name: str) -> list[nodes.Node]:
        """Return the nodes of argument and body, by the name of the directive; `alt` leaves the options."""
        argument, body = self._split_content()
        if name in ("include", "literalinclude") or name.startswith("auto"):  # text of another file
            return [_left_out("include", argument), *self._read(body)]
        if name in _CODE or name in _VERBATIM:  # a language is no text, but a first formula is
            text = "\n".join(body if name in _CODE else self.content).strip("\n")
            return [nodes.literal_block(text, text)] if text.strip() else []
        if name in ("image", "figure"):
            return [nodes.image(alt=self.options.pop("alt", "")), *self._read(body)]
        if name in _FRAMES:
            option = [_left_out("option", argument)] if argument else []
            return [*option, *self._read(body)]
        if name in _TITLED:
            return [nodes.admonition("", nodes.title("", argument.rstrip(":")), *self._read(body))]
        # a box that its name heads, with the argument as its first line; an unknown name is counted
        label = _LABELS.get(name)
        unknown = [_left_out(f"directive_{re.sub(r'[^a-z0-9]+', '_', name)}"[:40])] if label is None else []
        title = nodes.title("", label or re.sub(r"[-_:]", " ", name).capitalize())
        return [*unknown, nodes.admonition("", title, *self._read(self.content))]

    def _split_content(self) -> tuple[str, StringList]:
        """Return the text after `::`, and the lines below."""
        first_line = self.block_text.split("\n", 1)[0]
        if self.content and first_line.partition("::")[2].strip():
            return self.content[0], self.content[1:]
        return "", self.content

    def _read(self, lines: StringList) -> list[nodes.Node]:
        """Return the nodes of lines inside the directive."""
        inside = nodes.container()
        self.state.nested_parse(lines, self.content_offset, inside)
        return list(inside.children)


class _Table(Directive):
    """Tables in lists and comma-separated lines, by docutils, with the options that mark headers."""

    def run(self) -> list[nodes.Node]:
        if "file" in self.options or "url" in self.options:
            title = [nodes.paragraph("", " ".join(self.arguments))] if self.arguments else []
            return [*title, _left_out("include")]
        self.options = {name: value for name, value in self.options.items() if name in _TABLE_OPTIONS}
        return list(super().run())


_TABLE_OPTIONS = ("header-rows", "stub-columns", "header", "keepspace", "delim", "quote", "escape")
_TABLES: dict[str, type[Directive]] = {"replace": misc.Replace, "unicode": misc.Unicode}
for _name, _kind in {
    "csv-table": tables.CSVTable, "list-table": tables.ListTable, "table": tables.RSTTable,
}.items():  # fmt: skip
    _known = {name: _kind.option_spec[name] for name in _TABLE_OPTIONS if name in _kind.option_spec}
    _TABLES[_name] = type(_kind.__name__, (_Table, _kind), {"option_spec": _Options(_known)})


def _left_out(what: str, text: str = "") -> nodes.Node:
    """Return a comment, which the translator counts under `what`."""
    return nodes.comment("", text, what=what)


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    """Return the node of a role, such as :func:`~os.path.join`, without its domain (`py:func`)."""
    text, name = utils.unescape(text), name.lower().rpartition(":")[2]
    link = None if name in _PLAIN_ROLES else _LINK.match(text)
    node: nodes.Node
    if name == "raw":
        node = _left_out("raw", text)
    elif name in _LEVELS:
        node = _LEVELS[name]("", text)
    elif name in ("strike", "del", "line-through"):
        node = _left_out("deleted_text", text)
    elif link:
        node = nodes.reference("", link["title"], refuri=link["target"])
    elif name in ("pep", "rfc"):
        node = nodes.inline("", f"{name.upper()} {text.partition('#')[0].strip()}")
    else:
        label = " ".join(text.lower().split()) if name == "ref" else ""  # of a section
        # `~` and `!` only say how Sphinx links the name
        node = nodes.inline("", re.sub(r"^[~!]\.?", "", text), label=label)
    return [node], []


def _replace_messages(document: nodes.document, lines: list[str]) -> int:
    """Replace error messages by the markup that they quote, and return the number of unread markups."""
    unread = 0
    for message in list(document.findall(nodes.system_message)):
        quoted = next(iter(message.findall(nodes.literal_block)), None)
        title = _ADORNED.match(quoted.astext()) if quoted is not None else None
        if quoted is None:
            unread += _drop_message(message, lines)
        elif title:
            is_in_section = isinstance(message.parent, nodes.section | nodes.document)
            message.replace_self((nodes.rubric if is_in_section else nodes.paragraph)("", title["text"]))
        else:
            message.replace_self(quoted)
            unread += 1
    return unread


def _drop_message(message: nodes.system_message, lines: list[str]) -> int:
    """Drop a message without a quote, and return the number of markups it is about.

    After a malformed target or substitution, docutils takes the last line of it for a comment.
    """
    previous = message.parent[max(message.parent.index(message) - 1, 0)]
    message.parent.remove(message)
    if not isinstance(previous, nodes.comment) or "malformed" not in message.astext():
        return 0
    end = message["line"]  # the last line of the markup, which began with `..`
    starts = [number for number in range(end) if lines[number].lstrip().startswith("..")]
    written = "\n".join(map(str.strip, lines[starts[-1] if starts else 0 : end]))
    previous.replace_self(nodes.literal_block(written, written))
    return 1


def _substitute(document: nodes.document, omissions: Omissions) -> None:
    """Resolve substitutions; many nested substitutions are kept as written, as their text may explode."""
    names = document.substitution_names
    definitions = list(document.findall(nodes.substitution_definition))
    used = {node["refname"].lower() for node in document.findall(nodes.substitution_reference)}
    nested = [node for each in definitions for node in each.findall(nodes.substitution_reference)]
    for node in nested:
        if len(nested) > _MOST_INNER or node["refname"].lower() not in names:
            node.replace_self(nodes.Text(node.rawsource))
    for definition in definitions:
        if used.isdisjoint(name.lower() for name in definition["names"]):
            omissions.add("substitution", definition.astext())
    document.settings.line_length_limit = _LONGEST_SUBSTITUTION
    Substitutions(document).apply()


def _read_first_fields(document: nodes.document) -> dict[str, nodes.Element]:
    """Return the fields at the start of a file or under its title: the value of each by its name."""
    may_precede = nodes.document | nodes.section | nodes.title | nodes.Invisible | nodes.Text
    first = next((node for node in document.findall() if not isinstance(node, may_precede)), None)
    fields = first.children if isinstance(first, nodes.field_list) else []
    return {
        field[0].astext().strip().lower(): field[1]
        for field in fields
        if isinstance(field, nodes.field) and len(field) == 2 and isinstance(field[1], nodes.Element)
    }


def _take_title(fields: dict[str, nodes.Element]) -> nodes.Element | None:
    """Remove the title from the headers of a Python Enhancement Proposal and return it."""
    title = fields.get("title")
    if title is None or not title.astext().strip():
        return None
    field = title.parent
    if "rfc2822" not in field.parent["classes"]:
        return None
    field.parent.remove(field)
    return title


class _Translator(html5_polyglot.HTMLTranslator):
    """Write HTML; comments, images and targets are counted."""

    attribution_formats: ClassVar = {"dash": ("— ", "")}

    def __init__(self, document: nodes.document, omissions: Omissions, title: nodes.Element | None) -> None:
        super().__init__(document)
        self.omissions = omissions
        if title is not None:
            self.body.append(f"<h1>{self._inner(title)}</h1>")
            self.initial_header_level = 2

    def _inner(self, node: nodes.Element) -> str:
        """Return the HTML inside a node, which is not added to the body."""
        body, self.body = self.body, []
        for child in node.children:
            child.walkabout(self)
        inner, self.body = "".join(self.body), body
        return inner

    def _skip(self, what: str, text: str) -> None:
        """Count a node as left out, and leave it."""
        self.omissions.add(what, text)
        raise nodes.SkipNode

    def visit_comment(self, node: Any, sub: Any = None) -> None:
        self._skip(node.get("what", "comment"), node.astext())

    def visit_image(self, node: Any) -> None:
        self._skip("image", node.get("alt", ""))

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
        """Visit a role; a reference to the label of a section is written as its title."""
        section = self.document.ids.get(self.document.nameids.get(node.get("label", "")) or "")
        if isinstance(section, nodes.section):
            self.body.append(self.encode(section[0].astext()))
            self._skip("link_target", node.astext())

    def visit_citation(self, node: Any) -> None:
        self.body.append("<div>")

    def depart_citation(self, node: Any) -> None:
        self.body.append("</div>")

    def visit_footnote(self, node: Any) -> None:
        label = "".join(child.astext() for child in node.children if isinstance(child, nodes.label))
        mark = label or "#" + "".join(node["names"])  # `#` numbers by itself
        self.omissions.add("footnote_mark", f"[{mark}]")
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
        """Visit a verse or address; blocks inside only indent their lines."""
        if not isinstance(node.parent, nodes.line_block):
            lines = "<br>".join(self._inner(line) for line in node.findall(nodes.line))
            self.body.append(f"<p>{lines}</p>")
            raise nodes.SkipNode

    def visit_enumerated_list(self, node: Any) -> None:
        kind = _LIST_TYPES.get(node.get("enumtype", ""), "1")
        self.body.append(f'<ol type="{kind}" start="{node.get("start", 1)}">')

    def _nothing(self, node: Any) -> None:
        pass

    depart_target = depart_reference = depart_inline = _nothing
    visit_problematic = depart_problematic = visit_pending = depart_pending = _nothing
