"""A batch folder to the documents table: one row per file, whatever becomes of it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from qa_pipeline.corpus.description import BatchDescription
from qa_pipeline.corpus.files import DocumentFailure, FoundFile, documents_among, read_bytes
from qa_pipeline.corpus.folders import open_folder
from qa_pipeline.corpus.origins import card_licence
from qa_pipeline.corpus.places import BatchFiles
from qa_pipeline.documents.decoding import UNPACKERS
from qa_pipeline.documents.formats.registry import ROWS, SUFFIXES, format_of
from qa_pipeline.documents.masking.masking import bare_mask, description_and_masking, mask_path, text_mask
from qa_pipeline.documents.near_duplicates import mark_near_duplicates
from qa_pipeline.documents.parsing import (
    CONTENT_COLUMNS,
    ParseFiles,
    ParseOutcome,
    ParseRequest,
    Row,
    parse_in_process,
    parser_version,
)
from qa_pipeline.records import Mask, ProgressCallback, SourceFile, no_progress
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.tables import DOCUMENTS

_ID_LENGTH = 32
_SKIPPED = frozenset({"unsupported_format", "linked_folder"})


def read_documents(
    batch: str,
    files: BatchFiles | Path,
    settings: DocumentSettings,
    parse: ParseFiles = parse_in_process,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
) -> pl.DataFrame:
    """Read every file of a batch into a row of the documents table, ordered by path.

    Args:
        batch: name of the batch, stored with each row.
        files: the files of the batch, or the local folder that holds them.
        settings: limits on files, and the masking that its description may make stricter.
        parse: how files are parsed.
        previous: the table of an earlier run; what it holds of unchanged bytes is taken over, not parsed.
        notify: called with the number of files that are done.

    Raises:
        CorpusError: the batch is missing, or its description cannot be used.
        SettingsError: masking needs something that is not there.
    """
    files = open_folder(files) if isinstance(files, Path) else files
    found = documents_among(files.list())
    description, masking = description_and_masking(batch, files, settings.masking)
    settings = settings.model_copy(update={"masking": masking})
    about = _About(description, card_licence(found), bare_mask(masking))
    work = _Work(settings, _known(previous, parser_version(settings)), found)
    for number, outcome in enumerate(parse(work.requests(), settings)):
        work.outcomes[work.asked[number]] = outcome
        notify(len(work.outcomes), len(found))
    documents = DOCUMENTS.frame(_rows(batch, work, about))
    return mark_near_duplicates(documents, settings.near_duplicate_similarity)


@dataclass(frozen=True, slots=True)
class _About:
    """What is known of documents beside themselves: from the batch's owner, and from a dataset's card."""

    stated: BatchDescription
    card_licence: str | None
    mask: Mask

    def source_uri_of(self, file: FoundFile, declared: str | None = None) -> str | None:
        """Where a file came from; `declared` is what the document says itself."""
        alone = self.stated.source_uri_of(file.path) or declared
        return alone or self._address_of(file) or self.stated.source_uri

    def licence_of(self, file: FoundFile, declared: str | None = None) -> str | None:
        """The licence of a file."""
        alone = self.stated.licence_of(file.path) or declared or self.stated.licence
        return alone or (self.mask(self.card_licence)[0] if self.card_licence else None)

    def _address_of(self, file: FoundFile) -> str | None:
        """Its address below that of the batch; none with personal data, for masked it leads nowhere."""
        address = self.stated.address_of(file.raw)
        return address if address and self.mask(address)[0] == address else None


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
        self.shown = [mask_path(file.path, bare_mask(settings.masking)) for file in found]
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
        name = _format(file, self.settings)
        content = read_bytes(file, self.settings.max_bytes)
        digest = hashlib.sha256(content).hexdigest()
        self.read[number] = _Read(name, len(content), digest)
        if self.first_of.setdefault((digest, name), number) != number:
            return None
        if (row := self.known.get((digest, name))) is not None:
            self.outcomes[number] = row
            return None
        return ParseRequest(SourceFile(self.shown[number].path, content), name)


def _known(previous: pl.DataFrame | None, version: str) -> dict[tuple[str, str], Row]:
    """What an earlier run parsed, by content and format, where the same code with the same settings did."""
    if previous is None:
        return {}
    usable = previous.filter(pl.col("status") == "parsed", pl.col("parsed_by") == version)
    return {
        (row["content_sha256"], row["format"]): {name: row[name] for name in CONTENT_COLUMNS}
        for row in usable.iter_rows(named=True)
    }


def _rows(batch: str, work: _Work, about: _About) -> list[Row]:
    ids: set[str] = set()
    parsed: dict[str, int] = {}
    rows = []
    for number, file in enumerate(work.found):
        became = _became(number, file, work, parsed, about)
        row = {"batch": batch, **_blank_row(file, about, work.settings), **became}
        row["path"] = work.shown[number].path
        name = str(number).encode() if work.shown[number].found else file.raw
        row["document_id"] = _document_id(row["content_sha256"], row["path"], name, ids)
        rows.append(row)
    return rows


def _blank_row(file: FoundFile, about: _About, settings: DocumentSettings) -> Row:
    """What is known of a file before it is opened."""
    return {
        "source_uri": about.source_uri_of(file),
        "licence": about.licence_of(file),
        "content_sha256": None,
        "size": file.size,
        "format": format_of(file.path, readers=settings.readers),
        "languages": [],
        "sections": [],
        "pages": [],
        "left_out": [],
        "masked": [],
    }


def _became(number: int, file: FoundFile, work: _Work, parsed: dict[str, int], about: _About) -> Row:
    """What became of a file; `parsed` maps the content of each document to its number."""
    read = work.read.get(number)
    row: Row = {}
    if read:
        row = {"size": read.size, "content_sha256": read.content_sha256, "format": read.format}
    outcome = work.outcomes[work.first_of[read.content_sha256, read.format] if read else number]
    if isinstance(outcome, DocumentFailure):
        status = "skipped" if outcome.reason in _SKIPPED else "failed"
        detail, _ = text_mask(work.settings.masking)(outcome.detail)
        return row | {"status": status, "reason": outcome.reason, "detail": detail}
    first = parsed.setdefault(row["content_sha256"], number)
    if first != number:
        detail = f"same bytes as {work.shown[first].path}"
        return row | {"status": "duplicate", "reason": "equal_bytes", "detail": detail}
    done = {"status": "parsed", "parsed_by": work.version}
    return row | outcome | done | _named(file, work.shown[number].path, row | outcome, about)


def _named(file: FoundFile, shown: str, columns: Row, about: _About) -> Row:
    """Title, origin and licence: its line in the batch's description, the document, the batch."""
    declared = columns["declared"]
    sections = () if columns["format"].partition(".")[0] in ROWS else columns["sections"]
    headings = (part["heading_path"][-1] for part in sections if part["level"])
    return {
        "title": declared["title"] or next(headings, None) or _stem(shown),
        "source_uri": about.source_uri_of(file, _web_address(declared["source_uri"])),
        "licence": about.licence_of(file, declared["licence"]),
    }


def _stem(path: str) -> str:
    name = PurePosixPath(path)
    return PurePosixPath(name.stem).stem if name.suffix.lower() in UNPACKERS else name.stem


def _format(file: FoundFile, settings: DocumentSettings) -> str:
    """The format that reads a file; a file of no known format is not even opened."""
    if file.failure is not None:
        raise file.failure
    name = format_of(file.path, compressed=settings.compressed, readers=settings.readers)
    if name is None:
        raise DocumentFailure("unsupported_format", _unsupported(file.path, settings))
    return name


def _unsupported(path: str, settings: DocumentSettings) -> str:
    if format_of(path, compressed=True, readers=settings.readers):
        return "compressed files are read where documents.compressed is set"
    suffix = PurePosixPath(path).suffix or "no suffix"
    supported = ", ".join(sorted({*SUFFIXES, *settings.readers}))
    return f"{suffix}; supported are {supported}; documents.readers can name a reader for another suffix"


def _document_id(content_sha256: str | None, path: str, raw: bytes, ids: set[str]) -> str:
    """Hash of the bytes; of bytes and path where those bytes were met before; of the path if unread."""
    content = content_sha256 or ""
    for parts in ((content,), (content, path), (content, path, raw.hex())):
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
