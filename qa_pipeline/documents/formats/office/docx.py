"""Word files (DOCX, DOCM): the text of a document with its headings, lists, tables and notes.

Macros, templates and linked files are never opened. The file is read with lxml alone. mammoth, measured on
the same files, writes hidden text and prompts into the text, drops deletions and charts without a word,
knows no numbers of list items, and takes ten times as long; python-docx shows no insertions, content
controls, text boxes and notes.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.office.docx_blocks import TITLE_LEVEL, BlockReader, Numbering
from qa_pipeline.documents.formats.office.docx_text import TEXT, Styles, prune
from qa_pipeline.documents.formats.office.drawings import DrawnParts
from qa_pipeline.documents.formats.office.package import WORD, Package, open_package, read_file
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_BESIDE_THE_TEXT = {
    "header": "running_head",
    "footer": "running_foot",
    "comments": "comment",
    "glossaryDocument": "building_block",
}


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Word file.

    Raises:
        DocumentFailure: `damaged`, `encrypted`, `unsupported_format`, `archive_bomb`, `nested_too_deep`,
            `too_large`, `too_long` or `too_many_rows`.
    """
    package, main = open_package(source.content, "Word", settings)
    document = package.tree(main)
    omissions = Omissions()
    styles = Styles(next(iter(package.trees(main, "styles")), None))
    numbering = Numbering(next(iter(package.trees(main, "numbering")), None))
    roots = [*package.trees(main, "footnotes"), *package.trees(main, "endnotes")]
    for root in (document, *roots):
        prune(root, styles, omissions)
    notes = {
        (note.tag, note.get(f"{WORD}id", "")): note
        for root in roots
        for note in root.iterchildren(f"{WORD}footnote", f"{WORD}endnote")
        if note.get(f"{WORD}type", "normal") == "normal"  # others are the lines that part notes from text
    }
    body = document.find(f"{WORD}body")
    reader = BlockReader(
        styles, numbering, notes, partial(DrawnParts(package, omissions).read, main), omissions, settings
    )
    blocks = _levelled(list(_joined(reader.read(document if body is None else body))))
    _count_other_parts(package, main, omissions)
    return read_file(package, blocks, omissions)


def _joined(blocks: list[Block]) -> Iterator[Block]:
    """Lines of code that stand as paragraphs of their own, as one block."""
    for is_code, group in groupby(blocks, key=lambda block: block.kind == "code"):
        if is_code:
            yield Block("code", "\n".join(block.text for block in group))
        else:
            yield from group


def _levelled(blocks: list[Block]) -> list[Block]:
    """Headings with their final levels: those below a document's only title stand one level lower."""
    headings = [block.level for block in blocks if block.kind == "heading"]
    down = headings[:1] == [TITLE_LEVEL] and headings.count(TITLE_LEVEL) == 1
    return [
        replace(block, level=min(block.level + down, 6) or 1) if block.kind == "heading" else block
        for block in blocks
    ]


def _count_other_parts(package: Package, main: str, omissions: Omissions) -> None:
    """Count what stands beside the text: heads and feet of pages, comments, macros, stray parts."""
    for purpose, what in _BESIDE_THE_TEXT.items():
        for root in package.trees(main, purpose):
            pieces = list(root.iterchildren(f"{WORD}comment")) if purpose == "comments" else [root]
            for piece in pieces:
                if text := _text_of(piece):
                    omissions.add(what, text)
    for _ in package.linked(main, "vbaProject"):
        omissions.add("macro")
    linked = {main, *(link.target for link in package.links(main).values())}
    folder = posixpath.dirname(main)
    for member in package.archive.members:
        inside = posixpath.dirname(member.path) == folder and member.path.endswith(".xml")
        if inside and member.path not in linked and (text := _text_of(package.tree(member.path))):
            omissions.add("unlinked_part", text)


def _text_of(element: "_Element") -> str:
    return "".join(text.text or "" for text in element.iter(TEXT))
