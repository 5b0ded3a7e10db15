"""The files of a batch as they were found, wherever it lies, and its description, `batch.yaml`."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, BinaryIO

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from qa_pipeline.errors import CorpusError
from qa_pipeline.records import Mask, keep
from qa_pipeline.settings.base import read_yaml
from qa_pipeline.text.words import clean


class DocumentFailure(Exception):  # noqa: N818 - it ends as a row, not as an error of the run
    """Report a file that cannot be read or parsed, without text of the document."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


_FORMATS = {
    "markdown": ".md .markdown", "html": ".html .htm .xhtml", "pdf": ".pdf", "rst": ".rst .rest",
    "text": ".txt .text", "table": ".csv .tsv .tab", "jsonl": ".jsonl .ndjson", "email": ".eml",
    "parquet": ".parquet", "docx": ".docx .docm", "pptx": ".pptx .pptm .ppsx", "epub": ".epub",
    "spreadsheet": ".xlsx .xlsm .ods", "odt": ".odt .ott .fodt",
}  # fmt: skip
SUFFIXES = {suffix: name for name, suffixes in _FORMATS.items() for suffix in suffixes.split()}
ROWS = frozenset({"jsonl", "parquet", "spreadsheet"})  # their headings name rows or sheets, not the document
PAIRS_FILES = ("pairs.jsonl", "pairs.json", "pairs.csv", "pairs.tsv", "pairs.parquet")
DESCRIPTION_FILE = "batch.yaml"
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
Opener = Callable[[], AbstractContextManager[BinaryIO]]  # raises a DocumentFailure, also while reading


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An entry of a batch.

    `path` is its name as stored: relative, forward slashes, NFC, odd characters escaped. `raw` is the name in
    its folder or store, unique in a batch. `stamp` is a hash of the content that a store lists, and
    `size_and_times` of a local file change with its content.
    """

    path: str
    raw: bytes
    size: int
    open: Opener
    failure: DocumentFailure | None = None
    stamp: str | None = None
    size_and_times: str = ""


def format_of(path: str) -> str | None:
    """Return the format of a file's suffix, or None."""
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())


def documents_among(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Return all but the pairs files and the batch description."""
    return [file for file in files if file.path not in (*PAIRS_FILES, DESCRIPTION_FILE)]


def read_bytes(listed: FoundFile, limit: int, setting: str = "documents.max_bytes") -> bytes:
    """Return a file's content of at most `limit` bytes (`setting` in messages); raises a DocumentFailure."""
    if listed.failure is not None:
        raise listed.failure
    content = bytearray()
    if listed.size <= limit:
        with listed.open() as file:  # it may have grown since it was listed: a byte over the limit shows it
            while len(content) <= limit and (part := file.read(limit + 1 - len(content))):
                content += part
    if max(listed.size, len(content)) > limit:
        raise DocumentFailure("too_large", f"the file is larger than {setting} = {limit}")
    return bytes(content)


def _content_hash(file: FoundFile) -> bytes:
    """Hash a file's content, the hash that its store lists, or the reason of its failure."""
    try:
        if file.failure is not None:
            raise file.failure
        if file.stamp is not None:
            return hashlib.sha256(f"{file.stamp}:{file.size}".encode()).digest()
        with file.open() as stream:
            return hashlib.file_digest(stream, "sha256").digest()  # type: ignore[arg-type]  # all have readinto
    except DocumentFailure as failure:
        return hashlib.sha256(failure.reason.encode()).digest()


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """The files of a batch."""

    name: str
    list_files: Callable[[], Iterable[FoundFile]]

    def list(self) -> list[FoundFile]:
        """Return every visible file in order, the pairs and the description among them."""
        return sorted(self.list_files(), key=lambda file: (file.path, file.raw))

    def find(self, path: str) -> FoundFile | None:
        """Return a visible file by its path inside the batch, a readable one if possible."""
        named = [file for file in self.list() if file.path == path]
        return min(named, key=lambda file: file.failure is not None, default=None)

    def fingerprint(self) -> str:
        """Hash the names and contents of all files; a store's own hash replaces the content."""
        total = hashlib.sha256()
        for file in self.list():
            name = file.path.encode()
            total.update(len(name).to_bytes(8, "big") + name + _content_hash(file))
        return total.hexdigest()


def stored_path(raw: bytes) -> str:
    """Return a path as stored and shown: valid UTF-8, NFC, invisible characters escaped."""
    text = unicodedata.normalize("NFC", raw.decode("utf-8", "backslashreplace"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@dataclass(slots=True)
class ReaderLimits:
    """Bound the pages of a file, objects of a page, rows of a table, and members and bytes of a ZIP."""

    pages: int = 5_000
    page_objects: int = 200_000
    rows: int = 200_000
    archive_members: int = 10_000
    decompressed_bytes: int = 500_000_000


LIMITS = ReaderLimits()


def check_rows(count: int) -> None:
    """Raise a DocumentFailure for a file with more rows than allowed."""
    if count > LIMITS.rows:
        raise DocumentFailure("too_many_rows", f"the file has more than {LIMITS.rows} rows; split it")


_LONGEST_DESCRIPTION = 5_000_000  # bytes: lines for some 50,000 documents
Line = Annotated[str, AfterValidator(lambda text: " ".join(clean(text).split()))]


class Source(BaseModel):
    """An origin and its licence."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    licence: Line | None = None
    source_uri: Line | None = None


class BatchDescription(Source):
    """The file `batch.yaml`: origin and licence of the batch, and of single documents by their path."""

    documents: Annotated[
        Mapping[str, Source],
        BeforeValidator(lambda value: {} if value is None else value),
        AfterValidator(lambda paths: {unicodedata.normalize("NFC", path): paths[path] for path in paths}),
    ] = {}


def read_description(files: BatchFiles, mask: Mask = keep) -> BatchDescription:
    """Read `batch.yaml`, empty without a file; raises a CorpusError, with names of files masked."""
    file = files.find(DESCRIPTION_FILE)
    name = f"{files.name}/{DESCRIPTION_FILE}"
    if file is None:
        return BatchDescription()
    try:
        values = read_yaml(read_bytes(file, _LONGEST_DESCRIPTION, "its limit").decode("utf-8-sig")) or {}
    except DocumentFailure as failure:
        raise CorpusError(f"{name} cannot be read: {failure.detail}") from failure
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "not readable")
        line = f", line {mark.line + 1}" if mark else ""
        raise CorpusError(f"{name}{line}: {problem}; it must be plain YAML in UTF-8") from None
    if not isinstance(values, dict):
        raise CorpusError(f"{name} must contain names and values, such as `licence: CC0-1.0`")
    try:
        return BatchDescription.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(mask(str(part)).text for part in first["loc"])  # such as `documents.a.md.licence`
        fault = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        known = "the fields are licence, source_uri and, for a batch, documents"
        raise CorpusError(f"{name}: {field}: {fault}; {known}") from None  # the error quotes the file
