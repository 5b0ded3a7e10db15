"""A batch folder to the documents table: one row per file, whatever becomes of it.

What belongs here: the order of steps for a file and how each outcome becomes a row. What does not: formats
(one module each) and walking the folder (`files`).
"""

import hashlib
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from qa_pipeline.documents.assembly import Assembled, Mask, assemble, keep
from qa_pipeline.documents.characters import clean, lay_out
from qa_pipeline.documents.description import BatchDescription, read_description
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import FoundFile, list_files, read_bytes
from qa_pipeline.documents.formats import PARSERS, SUFFIXES, format_of
from qa_pipeline.documents.language import detect_language
from qa_pipeline.errors import CorpusError
from qa_pipeline.progress import Notify, silent
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings import DocumentSettings
from qa_pipeline.tables import DOCUMENTS

Row = dict[str, Any]

_ID_LENGTH = 32
_LONGEST_TITLE = 300
_LONGEST_NOTE = 2000
_SKIPPED = frozenset({"unsupported_format", "linked_folder"})


def read_documents(
    batch: str,
    folder: Path,
    settings: DocumentSettings,
    mask: Mask = keep,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Read every file of a batch into a row of the documents table, ordered by path.

    Args:
        batch: name of the batch, stored with each row.
        folder: the batch folder.
        settings: limits on files.
        mask: replaces personal data; it sees each text before anything else does.
        notify: told how many files are done.

    Raises:
        CorpusError: the folder is missing, or the batch description cannot be used.
    """
    if not folder.is_dir():
        raise CorpusError(f"batch folder {folder} does not exist or is no folder")
    description = read_description(folder)
    found = list_files(folder)
    seen: dict[str, str] = {}
    ids: set[str] = set()
    rows = []
    for number, file in enumerate(found, start=1):
        row = _read_row(file, settings, mask, description, seen)
        row["document_id"] = _document_id(row["content_sha256"], file, ids)
        rows.append({"batch": batch, **row})
        notify(number, len(found))
    return DOCUMENTS.frame(rows)


def _read_row(
    file: FoundFile,
    settings: DocumentSettings,
    mask: Mask,
    description: BatchDescription,
    seen: dict[str, str],
) -> Row:
    """One file's row; `seen` maps the hash of each parsed content to the path it was first read from."""
    row = _blank_row(file, description)
    try:
        name = _format(file)
        content = read_bytes(file, settings.max_bytes)
        row |= {"size": len(content), "content_sha256": hashlib.sha256(content).hexdigest()}
        if (first := seen.get(row["content_sha256"])) is not None:
            return row | {"status": "duplicate", "reason": "equal_bytes", "detail": f"same bytes as {first}"}
        parsed, text = _parse(SourceFile(file.path, content), name, settings, mask)
    except DocumentFailure as failure:
        status = "skipped" if failure.reason in _SKIPPED else "failed"
        return row | {"status": status, "reason": failure.reason, "detail": failure.detail}
    seen[row["content_sha256"]] = file.path
    return row | _parsed_columns(row, file.path, parsed, text, mask, description)


def _blank_row(file: FoundFile, description: BatchDescription) -> Row:
    """What is known of a file before it is opened."""
    return {
        "path": file.path,
        "source_uri": description.source_uri_of(file.path),
        "licence": description.licence_of(file.path),
        "content_sha256": None,
        "size": file.size,
        "format": format_of(file.path),
        "sections": [],
        "pages": [],
        "masked": 0,
    }


def _format(file: FoundFile) -> str:
    """The format that reads a file; a file of no known format is not even opened."""
    if file.failure is not None:
        raise file.failure
    name = format_of(file.path)
    if name is None:
        suffix = PurePosixPath(file.path).suffix or "no suffix"
        raise DocumentFailure("unsupported_format", f"{suffix}; supported are {', '.join(sorted(SUFFIXES))}")
    return name


def _parse(
    source: SourceFile, name: str, settings: DocumentSettings, mask: Mask
) -> tuple[ParsedFile, Assembled]:
    if not source.content.strip():
        raise DocumentFailure("empty_file", "the file holds nothing")
    parsed = PARSERS[name](source, settings)
    if sum(len(block.text) for block in parsed.blocks) > settings.max_characters:
        limit = settings.max_characters
        raise DocumentFailure("too_long", f"the text is longer than documents.max_characters = {limit}")
    text = assemble(parsed.blocks, mask)
    if not text.text:
        raise DocumentFailure("no_text", "the file is readable and holds no text")
    return parsed, text


def _parsed_columns(
    row: Row, path: str, parsed: ParsedFile, text: Assembled, mask: Mask, description: BatchDescription
) -> Row:
    title, masked = mask(_one_line(parsed.title, _LONGEST_TITLE) or "")
    return {
        "source_uri": row["source_uri"] or _web_address(parsed.source_uri) or description.source_uri,
        "licence": row["licence"] or _one_line(parsed.licence, _LONGEST_NOTE) or description.licence,
        "language": parsed.language or detect_language(text.text),
        "title": title or text.first_heading or PurePosixPath(path).stem,
        "text": text.text,
        "sections": [
            {
                "heading_path": list(part.heading_path),
                "level": part.level,
                "start": part.start,
                "end": part.end,
            }
            for part in text.sections
        ],
        "pages": [{"number": page.number, "start": page.start, "end": page.end} for page in text.pages],
        "masked": text.masked + masked,
        "status": "parsed",
    }


def _document_id(content_sha256: str | None, file: FoundFile, ids: set[str]) -> str:
    """Hash of the bytes; of bytes and path where those bytes were met before; of the path if unread."""
    content = content_sha256 or ""
    for parts in ((content,), (content, file.path), (content, file.path, file.raw.hex())):
        if parts == ("",):
            continue
        key = content if parts == (content,) else hashlib.sha256("\0".join(parts).encode()).hexdigest()
        if key[:_ID_LENGTH] not in ids:
            break
    ids.add(key[:_ID_LENGTH])
    return key[:_ID_LENGTH]


def _one_line(text: str | None, longest: int) -> str | None:
    return lay_out("heading", clean(text))[:longest].strip() or None if text else None


def _web_address(text: str | None) -> str | None:
    """An address a document names for itself, if it is one a reader can safely be shown as a link."""
    address = _one_line(text, _LONGEST_NOTE)
    return address if address and address.startswith(("https://", "http://")) and " " not in address else None
