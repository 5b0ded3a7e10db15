"""Read reStructuredText: docutils parses it and writes HTML, and the HTML reader reads that.

Directives and roles are looked up here: docutils would report unknown ones as errors, and read files for
others. Text of unknown directives is kept in a box that their name heads.
"""

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Directive, Parser, directives, roles, states, tableparser
from docutils.parsers.rst.directives import misc, tables
from docutils.statemachine import StringList
from docutils.transforms.references import PropagateTargets, Substitutions
from docutils.writers import html5_polyglot

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.documents.formats.text import decode
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_SETTINGS = {
    "file_insertion_enabled": False, "raw_enabled": False, "halt_level": 6, "report_level": 6,
    "line_length_limit": 10**9, "warning_stream": False, "traceback": True, "initial_header_level": 1,
    "stylesheet_path": None, "embed_stylesheet": False,
}  # fmt: skip
"""Messages have levels up to 4: with 6 they neither end the parsing nor are printed."""
_HEADERS = re.compile(r"\A\s*(?:[A-Za-z][\w-]*:(?:[ \t]+[^\n]*)?\n(?:[ \t]+\S[^\n]*\n)*){2,}(?:[ \t]*\n|\Z)")
"""Lines such as `Title: ...`, with which a Python Enhancement Proposal begins."""
_LINK = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)
_PLAIN_ROLES = frozenset({"code", "command", "kbd", "literal", "math", "samp"})  # `a <b>` in them is no link
_LIST_TYPES = {"loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I"}
_LONGEST_SUBSTITUTION = 2_000  # characters
_LABELS = {
    "seealso": "See also", "versionadded": "New in version", "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}  # fmt: skip
_TITLED = frozenset({"admonition", "topic", "sidebar", "rubric", "table", "tab", "tab-item", "dropdown"})
"""Boxes whose argument is their title."""
_FRAMES = frozenset({"class", "compound", "container", "epigraph", "highlights", "only", "pull-quote"})
"""Boxes without a title; their argument is a name of a look or a condition."""
_CODE = frozenset({"code", "code-block", "sourcecode"})  # their argument is a language
_VERBATIM = _CODE | {"parsed-literal", "math", "doctest", "productionlist"}
_OMITTED = {"contents", "toctree", "index", "header", "footer", "highlight", "meta", "title", "role", "raw"}
"""Directives without text of the document."""


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a reStructuredText file."""
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n")
    check_length(len(text), settings)  # the parser takes a hundred times its memory
    omissions = Omissions()
    options = frontend.get_default_settings(Parser, html5_polyglot.Writer)
    vars(options).update(_SETTINGS)
    document = utils.new_document("document", options)
    try:
        Parser(rfc2822=_HEADERS.match(f"{text}\n") is not None).parse(text, document)
        _replace_messages(document, text.split("\n"), omissions)
        PropagateTargets(document).apply()
        _substitute(document, omissions)
        translator = _Translator(document, omissions)
        document.walkabout(translator)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error
    blocks = read_fragment("".join(translator.body), omissions, removes_menus=False)
    return ParsedFile(tuple(blocks), left_out=omissions.record())


class _SimpleTable(tableparser.SimpleTableParser):
    """The parser of simple tables, which drops a first row whose first column is empty."""

    def setup(self, block: StringList) -> None:
        super().setup(block)
        for number, (above, line) in enumerate(pairwise(self.block), 1):
            is_below_border = above != "" and not above.strip("=- ")
            if is_below_border and line[:1] == " " and line.strip():
                self.block[number] = f"\\{line[1:]}"  # an escaped blank is text that does not show


_OPTIONS: dict[str, Any] = defaultdict(lambda: directives.unchanged)
"""Readers of the options of directives: docutils reads options of tables, and others are texts."""
for _name in ("header-rows", "stub-columns", "header", "keepspace", "delim", "quote", "escape"):
    _OPTIONS[_name] = tables.CSVTable.option_spec[_name]


class _Directive(Directive):
    """Any directive except tables of data; as it declares no argument, docutils leaves it in the content."""

    has_content = True
    option_spec = _OPTIONS

    def run(self) -> list[nodes.Node]:
        """Return the nodes of a directive: its caption, its text, and a comment with text left out."""
        if isinstance(self.state, states.SubstitutionDef):  # a picture or a date, without text of its own
            return [nodes.image(alt=self.options.get("alt", ""))]
        caption = self.options.pop("caption", "")
        captions: list[nodes.Node] = [nodes.paragraph("", caption)] if caption else []
        kind, omitted_lines, text_nodes = self._split()
        omitted = "\n".join([*map(str, self.options.values()), *omitted_lines])
        is_counted = kind in ("image", "include") or omitted.strip()  # the former even without text
        left_out = [_left_out(kind, omitted)] if is_counted else []
        return [*captions, *text_nodes, *left_out]

    def _split(self) -> tuple[str, list[str], list[nodes.Node]]:
        """Return the kind under which text is left out, its lines, and the nodes of the other text.

        `.. include:: a.txt` gives `include`, the argument `a.txt`, and the nodes of the lines below.
        """
        name = self.name.lower()
        first_line = self.block_text.partition("\n")[0]  # such as `.. note:: argument`
        has_argument = bool(self.content and first_line.partition("::")[2].strip())
        argument, body = (self.content[0], self.content[1:]) if has_argument else ("", self.content)
        is_of_file = not {"file", "url"}.isdisjoint(self.options) or name.startswith("auto")  # `automodule`
        if is_of_file or name in ("include", "literalinclude"):
            return "include", [argument], self._read(body)
        if name in ("image", "figure"):
            return "image", [], self._read(body)
        if name in _OMITTED:
            return "directive", [*self.content], []
        if name in _FRAMES:  # such as `.. only:: html`
            return "directive", [argument], self._read(body)
        if name in _VERBATIM:  # the argument of `.. math:: x^2` is the first line of its text
            text = "\n".join(body if name in _CODE else self.content).strip("\n")
            return "directive", [], [nodes.literal_block(text, text)] if text.strip() else []
        if name in _TITLED:
            title, lines = argument.rstrip(":"), body
        else:  # a note, or an unknown box that its name heads; the argument is its first line
            title = _LABELS.get(name) or re.sub(r"[-_:]", " ", name).capitalize()
            lines = self.content
        return "directive", [], [nodes.admonition("", nodes.title("", title), *self._read(lines))]

    def _read(self, lines: StringList) -> list[nodes.Node]:
        """Return the nodes of lines inside the directive."""
        inside = nodes.container()
        self.state.nested_parse(lines, self.content_offset, inside)
        return list(inside.children)


class _CommaTable(tables.CSVTable):
    """A table of lines with commas, which never reads another file."""

    option_spec = _OPTIONS

    def run(self) -> list[Any]:
        if "file" in self.options or "url" in self.options:
            return [_left_out("include", "\n".join([*self.arguments, *self.content]))]
        return list(super().run())


_KINDS: dict[str, type[Directive]] = {
    "csv-table": _CommaTable, "list-table": tables.ListTable, "replace": misc.Replace, "unicode": misc.Unicode
}  # fmt: skip
"""Directives of docutils; all others are read by `_Directive`."""


def _left_out(kind: str, text: str = "") -> nodes.Node:
    """Return a comment that the translator counts by its kind, such as `include`."""
    return nodes.comment("", text, kind=kind)


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    """Return the nodes and messages of a role such as :func:`~os.path.join`; domains (`py:`) are ignored."""
    text, name = utils.unescape(text), name.lower().rpartition(":")[2]
    link = None if name in _PLAIN_ROLES else _LINK.match(text)
    node: nodes.Node
    if name == "raw":
        node = _left_out("directive", text)
    elif name in ("sup", "superscript"):
        node = nodes.superscript("", text)
    elif name in ("sub", "subscript"):
        node = nodes.subscript("", text)
    elif name in ("strike", "del", "line-through"):
        node = _left_out("deleted_text", text)
    elif link:
        node = nodes.reference("", link["title"], refuri=link["target"])
    elif name in ("pep", "rfc"):
        node = nodes.inline("", f"{name.upper()} {text.partition('#')[0].strip()}")
    else:
        label = text.lower() if name == "ref" else ""  # `visit_inline` writes the title of its section
        # in `~os.path.join`, `!join` and `~.join`, the signs before the name only say how Sphinx links it
        node = nodes.inline("", re.sub(r"^[~!]\.?", "", text), label=label)
    return [node], []


# docutils looks them up when it parses, each with its messages, and only this module uses it
vars(directives).update(directive=lambda name, *_: (_KINDS.get(name.lower(), _Directive), []))
vars(roles).update(role=lambda *_: (_role, []))
vars(tableparser).update(SimpleTableParser=_SimpleTable)


def _replace_messages(document: nodes.document, lines: list[str], omissions: Omissions) -> None:
    """Replace error messages by the markup that they quote; markup without a quote is counted."""
    for message in list(document.findall(nodes.system_message)):
        quoted = next(iter(message.findall(nodes.literal_block)), None)
        if quoted is not None:
            message.replace_self(quoted)
            continue
        message.parent.remove(message)
        if "malformed" in message.astext():  # such as `.. |name` without end
            end = message["line"]  # the last line of the markup, which starts at the nearest `..` before
            starts = (number for number in range(end) if lines[number].lstrip().startswith(".."))
            omissions.add("malformed", "\n".join(lines[max(starts, default=0) : end]))


def _substitute(document: nodes.document, omissions: Omissions) -> None:
    """Resolve substitutions; definitions without a use are counted."""
    definitions = list(document.findall(nodes.substitution_definition))
    references = list(document.findall(nodes.substitution_reference))
    used = {reference["refname"].lower() for reference in references}
    for definition in definitions:
        for nested in list(definition.findall(nodes.substitution_reference)):
            nested.replace_self(nodes.Text(nested.rawsource))  # as written: each level may multiply the text
        if used.isdisjoint(name.lower() for name in definition["names"]):
            omissions.add("substitution", definition.astext())
    document.settings.line_length_limit = _LONGEST_SUBSTITUTION  # it bounds substituted texts, too
    Substitutions(document).apply()


class _Translator(html5_polyglot.HTMLTranslator):
    """Write HTML; comments, images and targets are counted."""

    def __init__(self, document: nodes.document, omissions: Omissions) -> None:
        super().__init__(document)
        self.omissions = omissions

    def _skip(self, kind: str, text: str) -> None:
        self.omissions.add(kind, text)
        raise nodes.SkipNode

    def visit_field(self, node: Any) -> None:
        """Write the title of a Python Enhancement Proposal as the heading of all."""
        if "rfc2822" in node.parent["classes"] and node[0].astext().lower() == "title":
            self.body.insert(0, f"<h1>{self.encode(node[-1].astext())}</h1>")
            self.initial_header_level = 2
            raise nodes.SkipNode

    def visit_comment(self, node: Any, sub: Any = None) -> None:
        self._skip(node.get("kind", "comment"), node.astext())

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
        """Write a role; a reference to the label of a section is written as its title."""
        section = self.document.ids.get(self.document.nameids.get(node.get("label", "")) or "")
        if isinstance(section, nodes.section):
            self.body.append(self.encode(section[0].astext()))
            self._skip("link_target", node.astext())

    def visit_label(self, node: Any) -> None:
        if isinstance(node.parent, nodes.footnote):
            self._skip("footnote_mark", f"[{node.astext()}]")
        self.body.append(f'<p class="admonition-title">[{self.encode(node.astext())}]:</p>')
        raise nodes.SkipNode

    def visit_enumerated_list(self, node: Any) -> None:
        kind = _LIST_TYPES.get(node.get("enumtype", ""), "1")
        self.body.append(f'<ol type="{kind}" start="{node.get("start", 1)}">')

    def visit_classifier(self, node: Any) -> None:
        self.body.append(" : ")

    def visit_line_block(self, node: Any) -> None:
        self.body.append("<p>")

    def depart_line(self, node: Any) -> None:
        self.body.append("<br>")

    def _nothing(self, node: Any) -> None:
        pass

    depart_target = depart_reference = depart_inline = visit_line = depart_line_block = _nothing
    visit_problematic = depart_problematic = visit_pending = depart_pending = depart_classifier = _nothing
