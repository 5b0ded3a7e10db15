"""Markdown files: CommonMark with tables, footnotes, definition lists, formulas, and what generators add.

What belongs here: the entry point and the parser. What does not: marks that CommonMark does not know
(`dialects`), the walk over tokens (`blocks`), and what a file says about itself
(`front_matter`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.assembly import Omissions, visible
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats.markdown.blocks import Walk, plain_markdown
from qa_pipeline.documents.formats.markdown.templates import without_templates
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.front_matter import split_front_matter

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TORN = re.compile(r"(?P<piece>/\S.*/)\s+(?P<heading>\d+(?: [a-z])? §)")
_LATER_PIECE = re.compile(r"\s/")
_YEAR = re.compile(r"/(?:19|20)\d\d(?!\d)")
_AFTER_YEAR = re.compile(r"(?<![\d/:])((?:19|20)\d\d)(?=\d{1,4}/[A-Z])")
"""`202394/EU`: a year runs into the number that followed the piece."""
_AFTER_NUMBER = re.compile(r"(?<![\d/:])(\d{1,4})(?=(?:EG|EU|EEG)\b)")
"""`2008EG`: a number runs into the letters that followed the piece."""


def mend_headings(blocks: Iterable[Block], left: Omissions) -> tuple[list[Block], tuple[str, ...]]:
    """Put torn headings right.

    Returns:
        The blocks, and a note for the document's row where there was anything to mend.
    """
    mended: list[Block] = []
    torn = returned = 0
    for heading, *below in _sections(blocks):
        found = _TORN.fullmatch(heading.text) if heading.kind == "heading" else None
        if found is None:
            mended += [heading, *below]
            continue
        torn += 1
        whole = _put_back(found["piece"], below)
        returned += whole is not None
        if whole is None:
            left.add("torn_heading", found["piece"])
        mended += [replace(heading, text=found["heading"]), *(below if whole is None else whole)]
    return mended, _note(torn, returned)


def _note(torn: int, returned: int) -> tuple[str, ...]:
    if not torn:
        return ()
    said = "1 heading had" if torn == 1 else f"{torn} headings had"
    return (f"{said} swallowed text, of which {returned} could be put back in its place",)


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks from one heading to the next."""
    part: list[Block] = []
    for block in blocks:
        if block.kind == "heading" and part:
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _put_back(piece: str, below: list[Block]) -> list[Block] | None:
    """The blocks with the piece in the one place it can have come from; None if there is not just one."""
    if _LATER_PIECE.search(piece):
        return None  # several pieces were taken out of several places
    alone = " " not in piece  # `/114/`: no more than a number between two strokes
    place = _AFTER_NUMBER if alone else _AFTER_YEAR
    if not alone and _YEAR.match(piece):
        return None  # the year is in the piece, so what stood before it may have had any length
    places = [(number, found) for number, block in enumerate(below) for found in place.finditer(block.text)]
    if len(places) != 1:
        return None
    [(number, found)] = places
    text = below[number].text
    whole = f"{text[: found.end(1)]}{piece}{text[found.end(1) :]}"
    return [*below[:number], replace(below[number], text=whole), *below[number + 1 :]]


_NESTING = 60
_DEEPEST = _NESTING - 2  # a list takes two levels; the parser leaves out what would go over its limit


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Markdown file.

    Raises:
        DocumentFailure: the bytes cannot be decoded, blocks are nested deeper than any writer means, or the
            file describes a document and does not hold it.
    """
    text = decode(source.content).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    left = Omissions()
    front, about, body = split_front_matter(text)
    if front.strip():
        left.add("front_matter", front)
    tokens = _parser().parse(without_templates(plain_markdown(body, left), left))
    if any(token.level >= _DEEPEST for token in tokens):
        raise DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")
    blocks, notes = mend_headings(Walk(left).blocks(tokens), left)
    if front.strip() and not body.strip():
        said = f"front matter of {visible(front)} characters that describes a document"
        raise DocumentFailure("no_text", f"the file holds {said} and no text of it")
    return ParsedFile(
        blocks=tuple(blocks),
        title=about.title,
        language=about.language,
        source_uri=about.source_uri,
        licence=about.licence,
        left_out=left.record(),
        notes=(*left.notes(), *notes),
    )


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False, move_to_end=False)
    parser.use(deflist_plugin)
    # A price such as $5 is no formula: no blanks inside the signs, no digits outside them.
    return parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
