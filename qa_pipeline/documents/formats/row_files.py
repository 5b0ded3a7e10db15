"""Rows of named values, as data sets hold them: each row a section of the document."""

import codecs
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from qa_pipeline.documents.assembly import Omissions, check_length
from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure, check_rows
from qa_pipeline.documents.formats import markdown, text
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.row_files import is_too_deep
from qa_pipeline.text.lexicon.languages import of_all
from qa_pipeline.text.rendering import first_names
from qa_pipeline.text.words import clean

_TITLE = ("title", "headline", "heading", "subject", *of_all("fields.title"), *of_all("fields.heading"))
"""Names of fields with the title of a row, the best first."""
_BODY = (
    "text", "content", "body", "document", "markdown", "md", "html", "article", "page_content", "passage",
    "context", "raw_content", *of_all("fields.content"),
)  # fmt: skip
_MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~)", re.MULTILINE)  # a heading, or the fence of code
_DEEPEST = 40  # levels of a value: each adds a name in front of the lines below it
_ROW_LEVEL = 2  # of the heading of a row: below that of the document
_SHOWN_LINES = 5  # of a file, in a cell of the documents table
_Row = Mapping[str, object]  # values by the names of fields or columns
InnerFormat = Literal["text", "markdown", "html"]
_PARSERS = {"text": text.parse, "markdown": markdown.parse, "html": html.parse}


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a JSONL file; a broken line costs only that line."""
    rows: dict[int, _Row] = {}  # by the number of the line
    broken: list[str] = []  # the numbers of the lines
    omissions = Omissions()
    content = source.content.removeprefix(codecs.BOM_UTF8)  # JSON is UTF-8 (RFC 8259)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        check_rows(len(rows) + len(broken) + 1)
        try:  # numbers stay as they are written
            value = json.loads(line.decode(), parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            value = None
        if value is None or is_too_deep(value, _DEEPEST):  # `null` has no text either
            broken.append(str(number))
            omissions.add("broken_line", line.decode(errors="replace"))
        elif isinstance(value, dict):
            rows[number] = value
        else:  # a string is the text of its row; other values have no name
            rows[number] = {"text" if isinstance(value, str) else "": value}
    parsed = _read_rows(rows, settings, omissions)
    if not broken:
        return parsed
    note = f"these lines are without a JSON value or nested too deep: {first_names(broken, _SHOWN_LINES)}"
    if not rows:
        raise DocumentFailure("damaged", note)
    return replace(parsed, notes=(note,))


def parse_parquet(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse a Parquet file."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(io.BytesIO(source.content))
        check_rows(file.metadata.num_rows)
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(number).total_byte_size for number in groups)
        if size > LIMITS.decompressed_bytes:
            detail = f"{size} bytes decompressed, more than {LIMITS.decompressed_bytes}"
            raise DocumentFailure("archive_bomb", detail)
        rows = dict(enumerate(file.read().to_pylist(), start=1))
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DocumentFailure("damaged", "the Parquet file cannot be read") from error
    if rows and is_too_deep(rows[1], _DEEPEST):  # all rows have the same types
        raise DocumentFailure("nested_too_deep", "the columns are nested too deep")
    return _read_rows(rows, settings, Omissions())


def _read_rows(rows: Mapping[int, _Row], settings: DocumentSettings, omissions: Omissions) -> ParsedFile:
    """Write each row as a section; `rows` has them by number, from 1."""
    blocks: list[Block] = []
    length = 0
    for number, row in rows.items():
        section = _section(number, row, omissions, settings)
        length += sum(len(block.text) for block in section)
        check_length(length, settings)
        blocks += section
    return ParsedFile(blocks=tuple(blocks), left_out=omissions.record())


def _take_first(fields: dict[str, object], names: Sequence[str]) -> tuple[str, str] | None:
    """Remove the first field of `names` with a text from a row; returns its name and text."""
    texts = (name for name, value in fields.items() if isinstance(value, str) and value.strip())
    written = {name.strip().lower(): name for name in texts}  # `Title` by `title`
    chosen = next((written[name] for name in names if name in written), None)
    return None if chosen is None else (chosen, str(fields.pop(chosen)))


def _section(number: int, row: _Row, omissions: Omissions, settings: DocumentSettings) -> list[Block]:
    """Return a row as a heading, its body, and between them the other fields as `name: value`."""
    fields = dict(row)
    title_field = _take_first(fields, _TITLE)  # its name and text, taken out of `fields`
    heading = title_field[1].strip() if title_field else f"Row {number}"
    body_field = _take_first(fields, _BODY)
    body = _read_body(*body_field, omissions, settings) if body_field else []
    lines = [f"{name}: {value}" if name else value for name, value in _flatten(fields, "", omissions)]
    about = [Block("paragraph", "\n".join(lines))] if lines else []
    return [Block("heading", heading, _ROW_LEVEL), *about, *body]


def _read_body(field: str, content: str, omissions: Omissions, settings: DocumentSettings) -> list[Block]:
    """Return the blocks of a text that is HTML or Markdown by its field (`html`), or looks like Markdown."""
    kind: InnerFormat = "text"
    if field.strip().lower() == "html":
        kind = "html"
    elif field.strip().lower() in ("markdown", "md") or _MARKDOWN.search(content):
        kind = "markdown"
    parsed = read_inner(content, kind, settings)
    omissions.update(parsed.left_out)
    return lower_headings(parsed.blocks, by=_ROW_LEVEL)


def _flatten(value: object, name: str, omissions: Omissions) -> Iterator[tuple[str, str]]:
    """Yield the names and texts in a value.

    `{"at": {"city": "Lund"}}` gives `at city` and `Lund`, and `{"tags": ["a", "b"]}` `tags` and `a, b`.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(inner, f"{name} {key}".strip(), omissions)
    elif isinstance(value, list | tuple):
        if any(isinstance(item, Mapping | list | tuple) for item in value):
            for number, item in enumerate(value, start=1):
                yield from _flatten(item, f"{name} {number}".strip(), omissions)
        elif texts := list(filter(None, (_write_value(item, omissions) for item in value))):
            yield name, ", ".join(texts)
    elif text := _write_value(value, omissions):
        yield name, text


def _write_value(value: object, omissions: Omissions) -> str:
    if isinstance(value, bytes):
        omissions.add("binary_value")
    if value is None or isinstance(value, bytes):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def read_inner(content: str, format_name: InnerFormat, settings: DocumentSettings) -> ParsedFile:
    """Parse a text that was decoded already; a blank text has no blocks."""
    if not content.strip():
        return ParsedFile(blocks=())
    # A mark of UTF-8 comes before all tests of the encoding; clean text has no zeros.
    return _PARSERS[format_name](SourceFile("", codecs.BOM_UTF8 + clean(content).encode()), settings)


def lower_headings(blocks: tuple[Block, ...], by: int) -> list[Block]:
    """Return the blocks with their headings moved below the headings of the file."""
    return [
        replace(block, level=min(max(block.level, 1) + by, 6)) if block.kind == "heading" else block
        for block in blocks
    ]
