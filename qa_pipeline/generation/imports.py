"""Existing pairs: a JSONL or Parquet file becomes rows of the pairs table.

What belongs here: reading the file, limits, language, coverage and citations of imported pairs. What does
not: checking that an answer is true. A line that cannot be used is a failed row; the others go on.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.errors import PairsFileError
from qa_pipeline.generation.pair_lines import Row, read_line, read_values
from qa_pipeline.prompting import LANGUAGES
from qa_pipeline.refusal_texts import is_refusal
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.sources import FOUND_BY_SEARCH, Resolution, Sources, mark_references
from qa_pipeline.tables import PAIRS

RAW_CITATION = pl.Struct(
    {
        "raw": pl.String(),
        "reference": pl.String(),
        "quote": pl.String(),
        "passage": pl.String(),
        "number": pl.Int32(),
    }
)
RAW_PAIRS = pl.Schema(
    {
        "file": pl.String(),
        "line": pl.Int64(),
        "sha256": pl.String(),
        "id": pl.String(),
        "fields": pl.String(),
        "question": pl.String(),
        "answer": pl.String(),
        "citations": pl.List(RAW_CITATION),
        "language": pl.String(),
        "coverage": pl.String(),
        "expected_verdict": pl.String(),
        "expected_kind": pl.String(),
        "status": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
    }
)
LIMITS = PairsFileSettings()


def read_pairs(path: Path, limits: PairsFileSettings = LIMITS) -> pl.DataFrame:
    """Read a pairs file, one row for each line or Parquet row, usable or not.

    Raises:
        PairsFileError: the file as a whole cannot be read.
    """
    try:
        if path.stat().st_size > limits.max_bytes:
            raise PairsFileError(
                f"{path.name}: larger than {limits.max_bytes} bytes; split it, or raise pairs_file.max_bytes"
            )
        content = path.read_bytes()
    except OSError as error:
        raise PairsFileError(
            f"{path.name} cannot be read: {error.strerror}; check path and rights"
        ) from error
    return parse_pairs(content, path.name, limits)


def parse_pairs(content: bytes, name: str, limits: PairsFileSettings = LIMITS) -> pl.DataFrame:
    """Parse the bytes of a pairs file; `name` tells the format and appears in messages."""
    suffix = Path(name).suffix.lower()
    if suffix == ".parquet":
        rows = _parquet_rows(content, name, limits)
    elif suffix in (".jsonl", ".ndjson"):
        rows = _jsonl_rows(content, name, limits)
    else:
        raise PairsFileError(f"{name}: unknown format; pairs come as .jsonl or .parquet")
    return pl.DataFrame([{"file": name, **row} for row in rows], schema=RAW_PAIRS)


def _jsonl_rows(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Row]:
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        raise PairsFileError(f"{name} is not UTF-8 (line {place}); save it as UTF-8") from error
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if sum(1 for line in lines if line.strip()) > limits.max_pairs:
        raise _too_many(name, limits)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        identity = {"line": number, "sha256": hashlib.sha256(line.strip()).hexdigest()}
        if len(line) > limits.max_line_bytes:
            detail = f"line of {len(line)} bytes, at most {limits.max_line_bytes} are read"
            yield {**identity, "status": "failed", "reason": "line_too_long", "detail": detail}
        else:
            yield {**identity, **read_line(line)}


def _parquet_rows(content: bytes, name: str, limits: PairsFileSettings) -> Iterator[Row]:
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise PairsFileError(f"{name} is not a Parquet file that can be read; write it again") from error
    missing = [column for column in ("question", "answer") if column not in frame.columns]
    if missing:
        raise PairsFileError(f"{name} has no column {' and '.join(missing)}; rename or add it")
    if frame.height > limits.max_pairs:
        raise _too_many(name, limits)
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        digest = hashlib.sha256(repr(sorted(row.items())).encode("utf-8", "surrogatepass")).hexdigest()
        read = read_values(row)
        if len((read.get("fields") or "").encode()) > limits.max_line_bytes:
            detail = f"further columns of more than {limits.max_line_bytes} bytes; leave them out"
            read = {"status": "failed", "reason": "line_too_long", "detail": detail}
        yield {"line": number, "sha256": digest, **read}


def _too_many(name: str, limits: PairsFileSettings) -> PairsFileError:
    return PairsFileError(
        f"{name} holds more than {limits.max_pairs} pairs; split it, or raise pairs_file.max_pairs"
    )


def import_pairs(
    raw: pl.DataFrame, documents: pl.DataFrame, chunks: pl.DataFrame, batch: str
) -> pl.DataFrame:
    """Resolve the citations of raw pairs and give each pair its row; failed lines keep theirs.

    A pair may cite in its `citations` field and inside its answer; the same reference counts once.
    """
    sources = Sources(documents, chunks)
    texts = _Texts(documents, chunks)
    languages = dict(documents.select("document_id", "language").iter_rows())
    seen: dict[str, int] = {}
    rows = []
    for line in raw.iter_rows(named=True):
        row = _pair(line, sources, texts, languages) if line["status"] == "drafted" else _broken(line)
        identity = _identity(batch, line)
        ordinal = seen[identity] = seen.get(identity, -1) + 1
        rows.append({**row, "batch": batch, "pair_id": _hash(identity, str(ordinal) if ordinal else "")})
    return PAIRS.frame(rows)


def _broken(line: Row) -> Row:
    return {
        **_base(line),
        "language": "en",
        "passage_ids": [],
        "used_chunk_ids": [],
        "citations": [],
        "status": "failed",
        "reason": line["reason"],
        "detail": f"{line['file']} line {line['line']}: {line['detail']}",
    }


def _base(line: Row) -> Row:
    kept = ("question", "answer", "expected_verdict", "expected_kind")
    return {
        **{name: line[name] for name in kept},
        "question_type": "imported",
        "origin": "imported",
        "generator": line["file"],
        "source_line": line["line"],
        "source_id": line["id"],
        "source_fields": line["fields"],
    }


def _pair(line: Row, sources: Sources, texts: "_Texts", languages: dict[str, str | None]) -> Row:
    given = line["citations"] or []
    inside = [{"raw": reference, "reference": reference} for reference in mark_references(line["answer"])]
    resolved = [(one, _resolve(one, sources, texts)) for one in _distinct([*given, *inside])]
    cited = list(dict.fromkeys(i for _, found in resolved for i in found.chunk_ids))
    owners = [found.document_id for _, found in resolved if found.document_id]
    language = line["language"] or next((languages[i] for i in owners if languages.get(i) in LANGUAGES), "en")
    refused = is_refusal(line["answer"], language or "en")
    uncited = {"reason": FOUND_BY_SEARCH, "detail": "it cites nothing: evidence is searched for in its batch"}
    return {
        **_base(line),
        **({} if resolved or refused else uncited),
        "language": language,
        "passage_ids": cited,
        "used_chunk_ids": cited,
        "citations": [_stored(one, found) for one, found in resolved],
        "coverage": line["coverage"] or ("none" if refused else "full"),
        "status": "drafted",
    }


def _distinct(citations: Iterable[Row]) -> list[Row]:
    """Citations in order, a reference that repeats without a quote of its own left out."""
    kept: list[Row] = []
    known: set[tuple[Any, ...]] = set()
    for one in citations:
        reference = (one["reference"] or "").casefold().replace("source:", "").strip("[] ")
        key = (reference, one.get("quote"), one.get("passage"), one.get("number"))
        bare = (reference, None, None, None)
        if key not in known and not (key == bare and any(entry[0] == reference for entry in known)):
            kept.append(one)
            known.add(key)
    return kept


def _resolve(citation: Row, sources: Sources, texts: "_Texts") -> Resolution:
    if citation["reference"]:
        return sources.resolve(citation["reference"])
    wanted = citation.get("passage") or citation.get("quote")
    if wanted is None:
        return Resolution("unknown_number" if citation.get("number") else "unknown_document")
    chunk_id, document_id = texts.holder(wanted)
    if chunk_id is not None:
        return sources.chunk(chunk_id)
    return Resolution("unknown_document") if document_id is None else sources.resolve(document_id)


class _Texts:
    """The chunks and documents of a batch, to find which one holds a passage: the first that does."""

    def __init__(self, documents: pl.DataFrame, chunks: pl.DataFrame) -> None:
        self._documents, self._chunks = documents, chunks

    @cached_property
    def _folded(self) -> tuple[dict[str, str], dict[str, str]]:
        parsed = self._documents.filter(pl.col("status") == "parsed")
        chunks = self._chunks.select("chunk_id", "text").iter_rows()
        texts = parsed.select("document_id", "text").iter_rows()
        return {i: _folded(text) for i, text in chunks}, {i: _folded(text) for i, text in texts}

    def holder(self, passage: str) -> tuple[str | None, str | None]:
        """The chunk, and where no chunk alone holds it the document."""
        wanted = _folded(passage)
        chunk_id, document_id = (
            next((i for i, text in held.items() if wanted in text), None) for held in self._folded
        )
        return chunk_id, document_id


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _stored(citation: Row, found: Resolution) -> Row:
    return {
        "raw": citation["raw"],
        "document_id": found.document_id,
        "chunk_id": found.chunk_ids[0] if len(found.chunk_ids) == 1 else None,
        "quote": citation.get("quote"),
        "number": citation.get("number"),
        "resolution": found.kind,
    }


def _identity(batch: str, line: Row) -> str:
    if line["status"] != "drafted":
        return _hash(batch, line["file"], line["sha256"])
    citations = [f"{one['raw']}\x1e{one['quote']}\x1e{one['passage']}" for one in line["citations"] or []]
    return _hash(batch, line["question"], line["answer"], *citations)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
