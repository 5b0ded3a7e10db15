"""Rows of named values, as data sets hold them: each row a section of the document."""

import codecs
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.assembly import Omissions, check_length, visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.formats import markdown, text
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import Block, LeftOut, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.row_files import is_too_deep
from qa_pipeline.text.characters import clean
from qa_pipeline.text.language import declared_language
from qa_pipeline.text.lexicon.languages import of_all
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_TITLE = ("title", "headline", "heading", "subject", *of_all("fields.title"), *of_all("fields.heading"))
_SOURCE = ("source_uri", "source_url", "url", "uri", "canonical_url", "link", "source")
_LICENCE = ("licence", "license", *of_all("fields.licence"))
_LANGUAGE = ("language", "lang", *of_all("fields.language"))
_BODY = (
    "text", "content", "body", "document", "markdown", "md", "html", "article", "page_content", "passage",
    "context", "raw_content", *of_all("fields.content"),
)  # fmt: skip
_MARKDOWN = re.compile(r"^(?:#{1,6} \S|```|~~~)", re.MULTILINE)
_LONG = 300  # characters of a value that is a text of its own rather than a line about the row
_DEEPEST = 40  # levels of a value: each adds a name in front of the lines below it
_ROW_LEVEL = 2  # of the heading of a row: below that of the document

Fields = Mapping[str, object]
"""A row by name: strings, numbers, truth values, dates, bytes, None, and lists and mappings of these."""


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row and its number in the file, from 1; a row that is no mapping has one field without a name."""

    number: int
    fields: Fields


def read_rows(
    rows: Sequence[TextRow], path: str, settings: DocumentSettings, limits: ReaderLimits
) -> ParsedFile:
    """Write each row as a section under its title, or under `Row N`.

    A title, origin, licence or language that all rows share is said of the document, not of each row.

    Raises:
        DocumentFailure: there are too many rows or characters.
    """
    if len(rows) > limits.rows:
        raise too_many_rows(limits)
    shared_values = [_shared_value(rows, names) for names in (_TITLE, _SOURCE, _LICENCE, _LANGUAGE)]
    title, source_uri, licence, language = (value for _, value in shared_values)
    if title and len(rows) == 1:
        shared_values[0] = (None, title)  # it is over the only row as well
    shared = {name for name, _ in shared_values if name}
    omissions = Omissions()
    blocks: list[Block] = []
    length = 0
    for row in rows:
        for name in shared:
            omissions.add("metadata", str(row.fields[name]))
        omissions.count("binary_value", sum(map(_bytes_in, row.fields.values())), 0)
        fields = {name: value for name, value in row.fields.items() if name not in shared}
        section = _section(row.number, fields, omissions, path, settings)
        length += sum(len(block.text) for block in section)
        check_length(length, settings)
        blocks += section
    return ParsedFile(
        blocks=tuple(blocks),
        title=title,
        language=declared_language(language),
        source_uri=source_uri,
        licence=licence,
        left_out=omissions.record(),
        notes=omissions.notes(),
    )


def too_many_rows(limits: ReaderLimits, what: str = "the file") -> DocumentFailure:
    """Return the failure of a file, or a table in it, with more rows than allowed."""
    return DocumentFailure("too_many_rows", f"{what} has more than {limits.rows} rows; split it")


def _shared_value(rows: Sequence[TextRow], names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return the first field of `names` that has one value in every row, with that value."""
    for name in _names_of(rows[0].fields, names) if rows else ():
        value = rows[0].fields[name]
        if _is_filled(value) and all(row.fields.get(name) == value for row in rows):
            return name, str(value).strip()
    return None, None


def _names_of(fields: Fields, names: tuple[str, ...]) -> list[str]:
    """Return those of `names` that a row has, in the order of `names`, as the row spells them."""
    spelt = {name.strip().lower(): name for name in fields}
    return [spelt[name] for name in names if name in spelt]


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _section(
    number: int, fields: dict[str, object], omissions: Omissions, path: str, settings: DocumentSettings
) -> list[Block]:
    title = next((name for name in _names_of(fields, _TITLE) if _is_filled(fields[name])), None)
    heading = str(fields.pop(title)).strip() if title else f"Row {number}"
    body = next((name for name in _names_of(fields, _BODY) if _is_filled(fields[name])), None)
    text = _body(body, str(fields.pop(body)), omissions, path, settings) if body else []
    if text and text[0].kind == "heading" and text[0].text.strip() == heading:
        omissions.add("repeated_heading", heading)
        text = text[1:]
    return [Block("heading", heading, _ROW_LEVEL), *_describe(fields), *text]


def _body(
    name: str, content: str, omissions: Omissions, path: str, settings: DocumentSettings
) -> list[Block]:
    """Return the text of a row in the format its name or look stands for, else as plain text."""
    kind: InnerFormat = "text"
    if name.strip().lower() == "html":
        kind = "html"
    elif name.strip().lower() in ("markdown", "md") or _MARKDOWN.search(content):
        kind = "markdown"
    try:
        parsed = read_inner(content, kind, path, settings)
    except DocumentFailure:
        parsed = read_inner(content, "text", path, settings)
    omissions.update(parsed.left_out)
    return lower_headings(parsed.blocks, by=_ROW_LEVEL)


def _describe(fields: Fields) -> Iterator[Block]:
    """Yield the other fields: short ones as lines of one paragraph, long ones as paragraphs."""
    for is_long, values in groupby(
        _flatten(fields, ""), lambda pair: len(pair[1]) > _LONG or "\n" in pair[1]
    ):
        lines = [f"{name}: {value}" if name else value for name, value in values]
        yield from (Block("paragraph", text) for text in (lines if is_long else ["\n".join(lines)]))


def _flatten(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield every value with the names above it; lists of plain values on one line, other lists numbered."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(inner, f"{name} {key}".strip())
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        for number, inner in enumerate(value, start=1):
            yield from _flatten(inner, f"{name} {number}".strip())
    elif isinstance(value, list | tuple):
        if texts := [text for item in value if (text := _write_value(item))]:
            yield name, ", ".join(texts)
    elif text := _write_value(value):
        yield name, text


def _write_value(value: object) -> str:
    """Return a single value as text; bytes, such as a picture's, have none."""
    if value is None or isinstance(value, bytes):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip()


def _bytes_in(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_in, value))
    return isinstance(value, bytes)


_NO_CHARACTER = re.compile("[\ud800-\udfff]")
_SHOWN_PROBLEMS = 5  # of a file: they stand in one cell of the documents table


class _BrokenLine(ValueError):  # noqa: N818 - it ends as a note of the document
    """A line that cannot be read; the message says why, without text of the line."""


def parse(source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS) -> ParsedFile:
    """Parse one JSONL file; a broken line costs that line only.

    Raises:
        DocumentFailure: no line can be read, or there are too many rows or characters.
    """
    rows: list[TextRow] = []
    problems: list[str] = []
    lost = 0
    for number, line in enumerate(_lines(source.content), start=1):
        if not line.strip():
            continue
        if len(rows) + len(problems) >= limits.rows:
            raise too_many_rows(limits)
        try:
            value = _value(line, settings)
        except _BrokenLine as problem:
            problems.append(f"line {number} {problem}")
            lost += visible(line)
        else:
            name = "text" if isinstance(value, str) else ""
            rows.append(TextRow(number, value if isinstance(value, dict) else {name: value}))
    first_problems = first_names(problems, _SHOWN_PROBLEMS)
    if not rows:
        raise DocumentFailure("damaged", f"no line of the file can be read: {first_problems}")
    parsed = read_rows(rows, source.path, settings, limits)
    if not problems:
        return parsed
    note = f"lines that could not be read were left out: {first_problems}"
    broken = LeftOut("broken_line", len(problems), lost)
    return replace(parsed, left_out=(*parsed.left_out, broken), notes=(*parsed.notes, note))


def _lines(content: bytes) -> Iterator[str]:
    """Yield the lines of the file; where no encoding fits, a bad byte becomes a lone surrogate."""
    try:
        text = decode(content)
    except DocumentFailure:
        for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n"):
            yield line.decode("utf-8", "surrogateescape")
    else:
        yield from text.split("\n")


def _value(line: str, settings: DocumentSettings) -> object:
    """Return the JSON value of a line, its numbers as they are written."""
    if len(line) > settings.max_characters:
        raise _BrokenLine("is longer than documents.max_characters")
    if not line.isascii() and _NO_CHARACTER.search(line):
        raise _BrokenLine("is not UTF-8")
    try:
        value: object = json.loads(
            line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_number_names
        )
    except RecursionError as error:
        raise _BrokenLine("is nested too deep") from error
    except ValueError as error:
        raise _BrokenLine("is no JSON") from error
    if is_too_deep(value, _DEEPEST):
        raise _BrokenLine("is nested too deep")
    return value


def _number_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's values by name; a repeated name is numbered, so that no value is lost."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    seen: Counter[str] = Counter()
    numbered: dict[str, object] = {}
    for name, value in pairs:
        seen[name] += 1
        numbered[name if seen[name] == 1 else f"{name} ({seen[name]})"] = value
    return numbered


_ROWS_AT_ONCE = 64  # few, so that a text that is too long is noticed before all of it is in memory


def parse_parquet(
    source: SourceFile, settings: DocumentSettings, limits: ReaderLimits = LIMITS
) -> ParsedFile:
    """Parse one Parquet file.

    Raises:
        DocumentFailure: it is damaged, encrypted, or holds too many rows or characters.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(io.BytesIO(source.content))
        if file.metadata.num_rows > limits.rows:
            raise too_many_rows(limits)
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(number).total_byte_size for number in groups)
        if size > limits.decompressed_bytes:
            raise DocumentFailure(
                "archive_bomb", f"{size} bytes decompressed, more than {limits.decompressed_bytes}"
            )
        rows = _rows(file, settings)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DocumentFailure("damaged", "the Parquet file cannot be read") from error
    if any(is_too_deep(row.fields, _DEEPEST) for row in rows[:1]):
        raise DocumentFailure("nested_too_deep", "the columns are nested deeper than any writer means")
    return read_rows(rows, source.path, settings, limits)


def _rows(file: "ParquetFile", settings: DocumentSettings) -> list[TextRow]:
    rows: list[TextRow] = []
    length = 0
    for group in file.iter_batches(batch_size=_ROWS_AT_ONCE):
        for fields in group.to_pylist():
            length += sum(len(value) for value in fields.values() if isinstance(value, str))
            rows.append(TextRow(len(rows) + 1, fields))
        check_length(length, settings)
    return rows


InnerFormat = Literal["text", "markdown", "html"]
_PARSERS = {"text": text.parse, "markdown": markdown.parse, "html": html.parse}


def read_inner(content: str, name: InnerFormat, path: str, settings: DocumentSettings) -> ParsedFile:
    """Parse a text that was decoded already; nothing for a blank one."""
    if not content.strip():
        return ParsedFile(blocks=())
    # The mark says UTF-8, whatever the text says of its encoding or begins with; clean text has no zeros.
    return _PARSERS[name](SourceFile(path, codecs.BOM_UTF8 + clean(content).encode()), settings)


def lower_headings(blocks: tuple[Block, ...], by: int) -> list[Block]:
    """Return the blocks with their headings placed under those of the file that holds them."""
    return [
        replace(block, level=min(max(block.level, 1) + by, 6)) if block.kind == "heading" else block
        for block in blocks
    ]
