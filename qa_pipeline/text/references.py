"""Resolve references to the document, section or chunks that they name.

A reference is only compared with known paths. It never reaches the file system.
"""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from qa_pipeline.storage.table_schema import DocumentRow, SectionStruct, typed_rows
from qa_pipeline.text.lexicon.languages import any_of_all
from qa_pipeline.text.words import fold_marks, fold_signs

_SOURCE = any_of_all("sources")
SOURCE_MARK = re.compile(rf"\[\s*{_SOURCE}\s*:\s*([^\[\]\n]{{1,1000}})\]", re.IGNORECASE)
"""A citation inside an answer. The group is the reference."""
NUMBER_MARK = re.compile(r"\[\s*\^?[cC]?\d{1,3}(?:\s*[,;–-]\s*[cC]?\d{1,3})*\s*\]")
"""A numbered citation such as [3], [c3] or [1, 2]. The row of the pair maps numbers to sources."""
FOUND_BY_SEARCH = "found_by_search"
"""Reason of an imported pair without citations, and status of its claims: a search finds their passages."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PREFIX = re.compile(rf"^\s*\[?\s*(?:{_SOURCE}\s*:)?\s*(.*?)\s*\]?\s*$", re.IGNORECASE | re.DOTALL)
"""A reference. The group is "guide.md#Setup" in "[source: guide.md#Setup]"."""
RESOLVED = ("chunk", "section", "section_not_found", "document")
"""Kinds of references that name a document, section or chunk of the batch."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The target of a reference. `kind` is a code of the citations column.

    `chunk_ids` are in document order. `section_not_found` is a known document without the named section. In
    this case the whole document counts.
    """

    kind: str
    document_id: str | None = None
    chunk_ids: tuple[str, ...] = ()

    @property
    def resolved(self) -> bool:
        """Return True if the target is exactly one chunk, section or document with text."""
        return self.kind in RESOLVED


class _ChunkSpan(NamedTuple):
    chunk_id: str
    start: int  # offset in the document
    end: int


class _Document(NamedTuple):
    document_id: str
    path: str
    sections: Sequence[SectionStruct]
    chunks: Sequence[_ChunkSpan]


def mark_references(text: str) -> list[str]:
    """Return the references of all source marks in `text`, in order: two in [source: a.md; b.md]."""
    references: list[str] = []
    for mark in SOURCE_MARK.finditer(text):
        references += re.split(rf"[;|]\s*(?:{_SOURCE}\s*:)?", mark[1])
    return [reference.strip() for reference in references if reference.strip()]


def marked_numbers(text: str) -> list[int]:
    """Return the numbers of all citations in `text`, in order. [2-4] is three numbers. Code is ignored."""
    numbers: list[int] = []
    for mark in NUMBER_MARK.finditer(_CODE.sub(" ", text)):
        for dash, digits in re.findall(r"([–-]?)\s{0,9}[cC]?(\d{1,3})", mark[0]):
            if dash:  # "-4" in [2-4] adds 3 here, and 4 below
                numbers += range(numbers[-1] + 1, int(digits))
            numbers.append(int(digits))
    return numbers


def split_reference(reference: str) -> tuple[str, str | None]:
    """Split a reference into its path and section, without brackets and prefix, percent-decoded."""
    match = _PREFIX.match(reference)
    path, hash_sign, section = (match[1] if match else reference).partition("#")
    return unquote(path).strip(), (unquote(section).strip() or None) if hash_sign else None


@functools.lru_cache(maxsize=4096)
def normalise_path(path: str) -> str:
    """Fold common variants of a path: case, Unicode form, backslashes, `./` and leading slashes."""
    folded = unicodedata.normalize("NFC", path).casefold().replace("\\", "/")
    return "/".join(part for part in folded.split("/") if part not in ("", "."))


def is_same_path(reference: str, path: str) -> bool:
    """Return True if two paths are equal, except for leading folders or a suffix missing in either."""
    paths = [normalise_path(split_reference(name)[0]) for name in (reference, path)]
    short, long = sorted(paths, key=len)
    return bool(short) and short in (*_tails(long), *_tails(_without_suffix(long)))


def _normalise_address(address: str) -> str:
    """Fold variants of an address: http or https, case of scheme and host, Unicode form, last slash."""
    scheme, _, rest = unicodedata.normalize("NFC", unquote(address)).strip().partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme.lower().replace('https', 'http')}://{host.lower()}/{path}".rstrip("/")


class Sources:
    """The documents and chunks of a batch, looked up by reference."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._document_of_chunk: dict[str, str] = dict(chunks.select("chunk_id", "document_id").iter_rows())
        self._documents: dict[str, _Document] = {}
        self._by_path: dict[str, list[str]] = defaultdict(list)  # ids by tail: a/b/c.md, b/c.md, c.md
        self._by_stem: dict[str, list[str]] = defaultdict(list)  # ids by tail without suffix: a/b/c, b/c, c
        self._by_address: dict[str, list[str]] = defaultdict(list)
        chunks_by_document: dict[str, list[_ChunkSpan]] = defaultdict(list)
        columns = ("document_id", "chunk_id", "char_start", "char_end")
        for document_id, *span in chunks.sort("char_start", maintain_order=True).select(columns).iter_rows():
            chunks_by_document[document_id].append(_ChunkSpan(*span))
        parsed = documents.filter(pl.col("status") == "parsed")
        parsed_ids_by_hash = dict(parsed.select("content_sha256", "document_id").iter_rows())
        for row in typed_rows(documents, DocumentRow):
            document_id, path = row["document_id"], normalise_path(row["path"])
            if row["status"] == "duplicate":  # its path and address lead to the parsed file of equal content
                document_id = parsed_ids_by_hash.get(row["content_sha256"] or "", document_id)
            else:  # also a file that could not be parsed
                self._documents[document_id] = _Document(
                    document_id, path, row["sections"], chunks_by_document[document_id]
                )
            if row["source_uri"]:
                self._by_address[_normalise_address(row["source_uri"].partition("#")[0])].append(document_id)
            for tail in _tails(path):
                self._by_path[tail].append(document_id)
                self._by_stem[_without_suffix(tail)].append(document_id)

    def resolve(self, reference: str) -> Resolution:
        """Find the target of a reference.

        Chunk ids and document ids are tried first. Then paths are compared (leading folders may be missing),
        then paths without file suffix, and finally paths without extra leading folders. Different folders
        never match. An address must equal the source_uri of a document.
        """
        path, section = split_reference(reference)
        if path in self._document_of_chunk:
            return self.chunk(path)
        if path in self._documents:
            return self._resolve_section(self._documents[path], section)
        if _ADDRESS.match(path):
            matches = self._existing(self._by_address.get(_normalise_address(path), ()))
        else:
            matches = self._by_any_path(normalise_path(path))
        if len(matches) != 1:
            return Resolution("ambiguous" if matches else "unknown_document")
        return self._resolve_section(self._documents[matches[0]], section)

    def chunk(self, chunk_id: str) -> Resolution:
        """Resolve a chunk id."""
        document_id = self._document_of_chunk.get(chunk_id)
        if document_id is None:
            return Resolution("unknown_document")
        return Resolution("chunk", document_id, (chunk_id,))

    def _existing(self, document_ids: Iterable[str]) -> list[str]:
        """Return the distinct ids of known documents. A duplicate without its original is unknown."""
        return [name for name in dict.fromkeys(document_ids) if name in self._documents]

    def _by_any_path(self, path: str) -> list[str]:
        """Return the documents of a normalised path; leading folders may be missing or too many."""
        if not path:
            return []
        for ids_by_tail in (self._by_path, self._by_stem):  # `path` is a tail of a document's path
            document_ids = self._existing(ids_by_tail.get(path, ()))
            if document_ids:
                return self._with_path(path, document_ids) or document_ids  # a complete path is preferred
        for tail in _tails(path)[1:]:  # or a document's path is a tail of `path`
            document_ids = self._with_path(tail, self._documents)
            if document_ids:
                return document_ids
        return []

    def _with_path(self, path: str, document_ids: Iterable[str]) -> list[str]:
        """Return the documents whose complete path is `path`, with or without its suffix."""
        paths = {name: self._documents[name].path for name in document_ids}
        return [name for name, full in paths.items() if path in (full, _without_suffix(full))]

    def _resolve_section(self, document: _Document, section: str | None) -> Resolution:
        """Narrow a document to the chunks of a section and its subsections, if it has that section."""
        if not document.chunks:
            return Resolution("no_text", document.document_id)
        all_ids = tuple(chunk.chunk_id for chunk in document.chunks)
        if section is None:
            return Resolution("document", document.document_id, all_ids)
        named_paths = _matching_sections((part["heading_path"] for part in document.sections), section)
        matching = [
            part
            for part in document.sections
            if any(part["heading_path"][: len(path)] == path for path in named_paths)  # or a subsection
        ]
        # a chunk may contain several small sections, so an overlap is enough
        section_ids = tuple(
            chunk.chunk_id
            for chunk in document.chunks
            if any(chunk.start < part["end"] and part["start"] < chunk.end for part in matching)
        )
        kind = "section" if section_ids else "section_not_found"
        return Resolution(kind, document.document_id, section_ids or all_ids)


def _tails(path: str) -> list[str]:
    """Return the tails of a path, such as `a/b/c`, `b/c` and `c`, longest first."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _without_suffix(path: str) -> str:
    """Return a path without the suffix of its file, such as `a/b` for `a/b.md`."""
    return re.sub(r"(?<=[^/])\.[a-z0-9]{1,8}$", "", path)


def _matching_sections(paths: Iterable[list[str]], section: str) -> list[list[str]]:
    """Return the heading paths that a section reference names.

    Numbered anchors of code hosts come first: `usage-1` is the second "Usage". Then the last heading or the
    whole path is compared by letters and digits only. All equal headings count.
    """
    headed = [path for path in paths if path]
    section_slug = _slug(section)
    earlier = Counter[str]()  # number of earlier headings by slug
    for path in headed:
        slug = _slug(path[-1])
        if earlier[slug] and f"{slug}-{earlier[slug]}" == section_slug:  # `usage-1`
            return [path]
        earlier[slug] += 1
    forms = _letter_forms(section) - {""}  # a section of signs alone matches nothing
    return [path for path in headed if forms & (_letter_forms(path[-1]) | _letter_forms("".join(path)))]


def _slug(heading: str) -> str:
    """Return the anchor of a heading as code hosts build it: lower case, hyphens for spaces."""
    letters = re.sub(r"[^\w\- ]", "", unicodedata.normalize("NFC", heading).strip().casefold())
    return letters.replace(" ", "-")


def _letter_forms(text: str) -> set[str]:
    """Return the letters and digits in three forms: as written, without accents, with umlauts spelt out."""
    folded = unicodedata.normalize("NFC", text).casefold()
    spelt = folded.translate({ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue", ord("å"): "aa"})
    plain = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    return {re.sub(r"[\W_]", "", form) for form in (folded, spelt, plain)}


def without_marks(answer: str) -> str:
    """Replace citation marks by spaces, so that all offsets are preserved."""
    for pattern in (SOURCE_MARK, NUMBER_MARK):
        answer = pattern.sub(lambda mark: " " * len(mark[0]), answer)
    return answer


_DROPPED = frozenset("*_`#|>\u00ad\u200b\u200c\u200d\u2060\ufeff")  # markup and invisible characters
_HYPHENATED = re.compile(r"[-\u2010]\n\s*(?=[^\W\d_A-ZÅÄÖÜ])")  # the hyphen in "docu-\nment"
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")  # "5" is not a quote of "1.5"
_NUMBER_AFTER = re.compile(r"[.,]?\d")


@dataclass(frozen=True, slots=True)
class Located:
    """The span of a quote, and the kind of match."""

    start: int
    end: int
    kind: str  # "exact" (except for runs of white space) or "spelling" (same words, differently written)


def locate_quote(quote: str, text: str) -> Located | None:
    """Find a quote in a text, without cutting a number in two.

    Two matches are tried in order. The first is verbatim, with runs of white space as one space. The second
    also folds case, quotation marks, dashes, markup and hyphens at line ends.
    """
    for kind, folds_spelling in (("exact", False), ("spelling", True)):
        folded_text, offsets = _fold_with_offsets(text, folds_spelling)
        folded_quote = _fold_with_offsets(quote, folds_spelling)[0].strip()
        start = _find(folded_quote, folded_text) if folded_quote else -1
        if start >= 0:
            return Located(offsets[start], offsets[start + len(folded_quote) - 1] + 1, kind)
    return None


@functools.lru_cache(maxsize=1024)
def _fold_with_offsets(text: str, folds_spelling: bool) -> tuple[str, list[int]]:
    r"""Fold white space to single spaces, and return the original offset of each character that remains.

    With `folds_spelling`, "**Docu-\nment**" becomes "document", with the offsets 2 to 5 and 8 to 11.
    """
    folded: list[str] = []
    offsets: list[int] = []
    # end of each hyphen with its line break, by its start
    hyphens = {match.start(): match.end() for match in _HYPHENATED.finditer(text)} if folds_spelling else {}
    skipped_to = 0
    for offset, character in enumerate(text):
        if offset < skipped_to:
            continue
        if offset in hyphens and folded and folded[-1].isalpha():
            skipped_to = hyphens[offset]
        elif character.isspace():
            if folded and folded[-1] != " ":
                folded.append(" ")
                offsets.append(offset)
        elif not folds_spelling or character not in _DROPPED:
            letters = character
            if folds_spelling:
                letters = fold_signs(fold_marks(character)).casefold()  # may be several letters, as for ß
            folded += letters
            offsets += [offset] * len(letters)
    return "".join(folded), offsets


def _find(quote: str, text: str) -> int:
    """Return the offset of the first occurrence that does not cut a number in two, or -1."""
    start = text.find(quote)
    while start >= 0:
        cuts_before = quote[0].isdigit() and _NUMBER_BEFORE.search(text, max(0, start - 2), start)
        cuts_after = quote[-1].isdigit() and _NUMBER_AFTER.match(text, start + len(quote))
        if not cuts_before and not cuts_after:
            break
        start = text.find(quote, start + 1)
    return start
