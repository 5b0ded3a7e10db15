"""Which parser reads which file."""

from collections.abc import Callable
from pathlib import PurePosixPath

from qa_pipeline.documents.formats import epub, mail, markdown, odt, row_files, spreadsheet, text
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.documents.formats.office import docx, pptx
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

Parser = Callable[[SourceFile, DocumentSettings], ParsedFile]  # raises a DocumentFailure


def _rst(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse reStructuredText; its slow library is imported at the first such file."""
    from qa_pipeline.documents.formats import rst

    return rst.parse(source, settings)


_FORMATS: dict[str, tuple[Parser, str]] = {
    "markdown": (markdown.parse, ".md .markdown"),
    "html": (html.parse, ".html .htm .xhtml"),
    "pdf": (pdf.parse, ".pdf"),
    "rst": (_rst, ".rst .rest"),
    "text": (text.parse, ".txt .text"),
    "table": (spreadsheet.parse_csv, ".csv .tsv .tab"),
    "jsonl": (row_files.parse, ".jsonl .ndjson"),
    "email": (mail.parse, ".eml"),
    "parquet": (row_files.parse_parquet, ".parquet"),
    "docx": (docx.parse, ".docx .docm"),
    "pptx": (pptx.parse, ".pptx .pptm .ppsx"),
    "epub": (epub.parse, ".epub"),
    "spreadsheet": (spreadsheet.parse, ".xlsx .xlsm .ods"),
    "odt": (odt.parse, ".odt .ott .fodt"),
}
PARSERS = {name: parser for name, (parser, _) in _FORMATS.items()}
SUFFIXES = {suffix: name for name, (_, suffixes) in _FORMATS.items() for suffix in suffixes.split()}
ROWS = frozenset({"jsonl", "parquet", "spreadsheet"})
"""Formats whose headings name rows or sheets, never the document."""


def format_of(path: str) -> str | None:
    """Return the format of a file's suffix, or None."""
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())
