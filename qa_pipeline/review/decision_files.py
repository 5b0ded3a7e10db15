"""Decisions as forms and files contain them: CSV or JSON lines."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.curation.ledger import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.row_files import Fault, Limits, open_rows, unit_of
from qa_pipeline.storage.tables import CHUNKS, CLAIMS, DOCUMENTS, PAIRS, VERDICTS

LIMITS = Limits(max_bytes=200_000_000, max_line_bytes=4_000_000)
"""A row contains an answer, its new text, and claims with their evidence."""
SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
TEMPLATE = (
    "batch", "pair_id", "claim_id", "content_sha256", "reason", "question", "answer", "evidence",
    "decision", "edited_answer", "edited_question", "evidence_quote", "who", "why", "decided_at",
)  # fmt: skip
"""Columns of the template. People fill in those after `evidence`."""
_REJECTIONS = (
    "no_evidence_found", "low_correctness", "wrong_citation", "one_sided", "low_completeness",
    "low_relevance", "unclear_question", "dangling_reference", "low_question_quality",
)  # fmt: skip
REJECTIONS: Mapping[str, str] = {code: in_words(code) for code in _REJECTIONS}
"""Reason codes on the keys 1 to 9, with their words."""
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "'")
"""Beginnings of cells that a spreadsheet reads as a formula, or hides."""


def clean_text(value: object) -> object:
    """Normalise a text; None if it is blank."""
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFC", value.replace("\r\n", "\n")).strip()
    text.encode()  # raises an error for half of a surrogate pair
    return text or None


def _one_line(value: object) -> object:
    if not isinstance(value, str):
        return value
    without_controls = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", value)
    return " ".join(without_controls.split())


def _utc(value: object) -> object:
    """Return a time in UTC; a time without a zone is UTC."""
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


# the last validator of a type runs first
_Id = Annotated[str | None, Field(max_length=200), BeforeValidator(clean_text)]
_Text = Annotated[str | None, Field(max_length=100_000), BeforeValidator(clean_text)]
_Line = Annotated[
    str | None, Field(max_length=2_000), BeforeValidator(_one_line), BeforeValidator(clean_text)
]


class DecisionLine(BaseModel):
    """A decision of a form or file; `question` and `answer` must equal those of the pair."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    batch: _Id = None
    pair_id: _Id = None
    claim_id: _Id = None
    content_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$"), BeforeValidator(clean_text)]
    decision: Annotated[
        Literal["accepted", "rejected", "edited", "reopened"],
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
        BeforeValidator(clean_text),
    ]
    question: Annotated[str | None, BeforeValidator(clean_text)] = None
    answer: Annotated[str | None, BeforeValidator(clean_text)] = None
    edited_answer: _Text = None
    edited_question: _Text = None
    evidence_quote: _Text = None
    evidence_document_id: _Id = None
    who: Annotated[str, Field(max_length=200), BeforeValidator(_one_line), BeforeValidator(clean_text)]
    why: _Line = None
    decided_at: Annotated[str | None, BeforeValidator(_utc), BeforeValidator(clean_text)] = None


_ADVICE = {
    "decision": "the decision must be accepted, rejected, edited or reopened",
    "who": "the column who must have a name of 1 to 200 characters",
    "content_sha256": "content_sha256 must have 64 hexadecimal digits; copy it from the template",
    "decided_at": "decided_at must be a date and time such as 2026-03-01T14:00:00+01:00",
}


def decision_line(row: Mapping[str, Any]) -> DecisionLine:
    """Return the decision of a form or a row, or raise InputError with the first invalid field."""
    try:
        return DecisionLine.model_validate({name: value for name, value in row.items() if value is not None})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(problem["loc"][0])
        raise InputError(_ADVICE.get(field, f"{field}: {problem['msg']}")) from error


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Decisions and problems of a file by number, and the number of lines without a decision.

    Numbers count a `unit`: rows of a spreadsheet, whose header is row 1, or lines.
    """

    lines: dict[int, DecisionLine]
    problems: dict[int, str]
    blank: int = 0
    unit: str = "line"


def read_decision_file(path: Path) -> ReadFile:
    """Read a file of decisions. Lines without a decision are only counted."""
    file = open_rows(path, LIMITS, SUFFIXES, known_columns=TEMPLATE)
    unit = unit_of(path.name)
    is_spreadsheet = unit == "row"
    needed = ("batch", "pair_id", "content_sha256", "decision", "who")
    missing = [name for name in needed if is_spreadsheet and name not in file.columns]
    if missing:
        raise InputError(f"{path} has no column {', '.join(missing)}; create a file with --template")
    lines, problems, blank = {}, {}, 0
    for row in file.rows:
        values = row.value  # a dictionary by column, a Fault, or JSON that is no object
        if not isinstance(values, dict):
            problems[row.number] = values.detail if isinstance(values, Fault) else "expected a JSON object"
            continue
        if is_spreadsheet:
            values = {name: _as_written(cell or "") for name, cell in values.items()}
        if clean_text(values.get("decision")) is None:
            blank += 1
            continue
        try:
            lines[row.number] = decision_line(values)
        except InputError as error:
            problems[row.number] = about_pair(values, str(error))
    return ReadFile(lines, problems, blank, unit)


def about_pair(pair: Mapping[str, Any], text: str) -> str:
    """Return a problem in one line, with its pair and question."""
    pair_id, question = (_one_line(pair.get(name)) for name in ("pair_id", "question"))
    names = [f"pair {str(pair_id)[:40]}"] if pair_id else []
    names += [f'"{str(question)[:80]}"'] if question else []
    return f"{', '.join(names)}: {text}" if names else text


def template_bytes(rows: Sequence[Mapping[str, Any]], suffix: str) -> bytes:
    """Return a file with empty columns for decisions: JSON lines, or CSV without formulas."""
    if suffix == ".jsonl":
        lines = (json.dumps({name: row.get(name) for name in TEMPLATE}, ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(TEMPLATE)
    for row in rows:
        cells = [row.get(name) or "" for name in TEMPLATE]
        # an apostrophe makes a spreadsheet show the cell as text
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA_SIGNS) else cell for cell in cells])
    return buffer.getvalue().encode("utf-8-sig")


def _as_written(cell: str) -> str:
    """Return a cell without the apostrophe that the template put in front."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA_SIGNS) else cell


def template_rows(
    layout: Layout, batches: Sequence[str], wanted_verdicts: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the pairs of batches with these verdicts as rows of the template."""
    columns = ("batch", "pair_id", "question", "answer", "evidence")
    for batch in batches:
        if not layout.table(VERDICTS.name, batch).is_file():
            raise InputError(f"batch {batch!r} has no verdicts in {layout.out}")
        pairs, claims, verdicts, documents, chunks = (
            read_table(layout.table(table.name, batch), table)
            for table in (PAIRS, CLAIMS, VERDICTS, DOCUMENTS, CHUNKS)
        )
        # known-answer pairs take no decisions
        is_selected = pl.col("verdict").is_in(wanted_verdicts) & pl.col("expected_verdict").is_null()
        # named apart, since pairs have a reason of their own
        reasons = verdicts.filter(is_selected).select("pair_id", verdict_reason="reason")
        pairs, claims = (frame.join(reasons, on="pair_id", how="semi") for frame in (pairs, claims))
        hashes = content_hashes(pairs, claims)  # by pair
        evidence = _evidence_texts(claims, chunks, documents)
        rows = pairs.join(evidence, on="pair_id", how="left", maintain_order="left")
        for row in rows.join(reasons, on="pair_id", maintain_order="left").iter_rows(named=True):
            texts = {name: row[name] for name in columns}
            yield texts | {"content_sha256": hashes[row["pair_id"]], "reason": row["verdict_reason"]}


def _evidence_texts(claims: pl.DataFrame, chunks: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the claims of each pair as lines: `1. CLAIM: “QUOTE” (PATH, SECTION, page 3)`."""
    sources = chunks.join(documents.select("document_id", "path"), on="document_id").select(
        evidence_chunk_id="chunk_id",
        source=pl.concat_str("path", pl.lit(", "), pl.col("section_path").list.join(" > ")),
    )
    ordered = claims.sort("position").join(sources, on="evidence_chunk_id", how="left", maintain_order="left")
    number = pl.int_range(1, pl.len() + 1).over("pair_id")
    page = pl.format(", page {}", "evidence_page").fill_null("")  # a format without pages
    quote = pl.format("“{}” ({}{})", "evidence_quote", "source", page).fill_null("none")
    lines = ordered.select("pair_id", line=pl.format("{}. {}: {}", number, "text", quote))
    return lines.group_by("pair_id").agg(evidence=pl.col("line").str.join("\n"))


def why_in_words(why: str | None) -> str | None:
    """Return a reason with the words of its code; see `coded_reason` for its form."""
    code, colon, note = (why or "").partition(": ")
    return f"{REJECTIONS[code]}{colon}{note}" if code in REJECTIONS else why


def coded_reason(code: str, note: str) -> str:
    """Return a reason of a code and a note, as decisions store it."""
    if code not in REJECTIONS:
        raise InputError(f"{code[:40]!r} is not a reason for rejection; choose from {', '.join(REJECTIONS)}")
    return f"{code}: {note}" if note else code
