"""Parse a file's bytes into the columns of its row: text, sections, pages, language.

Equal bytes give equal columns, whatever the name of the file.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from qa_pipeline.documents import assembly
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats import epub, mail, markdown, odt, row_files, rst, spreadsheet, text
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.documents.formats.office import docx, pptx
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.documents.masking import text_mask
from qa_pipeline.records import Mask, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings, MaskingSettings
from qa_pipeline.storage.table_schema import DoubtStruct, PageStruct, SectionStruct
from qa_pipeline.text.language import languages_of
from qa_pipeline.text.words import clean

_MOST = 2**31  # the table holds integers of 32 bits
_Count = Annotated[int, Field(ge=0, lt=_MOST)]


class _Declared(TypedDict):
    language: str | None
    title: str | None
    source_uri: str | None
    licence: str | None
    status: str | None


class _LanguageShare(TypedDict):
    language: str
    share: float


class _LeftOut(TypedDict):
    what: str
    pieces: _Count
    characters: _Count


class _Masked(TypedDict):
    kind: str
    count: _Count


class ContentRow(TypedDict):
    """Hold the columns of the documents table that a file's content decides."""

    declared: _Declared
    language: str
    languages: list[_LanguageShare]
    text: str
    sections: list[SectionStruct]
    pages: list[PageStruct]
    left_out: list[_LeftOut]
    masked: list[_Masked]
    doubts: list[DoubtStruct] | None
    detail: str | None


CONTENT_COLUMNS = tuple(ContentRow.__annotations__)
_COLUMNS_READER = TypeAdapter(ContentRow)
ONLY_SPEED = ("parse_workers", "parse_seconds", "parse_memory")  # settings that change no document's text
_LONGEST_TITLE = 300  # characters, as of a heading
_LONGEST_NOTE = 2000  # characters of an address, which browsers take up to, or of a licence
_LONGEST_LOOKED_AT = 10_000  # characters that are masked before they are cut
_LIBRARIES = (
    "css-inline", "docutils", "lxml", "markdown-it-py", "mdit-py-plugins", "openpyxl", "phonenumberslite",
    "py3langid", "pyarrow", "pypdfium2", "python-pptx", "selectolax",
)  # fmt: skip
Parser = Callable[[SourceFile, DocumentSettings], ParsedFile]  # raises a DocumentFailure
PARSERS: dict[str, Parser] = {
    "markdown": markdown.parse, "html": html.parse, "pdf": pdf.parse, "rst": rst.parse, "text": text.parse,
    "table": spreadsheet.parse_csv, "jsonl": row_files.parse, "email": mail.parse,
    "parquet": row_files.parse_parquet, "docx": docx.parse, "pptx": pptx.parse, "epub": epub.parse,
    "spreadsheet": spreadsheet.parse, "odt": odt.parse,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A file to parse: where it came from, its bytes, and the name of its format."""

    source: SourceFile
    format: str


ParseOutcome = ContentRow | DocumentFailure
ParseFiles = Callable[[Iterable[ParseRequest], DocumentSettings], Iterator[ParseOutcome]]
"""Parses files; outcomes come in the order of the requests, which are taken as needed."""


def parse_in_process(requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
    """Parse in this process: for files that are trusted, and for tests."""
    for request in requests:
        try:
            yield parse_file(request, settings)
        except DocumentFailure as failure:
            yield failure


def parse_file(request: ParseRequest, settings: DocumentSettings) -> ContentRow:
    """Parse a file, masked as the settings ask; raises a DocumentFailure."""
    if not request.source.content.strip():
        raise DocumentFailure("empty_file", "the file is empty")
    parsed = PARSERS[request.format](request.source, settings)
    assembly.check_length(sum(len(block.text) for block in parsed.blocks), settings)
    assembled = assembly.assemble(parsed.blocks, text_mask(settings.masking))
    if not assembled.text:
        kinds = ", ".join(f"{part.what} {part.pieces}" for part in parsed.left_out)
        notes = [f"left out of it: {kinds}"] if kinds else []
        detail = "; ".join(["the file is readable and holds no text", *notes, *parsed.notes])
        raise DocumentFailure("no_text", detail)
    return _columns(parsed, assembled, settings.masking)


def _columns(parsed: ParsedFile, assembled: assembly.Assembled, masking: MaskingSettings) -> ContentRow:
    """Return the columns of a file, its declared fields on a line each and masked."""
    mask, counts = text_mask(masking), Counter(assembled.masked)

    def masked_line(value: str | None, longest: int, mask_line: Mask = mask) -> str | None:
        """Return a field on a line, masked and then cut; the masked items are added to `counts`."""
        masked = mask_line(" ".join(clean((value or "")[:_LONGEST_LOOKED_AT]).split()))
        counts.update(masked.counts)
        return masked.text[:longest].strip() or None  # cut last, as half an e-mail address is not recognised

    declared: _Declared = {
        "language": parsed.language,
        "title": masked_line(parsed.title, _LONGEST_TITLE),
        "source_uri": masked_line(parsed.source_uri, _LONGEST_NOTE, text_mask(masking, bare=True)),
        "licence": masked_line(parsed.licence, _LONGEST_NOTE),
        "status": masked_line(parsed.status, _LONGEST_TITLE),
    }
    languages = languages_of(assembled.text, parsed.language, declared["title"])
    return {
        "declared": declared,
        "language": languages[0].language,
        "languages": [{"language": part.language, "share": part.share} for part in languages],
        "text": assembled.text,
        "sections": assembled.sections,
        "pages": assembled.pages,
        "left_out": cast("list[_LeftOut]", list(map(asdict, parsed.left_out))),
        "masked": [{"kind": kind, "count": count} for kind, count in sorted(counts.items())],
        "doubts": assembled.doubts or None,
        "detail": mask("; ".join(parsed.notes)).text or None,
    }


def read_columns(written: bytes) -> ContentRow:
    """Return the columns that an untrusted process wrote as JSON; raises ValueError if they do not fit."""
    row = _COLUMNS_READER.validate_json(written, strict=True)
    for spans in (row["sections"], row["pages"], row["doubts"] or ()):
        earlier_start = 0
        for span in spans:
            if not earlier_start <= span["start"] <= span["end"] <= len(row["text"]):
                raise ValueError("a span is outside the text or out of order")
            earlier_start = span["start"]
    numbers = [*(section["level"] for section in row["sections"]), *(page["number"] for page in row["pages"])]
    if not all(0 <= number < _MOST for number in numbers):
        raise ValueError("a number is too large")
    return row


def parser_version(settings: DocumentSettings) -> str:
    """Hash the code, libraries and settings that decide the columns of a file."""
    content = "\n".join([_hash_code(), settings.model_dump_json(exclude=set(ONLY_SPEED))])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


@cache
def _hash_code() -> str:
    package = Path(__file__).parents[1]
    files = sorted(file for folder in ("documents", "text") for file in (package / folder).rglob("*.*"))
    # finding a file decides no text
    sources = [file for file in files if file.suffix in (".py", ".toml") and file.parent.name != "corpus"]
    hashes = [hashlib.sha256(source.read_bytes()).hexdigest() for source in sources]
    return "\n".join([*hashes, *(f"{name} {metadata.version(name)}" for name in _LIBRARIES)])
