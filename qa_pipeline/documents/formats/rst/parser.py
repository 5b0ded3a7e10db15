"""reStructuredText files, over docutils' parser.

What belongs here: the entry point and what a file says about itself. What does not: the parser
(`rst_machine`) and the walk over its tree (`rst_blocks`).

A file may begin with lines such as `Title: ...`, as Python Enhancement Proposals do: they stand as rows of a
table, and the title above them as the heading of the document.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.decoding import decode
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.front_matter import known_fields

if TYPE_CHECKING:
    from docutils import nodes

    from qa_pipeline.documents.formats.rst.blocks import InlineText

_HEADERS = re.compile(r"\A\s*(?:[A-Za-z][\w-]*:(?:[ \t]+[^\n]*)?\n(?:[ \t]+\S[^\n]*\n)*){2,}(?:[ \t]*\n|\Z)")


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one reStructuredText file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, or blocks are nested deeper than any writer means.
    """
    from qa_pipeline.documents.formats.rst.machine import read_tree

    text = decode(source.content)
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n")
    tree = read_tree(text, has_headers=_HEADERS.match(f"{text}\n") is not None)
    try:
        return _document(tree)
    except RecursionError as error:
        raise DocumentFailure("nested_too_deep", "blocks are nested too deep to be read") from error


def _document(tree: "nodes.document") -> ParsedFile:
    from docutils import nodes

    from qa_pipeline.documents.formats.rst.blocks import InlineText, Walk

    left = Omissions()
    inline = InlineText(left, _substitutions(tree), dict(_labels(tree)))
    fields = _first_fields(tree)
    about = known_fields({name: " ".join(body.astext().split()) for name, (_, body) in fields.items()})
    title = _take_title(fields, inline)
    walk = Walk(inline, left, above=1 if title else 0)
    if title:
        walk.blocks.append(Block("heading", title, 1))
    walk.inside(tree)
    walk.end_section()
    inline.count_unused(tree.findall(nodes.substitution_definition))
    return ParsedFile(
        blocks=tuple(walk.blocks),
        title=about.title,
        language=about.language,
        source_uri=about.source_uri,
        licence=about.licence,
        left_out=left.record(),
        notes=(*left.notes(), *_unread(walk.unread)),
    )


def _unread(pieces: int) -> tuple[str, ...]:
    if not pieces:
        return ()
    said = "1 piece of markup" if pieces == 1 else f"{pieces} pieces of markup"
    return (f"{said} could not be read and stands as it is written",)


def _substitutions(tree: "nodes.document") -> dict[str, "nodes.Element"]:
    """Definitions by name as written, and by name in small letters where that is free."""
    exact: dict[str, nodes.Element] = dict(tree.substitution_defs)
    return {name: exact[written] for name, written in tree.substitution_names.items()} | exact


def _labels(tree: "nodes.document") -> Iterator[tuple[str, str]]:
    """Labels that stand right above a section, with its title."""
    from docutils import nodes

    waiting: list[str] = []
    for node in tree.findall(nodes.Element):
        if isinstance(node, nodes.target):
            waiting += node["names"]
        elif isinstance(node, nodes.section):
            yield from ((name, node.children[0].astext()) for name in waiting)
            waiting = []
        else:
            waiting = []


def _first_fields(tree: "nodes.document") -> dict[str, tuple["nodes.Element", "nodes.Element"]]:
    """The fields a file begins with, at once or under its title: each by its name, with its value."""
    from docutils import nodes

    inside: nodes.Element = tree
    while True:
        seen = (node for node in inside.children if not isinstance(node, nodes.Invisible | nodes.title))
        first = next(seen, None)
        if not isinstance(first, nodes.section):
            break
        inside = first
    fields = first.children if isinstance(first, nodes.field_list) else []
    found: dict[str, tuple[nodes.Element, nodes.Element]] = {}
    for field in fields:
        name, value = field.children if isinstance(field, nodes.field) else (None, None)
        if isinstance(field, nodes.field) and name is not None and isinstance(value, nodes.Element):
            found[name.astext().strip().lower()] = (field, value)
    return found


def _take_title(
    fields: Mapping[str, tuple["nodes.Element", "nodes.Element"]], inline: "InlineText"
) -> str | None:
    """The title in the headers of a file, which becomes its heading and is no field any more."""
    from docutils import nodes

    field, value = fields.get("title", (None, None))
    if field is None or value is None or "rfc2822" not in field.parent["classes"]:
        return None
    parts = (inline.of(part) for part in value.children if isinstance(part, nodes.Element))
    text = " ".join(" ".join(parts).split())
    if text:
        field.parent.remove(field)
    return text or None
