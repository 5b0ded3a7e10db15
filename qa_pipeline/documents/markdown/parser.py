"""Markdown files: CommonMark with tables, footnotes, definition lists, formulas, and what generators add.

What belongs here: the entry point and the parser. What does not: marks that CommonMark does not know
(`dialects`), the walk over tokens (`blocks`), and what a file says about itself
(`front_matter`).
"""

from functools import cache
from typing import TYPE_CHECKING

from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.front_matter import split_front_matter
from qa_pipeline.documents.markdown.blocks import Walk
from qa_pipeline.documents.markdown.dialects import plain_markdown
from qa_pipeline.documents.markdown.templates import without_templates
from qa_pipeline.documents.markdown.torn import mend_headings
from qa_pipeline.documents.omissions import Omissions, visible
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

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
