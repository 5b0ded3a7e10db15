"""A batch folder to the documents table: one row per file, whatever becomes of it.

What belongs here: which files are parsed, which are known already, and how each outcome becomes a row. What
does not: the content of a file (`parsing`), formats (one module each) and walking the folder (`files`).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from qa_pipeline.documents.description import BatchDescription, read_description
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import FoundFile, list_files, read_bytes
from qa_pipeline.documents.formats import SUFFIXES, format_of
from qa_pipeline.documents.near_duplicates import mark_near_duplicates
from qa_pipeline.documents.parsing import (
    ParseFiles,
    ParseOutcome,
    ParseRequest,
    Row,
    parse_here,
    parser_version,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline.progress import Notify, silent
from qa_pipeline.records import SourceFile
from qa_pipeline.settings import DocumentSettings
from qa_pipeline.tables import DOCUMENTS

_ID_LENGTH = 32
_SKIPPED = frozenset({"unsupported_format", "linked_folder"})
_OF_THE_CONTENT = (
    "declared", "language", "languages", "text", "sections", "pages", "left_out", "masked", "detail",
)  # fmt: skip


def read_documents(
    batch: str,
    folder: Path,
    settings: DocumentSettings,
    parse: ParseFiles = parse_here,
    previous: pl.DataFrame | None = None,
    notify: Notify = silent,
) -> pl.DataFrame:
    """Read every file of a batch into a row of the documents table, ordered by path.

    Args:
        batch: name of the batch, stored with each row.
        folder: the batch folder.
        settings: limits on files.
        parse: how files are parsed.
        previous: the table of an earlier run; what it holds of unchanged bytes is taken over, not parsed.
        notify: told how many files are done.

    Raises:
        CorpusError: the folder is missing, or the batch description cannot be used.
    """
    if not folder.is_dir():
        raise CorpusError(f"batch folder {folder} does not exist or is no folder")
    found = list_files(folder)
    work = _Work(settings, _known(previous, parser_version(settings)), found)
    for number, outcome in enumerate(parse(work.requests(), settings)):
        work.outcomes[work.asked[number]] = outcome
        notify(len(work.outcomes), len(found))
    documents = DOCUMENTS.frame(_rows(batch, work, read_description(folder)))
    return mark_near_duplicates(documents, settings.near_duplicate_similarity)


@dataclass(slots=True)
class _Read:
    """What is known of a file once its bytes were read, without its bytes."""

    format: str
    size: int
    content_sha256: str


class _Work:
    """The files of a batch on their way: read one by one, parsed only where nothing is known yet."""

    def __init__(
        self, settings: DocumentSettings, known: dict[tuple[str, str], Row], found: list[FoundFile]
    ) -> None:
        self.settings = settings
        self.version = parser_version(settings)
        self.known = known
        self.found = found
        self.read: dict[int, _Read] = {}
        self.outcomes: dict[int, ParseOutcome] = {}
        self.asked: list[int] = []
        self.first_of: dict[tuple[str, str], int] = {}

    def requests(self) -> Iterator[ParseRequest]:
        """Read the files in order; those that need no parsing get their outcome on the way."""
        for number, file in enumerate(self.found):
            try:
                request = self._look_at(number, file)
            except DocumentFailure as failure:
                self.outcomes[number] = failure
                continue
            if request is not None:
                self.asked.append(number)
                yield request

    def _look_at(self, number: int, file: FoundFile) -> ParseRequest | None:
        name = _format(file)
        content = read_bytes(file, self.settings.max_bytes)
        digest = hashlib.sha256(content).hexdigest()
        self.read[number] = _Read(name, len(content), digest)
        if self.first_of.setdefault((digest, name), number) != number:
            return None
        if (row := self.known.get((digest, name))) is not None:
            self.outcomes[number] = row
            return None
        return ParseRequest(SourceFile(file.path, content), name)


def _known(previous: pl.DataFrame | None, version: str) -> dict[tuple[str, str], Row]:
    """What an earlier run parsed, by content and format, where the same code with the same settings did."""
    if previous is None:
        return {}
    usable = previous.filter(pl.col("status") == "parsed", pl.col("parsed_by") == version)
    return {
        (row["content_sha256"], row["format"]): {name: row[name] for name in _OF_THE_CONTENT}
        for row in usable.iter_rows(named=True)
    }


def _rows(batch: str, work: _Work, description: BatchDescription) -> list[Row]:
    ids: set[str] = set()
    parsed: dict[str, str] = {}
    rows = []
    for number, file in enumerate(work.found):
        became = _became(number, file, work, parsed, description)
        row = {"batch": batch, **_blank_row(file, description), **became}
        row["document_id"] = _document_id(row["content_sha256"], file, ids)
        rows.append(row)
    return rows


def _blank_row(file: FoundFile, description: BatchDescription) -> Row:
    """What is known of a file before it is opened."""
    return {
        "path": file.path,
        "source_uri": description.source_uri_of(file.path),
        "licence": description.licence_of(file.path),
        "content_sha256": None,
        "size": file.size,
        "format": format_of(file.path),
        "languages": [],
        "sections": [],
        "pages": [],
        "left_out": [],
        "masked": [],
    }


def _became(
    number: int, file: FoundFile, work: _Work, parsed: dict[str, str], description: BatchDescription
) -> Row:
    """What became of a file; `parsed` maps the content of each document to its path."""
    read = work.read.get(number)
    row: Row = {"size": read.size, "content_sha256": read.content_sha256} if read else {}
    outcome = work.outcomes[work.first_of[read.content_sha256, read.format] if read else number]
    if isinstance(outcome, DocumentFailure):
        status = "skipped" if outcome.reason in _SKIPPED else "failed"
        return row | {"status": status, "reason": outcome.reason, "detail": outcome.detail}
    first = parsed.setdefault(row["content_sha256"], file.path)
    if first != file.path:
        return row | {"status": "duplicate", "reason": "equal_bytes", "detail": f"same bytes as {first}"}
    done = {"status": "parsed", "parsed_by": work.version}
    return row | outcome | done | _named(file.path, outcome, description)


def _named(path: str, columns: Row, description: BatchDescription) -> Row:
    """Title, origin and licence: what the batch says of the document, it says, the batch says of all."""
    declared = columns["declared"]
    headings = (part["heading_path"][-1] for part in columns["sections"] if part["level"])
    origin = description.source_uri_of(path) or _web_address(declared["source_uri"])
    return {
        "title": declared["title"] or next(headings, None) or PurePosixPath(path).stem,
        "source_uri": origin or description.source_uri,
        "licence": description.licence_of(path) or declared["licence"] or description.licence,
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


def _web_address(address: str | None) -> str | None:
    """An address a document names for itself, if it is one a reader can safely be shown as a link."""
    return address if address and address.startswith(("https://", "http://")) and " " not in address else None
