"""Define the schema of a stored table, and check frames against it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_type_hints

import polars as pl
import pyarrow as pa
from typing_extensions import TypedDict

from qa_pipeline.errors import TableError


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. In `nullable` columns, null means unknown and is never a default.

    `counted` columns contain codes, which the UI counts.
    """

    name: str
    dtype: pl.DataType
    description: str
    nullable: bool = False
    counted: bool = False


@dataclass(frozen=True)
class Table:
    """A stored table.

    Args:
        name: name of the table and its files.
        grain: description of a row.
        key: the columns that identify a row.
        columns: all columns in stored order.
        preview: the columns shown in the UI, few enough to fit its width.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    preview: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pl.Schema:
        """Return the column names and types in stored order."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def empty(self) -> pl.DataFrame:
        """Return an empty frame with the schema."""
        return pl.DataFrame(schema=self.schema)

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        """Build a frame from rows, with null for missing keys; raises a TableError for a wrong schema."""
        # unlike polars, Arrow accepts integers in lists of floats, and refuses texts as numbers
        arrow_schema = self.empty().to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        table = pa.Table.from_pylist(list(rows), schema=arrow_schema)
        return self.conform(pl.DataFrame(table, schema=self.schema))

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` in stored column order; raises a TableError that lists all problems."""
        if problems := self.problems(frame):
            raise TableError(f"table {self.name}: " + "; ".join(problems))
        return frame.select(column.name for column in self.columns)

    def problems(self, frame: pl.DataFrame) -> list[str]:
        """List all problems of `frame` with the schema; an empty list if it conforms."""
        expected, actual = self.schema, frame.schema
        # names in only one of the schemas, or with different types
        if differing := sorted(dict(expected.items() ^ actual.items())):
            return [
                f"column {name} is {actual.get(name, 'missing')}, expected {expected.get(name, 'none')}"
                for name in differing
            ]
        nulls = [
            f"column {column.name} has {count} nulls"
            for column in self.columns
            if not column.nullable and (count := frame[column.name].null_count())
        ]
        repeated = frame.height - frame.n_unique(subset=list(self.key)) if frame.height else 0
        return nulls + ([f"key {', '.join(self.key)} repeats in {repeated} rows"] if repeated else [])


Row = TypeVar("Row")


def typed_rows(frame: pl.DataFrame, row_type: type[Row]) -> Iterator[Row]:
    """Return the rows of a frame as dictionaries of a TypedDict, such as `DocumentRow`.

    Raises a TableError if a column is missing, or has nulls that the type does not allow.
    """
    types = get_type_hints(row_type)
    if missing := sorted(types.keys() - set(frame.columns)):
        raise TableError(f"rows for {row_type.__name__} lack the columns {', '.join(missing)}")
    required = [name for name, kind in types.items() if NoneType not in get_args(kind)]  # not `X | None`
    if empty := [name for name in required if frame[name].null_count()]:
        raise TableError(f"rows for {row_type.__name__} have nulls in {', '.join(empty)}")
    return cast("Iterator[Row]", frame.iter_rows(named=True))


class SectionStruct(TypedDict):
    """A section of a document."""

    heading_path: list[str]
    level: int
    start: int
    end: int


class PageStruct(TypedDict):
    """A page of a document."""

    number: int
    start: int
    end: int


class DoubtStruct(TypedDict):
    """A span of text that may have been read wrongly."""

    kind: str
    start: int
    end: int


class CitationStruct(TypedDict):
    """A citation of an answer."""

    raw: str | None
    document_id: str | None
    chunk_id: str | None
    quote: str | None
    number: int | None
    resolution: str | None


class QuoteStruct(TypedDict):
    """A quote that is cited for a claim."""

    given: str | None
    kind: str | None


class DocumentRow(TypedDict):
    """A row of documents."""

    document_id: str
    batch: str
    path: str
    source_uri: str | None
    content_sha256: str | None
    format: str | None
    text: str | None
    sections: list[SectionStruct]
    pages: list[PageStruct]
    declared: dict[str, Any] | None
    status: str


class _Question(TypedDict):
    question_id: str
    batch: str
    planned_type: str | None
    difficulty: str | None
    place: int | None
    rewritten_from: str | None
    target_chunk_ids: list[str]
    drafted_answer: str | None
    drafted_quotes: list[str] | None
    passage_ids: list[str]
    passage_scores: list[float] | None
    language: str
    status: str
    reason: str | None
    detail: str | None
    prompt_hash: str
    model: str


class QuestionRow(_Question):
    """A row of questions."""

    question: str | None
    question_type: str | None


class KeptQuestionRow(_Question):
    """A row of questions that has a question."""

    question: str
    question_type: str


class _Pair(TypedDict):
    pair_id: str
    batch: str
    question_id: str | None
    language: str
    question_type: str
    difficulty: str | None
    draft: int | None
    passage_ids: list[str]
    used_chunk_ids: list[str]
    citations: list[CitationStruct]
    coverage: str | None
    status: str
    reason: str | None
    detail: str | None
    generator: str
    prompt_hash: str | None
    expected_verdict: str | None
    passage_scores: list[float] | None
    guarded_by: str | None
    guard_similarity: float | None
    guard_passed: bool | None
    guard_confidence: float | None
    guard_reasoning: str | None
    hops: int | None
    origin: str


class PairRow(_Pair):
    """A row of pairs."""

    question: str | None
    answer: str | None


class DraftedPairRow(_Pair):
    """A row of pairs that has an answer."""

    question: str
    answer: str


class ClaimRow(TypedDict):
    """A row of claims."""

    claim_id: str
    pair_id: str
    batch: str
    text: str
    self_contained: str | None
    evidence_chunk_id: str | None
    fragment: bool | None
    candidate_chunk_ids: list[str] | None


class DecisionRow(TypedDict):
    """A row of decisions."""

    decision_id: str
    sequence: int
    pair_id: str
    claim_id: str | None
    content_sha256: str
    decision: str
    question: str | None
    answer: str | None
    evidence_quote: str | None
    evidence_document_id: str | None
    takes_back: str | None
    why: str | None
    who: str
    decided_at: str | None


# rows to write; missing columns become null
DocumentColumns = dict[str, Any]
PairColumns = dict[str, Any]
ClaimColumns = dict[str, Any]
AssessmentColumns = dict[str, Any]
RoundTripColumns = dict[str, Any]
DecisionColumns = dict[str, Any]
