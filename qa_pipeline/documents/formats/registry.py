"""Which parser reads which file."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from qa_pipeline.documents.decoding import UNPACKERS, unpack
from qa_pipeline.documents.formats import delimited as table_files
from qa_pipeline.documents.formats import epub, markdown, odt, row_files, spreadsheet, text
from qa_pipeline.documents.formats import mail as mail_messages
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.documents.formats.office import docx, pptx
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

Parser = Callable[[SourceFile, DocumentSettings], ParsedFile]


def _rst(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """reStructuredText; its library is slow to import and waits for the first such file."""
    from qa_pipeline.documents.formats import rst

    return rst.parse(source, settings)


PARSERS: dict[str, Parser] = {
    "markdown": markdown.parse,
    "html": html.parse,
    "pdf": pdf.parse,
    "rst": _rst,
    "text": text.parse,
    "table": table_files.parse,
    "jsonl": row_files.parse,
    "email": mail_messages.parse,
    "parquet": row_files.parquet_files_parse,
    "docx": docx.parse,
    "pptx": pptx.parse,
    "epub": epub.parse,
    "spreadsheet": spreadsheet.parse,
    "odt": odt.parse,
}
ROWS = frozenset({"jsonl", "parquet", "spreadsheet"})
"""Formats whose headings are those of rows or sheets, none of which names the whole."""
SUFFIXES: dict[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".rst": "rst",
    ".rest": "rst",
    ".txt": "text",
    ".text": "text",
    ".csv": "table",
    ".tsv": "table",
    ".tab": "table",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".eml": "email",
    ".parquet": "parquet",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".epub": "epub",
    ".xlsx": "spreadsheet",
    ".xlsm": "spreadsheet",
    ".ods": "spreadsheet",
    ".odt": "odt",
    ".ott": "odt",
    ".fodt": "odt",
}


def _behind(suffix: str, parser: Parser) -> Parser:
    """The parser of a compressed file of a format."""

    def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
        content = unpack(source.content, suffix, settings.max_bytes)
        return parser(SourceFile(source.path[: -len(suffix)], content), settings)

    return parse


PARSERS |= {f"{name}{end}": _behind(end, parser) for name, parser in PARSERS.items() for end in UNPACKERS}


def format_of(path: str, *, compressed: bool = False, readers: Mapping[str, str] = {}) -> str | None:
    """Name of the format a file's suffix stands for; None when nothing reads it.

    Args:
        path: the file.
        compressed: whether a suffix of compression may stand behind that of the format; the format of
            `a.md.gz` is `markdown.gz`.
        readers: formats of further suffixes, or others for those above.
    """
    name = PurePosixPath(path)
    end = name.suffix.lower()
    known = {**SUFFIXES, **readers}
    if not compressed or end not in UNPACKERS:
        return known.get(end)
    inner = known.get(PurePosixPath(name.stem).suffix.lower())
    return f"{inner}{end}" if inner else None
