"""Text that stands inside a file of another format, read by the reader of its own."""

import codecs
from dataclasses import replace
from typing import Literal

from qa_pipeline.documents.formats import markdown, text
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.characters import clean

InnerFormat = Literal["text", "markdown", "html"]
_PARSERS = {"text": text.parse, "markdown": markdown.parse, "html": html.parse}


def read_inner(content: str, name: InnerFormat, path: str, settings: DocumentSettings) -> ParsedFile:
    """Parse a text that was decoded already; nothing for a blank one."""
    if not content.strip():
        return ParsedFile(blocks=())
    # The mark says UTF-8, whatever the text says of its encoding or begins with; clean text has no zeros.
    return _PARSERS[name](SourceFile(path, codecs.BOM_UTF8 + clean(content).encode()), settings)


def lower_headings(blocks: tuple[Block, ...], by: int) -> list[Block]:
    """The blocks with their headings placed under those of the file that holds them."""
    return [
        replace(block, level=min(max(block.level, 1) + by, 6)) if block.kind == "heading" else block
        for block in blocks
    ]
