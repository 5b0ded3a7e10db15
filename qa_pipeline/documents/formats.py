"""Which parser reads which file.

What belongs here: the registry of formats by suffix. What does not: the parsers, one module a format.
"""

from collections.abc import Callable
from pathlib import PurePosixPath

from qa_pipeline.documents import html, markdown, pdf, text
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings import DocumentSettings

Parser = Callable[[SourceFile, DocumentSettings], ParsedFile]

PARSERS: dict[str, Parser] = {
    "markdown": markdown.parse,
    "html": html.parse,
    "pdf": pdf.parse,
    "text": text.parse,
}
SUFFIXES: dict[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".txt": "text",
    ".text": "text",
}


def format_of(path: str) -> str | None:
    """Name of the format a file's suffix stands for; None when nothing reads it."""
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())
