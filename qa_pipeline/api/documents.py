"""Documents read into text, and cut into chunks, without a batch."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.errors import InputError
from qa_pipeline.models.embedding_files import load_token_counter
from qa_pipeline.pipeline.resources import parse_sandboxed
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.tree import load_settings

BATCH = "documents"


@dataclass(frozen=True)
class Document:
    """A document as the pipeline reads it.

    Attributes:
        path: the name of its file.
        title: its own, or else that of the file.
        language: of most of its text, as a code; `und` where that is undetermined.
        text: canonical text, Markdown-like; places of sections and pages are characters of it.
        sections: heading_path, level, start and end of each.
        pages: number, start and end of each; empty for formats without pages.
        left_out: what of the file is not in the text: what, pieces and characters.
        table: its row of the documents table.
    """

    path: str
    title: str
    language: str
    text: str
    sections: Sequence[Mapping[str, Any]]
    pages: Sequence[Mapping[str, Any]]
    left_out: Sequence[Mapping[str, Any]]
    table: pl.DataFrame


def read_document(path: Path | str) -> Document:
    """Read a file of any known format, in a process of its own with limits, under the default settings.

    Raises:
        InputError: there is no such file, or it cannot be read as a document; the message says why.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file} is no file; name a document")
    with TemporaryDirectory() as folder:
        shutil.copyfile(file, Path(folder) / file.name)
        table = read_documents(BATCH, Path(folder), load_settings().documents, parse_sandboxed())
    row = table.row(0, named=True) if table.height else None
    if row is None or row["status"] != "parsed":
        reason = "its name begins with a dot, or is that of no document"
        raise InputError(f"{file}: {in_words(row['reason'], row['detail']) if row else reason}")
    names = ("path", "title", "language", "text", "sections", "pages", "left_out")
    return Document(**{name: row[name] for name in names}, table=table)


def chunk(document: Document) -> pl.DataFrame:
    """Cut a document into chunks of at most `chunking.max_tokens`, each below its headings.

    Returns:
        A row for each chunk, in order: the chunks table (docs/reference/tables.md).
    """
    settings = load_settings()
    return chunk_documents(document.table, load_token_counter(settings.embedding), settings.chunking)
