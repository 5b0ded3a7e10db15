"""Parquet files: rows of text, as data sets are shared; each a section of the document.

What belongs here: reading rows under limits. What does not: how a row is written (`rows`).

A file tells how many rows it has and how large their columns are before one is read. A few bytes may stand
for a long text many times over, so that rows are read in small groups and counted as they come.
"""

import io
from typing import TYPE_CHECKING

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.text_rows.rows import TextRow, read_rows, too_deep, too_many_rows
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_ROWS_AT_ONCE = 64


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one Parquet file.

    Raises:
        DocumentFailure: it is damaged, encrypted, or holds too many rows or characters.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(io.BytesIO(source.content))
        _check(file, settings)
        rows = _rows(file, settings)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DocumentFailure("damaged", "the Parquet file cannot be read") from error
    if any(too_deep(row.fields) for row in rows[:1]):
        raise DocumentFailure("nested_too_deep", "the columns are nested deeper than any writer means")
    return read_rows(rows, source.path, settings)


def _check(file: "ParquetFile", settings: DocumentSettings) -> None:
    about = file.metadata
    if about.num_rows > settings.max_rows:
        raise too_many_rows(settings)
    size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if size > settings.max_decompressed_bytes:
        limit = settings.max_decompressed_bytes
        raise DocumentFailure(
            "archive_bomb", f"{size} bytes decompressed, documents.max_decompressed_bytes = {limit}"
        )


def _rows(file: "ParquetFile", settings: DocumentSettings) -> list[TextRow]:
    rows: list[TextRow] = []
    length = 0
    for group in file.iter_batches(batch_size=_ROWS_AT_ONCE):
        for fields in group.to_pylist():
            length += sum(len(value) for value in fields.values() if isinstance(value, str))
            rows.append(TextRow(len(rows) + 1, fields))
        if length > settings.max_characters:
            limit = settings.max_characters
            raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
    return rows
