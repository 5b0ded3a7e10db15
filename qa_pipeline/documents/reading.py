"""Read a batch into the documents table: a row per file, also for failed files."""

import hashlib
from collections.abc import Iterator, Set
from pathlib import Path, PurePosixPath
from typing import NamedTuple, cast

import polars as pl

from qa_pipeline.documents import parsing
from qa_pipeline.documents.corpus.corpora import open_folder
from qa_pipeline.documents.corpus.files import (
    ROWS,
    SUFFIXES,
    BatchDescription,
    BatchFiles,
    DocumentFailure,
    FoundFile,
    Source,
    documents_among,
    format_of,
    read_bytes,
    read_description,
)
from qa_pipeline.documents.masking import check_name, mask_path, text_mask
from qa_pipeline.records import ProgressCallback, SourceFile, no_progress
from qa_pipeline.retrieval.near_duplicates import mark_near_duplicates
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.table_schema import DocumentColumns, typed_rows
from qa_pipeline.storage.tables import DOCUMENTS

_ID_LENGTH = 32
FORGOTTEN = "forgotten"  # the reason of a row whose document a person had erased
_SKIPPED = frozenset({"unsupported_format", "linked_folder"})


def read_documents(
    batch: str,
    files: BatchFiles | Path,
    settings: DocumentSettings,
    parse: parsing.ParseFiles = parsing.parse_in_process,
    previous: pl.DataFrame | None = None,
    notify: ProgressCallback = no_progress,
    forgotten: Set[str] = frozenset(),
) -> pl.DataFrame:
    """Read every file of a batch into a row of the documents table, ordered by path.

    Rows of unchanged bytes are taken over from `previous`, the table of an earlier run. `forgotten` are the
    hashes of contents that are not read, and `notify` is called with the number of finished files. Raises a
    CorpusError if the batch or its description cannot be read, and a SettingsError if masking lacks a key.
    """
    files = open_folder(files) if isinstance(files, Path) else files
    document_files = documents_among(files.list())
    check_name(batch, settings.masking)
    description = read_description(files, text_mask(settings.masking, bare=True))
    batch_work = _BatchWork(settings, description, document_files, previous, forgotten)
    # outcomes come in the order of the requests, and so do the contents in `to_parse`
    for number, outcome in enumerate(parse(batch_work.requests(), settings)):
        batch_work.outcomes[batch_work.to_parse[number]] = outcome
        notify(len(batch_work.outcomes), len(document_files))
    documents = DOCUMENTS.frame([{"batch": batch, **row} for row in batch_work.rows()])
    return mark_near_duplicates(documents)


class _Content(NamedTuple):
    """Identify a content, with its format, as a file of equal bytes may have another suffix."""

    size: int
    sha256: str
    format: str


class _BatchWork:
    """Read the files of a batch in three steps, of which the caller takes the second.

    1. `requests` reads every file, and yields a request to parse each new content.
    2. The caller sets the result of each request in `outcomes`, in the order of `to_parse`.
    3. `rows` yields a row for each file.
    """

    def __init__(
        self,
        settings: DocumentSettings,
        description: BatchDescription,
        files: list[FoundFile],
        previous: pl.DataFrame | None,
        forgotten: Set[str],  # hashes of contents that a person had erased
    ) -> None:
        self.settings, self.description, self.files, self.forgotten = settings, description, files, forgotten
        self.version = parsing.parser_version(settings)
        self.earlier_rows = _earlier_rows(previous, self.version)
        self.paths = [mask_path(file.path, text_mask(settings.masking, bare=True)) for file in files]
        self.contents: list[_Content | DocumentFailure] = []  # of each file in order, added by `requests`
        self.to_parse: list[_Content] = []  # of each request in order, added by `requests`
        # of contents to parse, set by the caller; of unchanged and forgotten contents, set by `requests`
        self.outcomes: dict[_Content, parsing.ParseOutcome] = {}

    def requests(self) -> Iterator[parsing.ParseRequest]:
        """Read the files in order, and yield the contents that need parsing, each of them once."""
        seen: set[_Content] = set()
        for file, path in zip(self.files, self.paths, strict=True):
            try:
                format_name = _format(file)
                data = read_bytes(file, self.settings.max_bytes)
            except DocumentFailure as failure:
                self.contents.append(failure)
                continue
            content = _Content(len(data), hashlib.sha256(data).hexdigest(), format_name)
            self.contents.append(content)
            if content.sha256 in self.forgotten:
                detail = "it was deleted with qa-pipeline forget; remove the file from the corpus"
                self.outcomes[content] = DocumentFailure(FORGOTTEN, detail)
            elif content in self.earlier_rows:
                self.outcomes[content] = self.earlier_rows[content]
            elif content not in seen:
                seen.add(content)
                self.to_parse.append(content)
                yield parsing.ParseRequest(SourceFile(path.text, data), format_name)

    def rows(self) -> Iterator[DocumentColumns]:
        """Yield a row for each file, in order."""
        taken_ids: set[str] = set()
        first_numbers: dict[str, int] = {}  # the first parsed file with each hash
        for number, (file, masked_path) in enumerate(zip(self.files, self.paths, strict=True)):
            row: DocumentColumns = {
                "path": masked_path.text, **self._origin_of(file), "content_sha256": None, "size": file.size,
                "format": format_of(file.path), "languages": [], "sections": [], "pages": [], "left_out": [],
                "masked": [],
            }  # fmt: skip
            row.update(self._outcome(number, file, first_numbers))
            # a masked path may occur twice, and an id must not hash personal data
            unique_name = str(number).encode() if masked_path.counts else file.raw
            row["document_id"] = _document_id(row["content_sha256"], masked_path.text, unique_name, taken_ids)
            yield row

    def _outcome(self, number: int, file: FoundFile, first_numbers: dict[str, int]) -> DocumentColumns:
        """Return the columns by a file's content; `first_numbers` has the first file of each hash so far."""
        content = self.contents[number]
        if isinstance(content, DocumentFailure):
            return self._failed(content)
        size, sha256, format_name = content
        columns: DocumentColumns = {"size": size, "content_sha256": sha256, "format": format_name}
        outcome = self.outcomes[content]
        if isinstance(outcome, DocumentFailure):
            return {**columns, **self._failed(outcome)}
        first = first_numbers.setdefault(content.sha256, number)
        if first != number:
            detail = f"same bytes as {self.paths[first].text}"
            return {**columns, "status": "duplicate", "reason": "equal_bytes", "detail": detail}
        declared = outcome["declared"]
        # the first heading of a PDF need not be its title, for which its parser has looked already
        may_be_title = content.format not in ROWS and content.format != "pdf"
        headings = (section["heading_path"][-1] for section in outcome["sections"] if section["level"])
        heading = next(headings, None) if may_be_title else None
        return {
            **columns,
            **cast("DocumentColumns", outcome),
            "status": "parsed",
            "parsed_by": self.version,
            "title": declared["title"] or heading or PurePosixPath(self.paths[number].text).stem,
            **self._origin_of(file, declared["source_uri"], declared["licence"]),
        }

    def _failed(self, failure: DocumentFailure) -> DocumentColumns:
        status = "skipped" if failure.reason in _SKIPPED else "failed"
        detail = text_mask(self.settings.masking)(failure.detail).text
        return {"status": status, "reason": failure.reason, "detail": detail}

    def _origin_of(
        self, file: FoundFile, source_uri: str | None = None, licence: str | None = None
    ) -> DocumentColumns:
        """Return origin and licence: as stated in `batch.yaml`, as declared in the file, or of the batch."""
        if source_uri and (" " in source_uri or not source_uri.startswith(("https://", "http://"))):
            source_uri = None  # not safe to show as a link
        mask = text_mask(self.settings.masking, bare=True)
        stated = self.description.documents.get(file.path, Source())
        source_uri = stated.source_uri or source_uri or self.description.source_uri
        licence = stated.licence or licence or self.description.licence
        return {"source_uri": source_uri and mask(source_uri).text, "licence": licence and mask(licence).text}


def _earlier_rows(previous: pl.DataFrame | None, version: str) -> dict[_Content, parsing.ContentRow]:
    """Return the rows of an earlier run by their content, if code and settings are the same."""
    if previous is None:
        return {}
    usable = previous.filter(pl.col("status") == "parsed", pl.col("parsed_by") == version)
    contents = map(_Content._make, usable.select("size", "content_sha256", "format").iter_rows())
    rows = typed_rows(usable.select(parsing.CONTENT_COLUMNS), parsing.ContentRow)
    return dict(zip(contents, rows, strict=True))


def _format(file: FoundFile) -> str:
    """Return the format of a file; a file of an unknown format is not opened."""
    if file.failure is not None:
        raise file.failure
    name = format_of(file.path)
    if name is not None:
        return name
    suffix = PurePosixPath(file.path).suffix or "no suffix"
    raise DocumentFailure("unsupported_format", f"{suffix}; supported are {', '.join(sorted(SUFFIXES))}")


def _document_id(content_sha256: str | None, path: str, unique_name: bytes, taken: set[str]) -> str:
    """Return the first free id: a hash of the bytes, with the path, or with the unique name as well."""
    content = content_sha256 or ""  # of an unread file, whose first candidate is the hash of its path
    with_path = f"{content}\0{path}"
    with_name = f"{with_path}\0{unique_name.hex()}"
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (with_path, with_name)]
    candidates = [digest[:_ID_LENGTH] for digest in (content, *hashes) if digest]
    document_id = next((digest for digest in candidates if digest not in taken), candidates[-1])
    taken.add(document_id)
    return document_id
