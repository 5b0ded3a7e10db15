"""Labelled files, Parquet or JSONL: read within limits, each row used or counted with a reason.

Every command that reads labelled data reads it here; a `Shape` is what the rows of a kind of file must hold.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.settings.generation import PairsFileSettings

Row = dict[str, Any]
SUFFIXES = (".parquet", ".jsonl", ".ndjson")
LEFT_OUT = pl.Schema(
    {
        "file": pl.String(),
        "reason": pl.String(),
        "rows": pl.Int64(),
        "first_row": pl.Int64(),
        "detail": pl.String(),
    }
)
"""One row for each file and reason: how many rows are left out, and the first of them, from 1."""
LIMITS = PairsFileSettings()
_MOST_UNPACKED = 4
"""Times `max_bytes` that a Parquet file may hold unpacked."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is left out, with a sentence about it.

    Reasons: `broken_line`, `line_too_long`, `broken_text`, `missing_field`, `empty_field`, `wrong_type`,
    `bad_label`, `span_outside_answer` and `duplicate_id`.
    """

    reason: str
    detail: str


@dataclass(frozen=True)
class Shape:
    """What the rows of a kind of file hold.

    Args:
        needed: columns without which no row can be used, and what each should hold.
        optional: columns that are read where they are.
        types: of columns that hold no texts: whether a Parquet type fits, and what it should be.
        check: from the values of a row to a row of `schema` without its file, or what is wrong with it.
        schema: of the rows that can be used; it has the columns file and id.
    """

    needed: Mapping[str, str]
    optional: tuple[str, ...]
    types: Mapping[str, tuple[Callable[[pl.DataType], bool], str]]
    check: Callable[[Row], Row | Fault]
    schema: pl.Schema


@dataclass(frozen=True)
class Labelled:
    """Rows in the order of files, and what is left out of them (`LEFT_OUT`)."""

    items: pl.DataFrame
    left_out: pl.DataFrame


def labelled_files(places: Sequence[Path]) -> list[Path]:
    """The files named, and those of the folders named, by name.

    Raises:
        InputError: there is no such place, or a folder without labelled files.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = sorted(path for path in place.iterdir() if path.suffix.lower() in SUFFIXES)
            if not inside:
                raise InputError(f"{place} holds no .parquet or .jsonl file; name a folder of labelled files")
            found += inside
        elif place.is_file():
            found.append(place)
        else:
            raise InputError(f"{place} does not exist; name a file or folder of labelled items")
    return list(dict.fromkeys(found))


def read_file(path: Path, shape: Shape, limits: PairsFileSettings = LIMITS) -> Labelled:
    """Read one file.

    Raises:
        InputError: it cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    check_size(path, limits)
    if path.suffix.lower() == ".parquet":
        frame = _read_parquet(path, shape, limits)
        return _gathered(path, (shape.check(row) for row in frame.iter_rows(named=True)), shape.schema)
    return _gathered(path, _json_rows(path, shape, limits), shape.schema)


def column_names(path: Path, limits: PairsFileSettings = LIMITS) -> list[str]:
    """Columns of a Parquet file, or the fields of the first line of a JSONL file that is an object.

    Raises:
        InputError: the file cannot be read.
    """
    check_size(path, limits)
    if path.suffix.lower() == ".parquet":
        try:
            return list(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise _unreadable(path) from error
    values = (_decoded(line) for line in _lines(path, limits) if len(line) <= limits.max_line_bytes)
    return next((list(value) for value in values if isinstance(value, dict)), [])


def check_size(path: Path, limits: PairsFileSettings) -> None:
    """Refuse a file of no known format, or one that is too large.

    Raises:
        InputError: see above.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: unknown format; labelled items come as .parquet or .jsonl")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check path and rights") from error
    if size > limits.max_bytes:
        raise InputError(
            f"{path}: larger than {limits.max_bytes} bytes; split it, or raise pairs_file.max_bytes"
        )


def _read_parquet(path: Path, shape: Shape, limits: PairsFileSettings) -> pl.DataFrame:
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        facts = pq.read_metadata(path)
        unpacked = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        _check_amount(path, facts.num_rows, unpacked, limits)
        types = pl.read_parquet_schema(path)
        _check_types(path, types, shape)
        return pl.read_parquet(
            path, columns=[one for one in (*shape.needed, *shape.optional) if one in types]
        )
    except (ArrowException, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> InputError:
    return InputError(f"{path} is not a Parquet file that can be read; write it again")


def _check_amount(path: Path, rows: int, unpacked: int, limits: PairsFileSettings) -> None:
    if not rows:
        raise InputError(f"{path} holds no row; name a file of labelled items")
    if rows > limits.max_pairs:
        raise InputError(
            f"{path} holds more than {limits.max_pairs} rows; split it, or raise pairs_file.max_pairs"
        )
    if unpacked > _MOST_UNPACKED * limits.max_bytes:
        raise InputError(
            f"{path} unpacks to {unpacked} bytes; split it, or raise pairs_file.max_bytes to a quarter of it"
        )


def _check_types(path: Path, types: Mapping[str, pl.DataType], shape: Shape) -> None:
    """A column that is missing or of another type is a mistake of the whole file, reported before rows."""
    for name, holds in shape.needed.items():
        if name not in types:
            raise InputError(f"{path} has no column {name}; add it: {holds}")
    for name in (*shape.needed, *shape.optional):
        if name not in types or (name in shape.optional and types[name] == pl.Null()):
            continue
        fits, wanted = shape.types.get(name, (_is_text, "texts"))
        if not fits(types[name]):
            raise InputError(f"{path}, column {name}: holds {types[name]} and should hold {wanted}")


def _is_text(dtype: pl.DataType) -> bool:
    return dtype == pl.String()


def _lines(path: Path, limits: PairsFileSettings) -> list[bytes]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check path and rights") from error
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    _check_amount(path, len(lines), len(content), limits)
    return lines


def _json_rows(path: Path, shape: Shape, limits: PairsFileSettings) -> Iterator[Row | Fault]:
    for line in _lines(path, limits):
        if len(line) > limits.max_line_bytes:
            detail = (
                f"{len(line)} bytes, at most {limits.max_line_bytes} are read (pairs_file.max_line_bytes)"
            )
            yield Fault("line_too_long", detail)
        else:
            yield read_line(line, shape)


def read_line(line: bytes, shape: Shape) -> Row | Fault:
    """Decode and check one JSON line."""
    value = _decoded(line)
    if isinstance(value, Fault):
        return value
    if not isinstance(value, dict):
        return Fault("broken_line", f"expected an object, found {type(value).__name__}")
    return shape.check(value)


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Fault("broken_line", f"not JSON: {error}")


def _gathered(path: Path, rows: Iterable[Row | Fault], schema: pl.Schema) -> Labelled:
    """Sort rows into those that can be used and faults; of rows with one id the first counts."""
    items: dict[str, Row] = {}
    counts: Counter[str] = Counter()
    first: dict[str, tuple[int, str]] = {}
    for number, checked_row in enumerate(rows, start=1):
        row = checked_row
        if not isinstance(row, Fault):
            row = {"file": path.name, "id": str(number - 1), **row}  # rows of premises have no id
            if row["id"] in items:
                row = Fault("duplicate_id", f"id {row['id']!r} is in an earlier row")
        if isinstance(row, Fault):
            counts[row.reason] += 1
            first.setdefault(row.reason, (number, row.detail))
        else:
            items[row["id"]] = row
    if not items:
        number, detail = next(iter(first.values()))
        raise InputError(f"{path} holds no row that can be used; row {number}: {detail}")
    left_out = [
        {"file": path.name, "reason": reason, "rows": counts[reason], "first_row": number, "detail": detail}
        for reason, (number, detail) in first.items()
    ]
    used = pl.DataFrame(list(items.values()), schema=schema)
    named = used.with_columns(pl.col("dataset").fill_null(path.stem))
    return Labelled(named, pl.DataFrame(left_out, schema=LEFT_OUT))


ITEMS = pl.Schema(
    {
        "file": pl.String(),
        "id": pl.String(),
        "dataset": pl.String(),
        "task": pl.String(),
        "language": pl.String(),
        "question": pl.String(),
        "context": pl.List(pl.String()),
        "answer": pl.String(),
        "label": pl.Int8(),
        "spans": pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()})),
        "group_id": pl.String(),
    }
)
"""One row for each item that can be used. `label` is 1 where the context supports the answer, else 0."""

NEEDED = {
    "id": "a text that no other row of the file has",
    "language": "en, sv, de or another language code",
    "context": "a list of texts: the passages the answer should rest on",
    "answer": "the text to check",
    "label": "1 where the context supports the answer, 0 where it does not",
    "group_id": "a text that items of the same source share",
}
"""Columns without which no item can be used, and what each should hold."""

OPTIONAL = ("dataset", "task", "question", "spans")
"""Columns that are read where they are; without `dataset` a file is a data set, named like it."""


def _not_empty(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is empty")
    return value


def _number(value: object) -> object:
    """0.0 and 1.0 are labels, as frames with gaps write them; true and false are none."""
    return int(value) if isinstance(value, float) and value in (0.0, 1.0) else value


Text = Annotated[str, Field(min_length=1), BeforeValidator(_not_empty)]


class StrictRow(BaseModel):
    """The fields of a row that are read; nothing is converted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Span(StrictRow):
    start: int
    end: int


class _Item(StrictRow):
    id: Text
    dataset: Text | None = None
    task: str | None = None
    language: Text
    question: str | None = None
    context: list[str]
    answer: Text
    label: Annotated[int, Field(ge=0, le=1), BeforeValidator(_number)]
    spans: list[_Span] | None = None
    group_id: Text


def check_item(values: Row) -> Row | Fault:
    """Check the values of one row; further fields are ignored."""
    row = checked(_Item, values, NEEDED, OPTIONAL)
    if isinstance(row, Fault):
        return row
    length, spans = len(row["answer"]), row["spans"] or []
    outside = [one for one in spans if not 0 <= one["start"] < one["end"] <= length]
    if outside:
        start, end = outside[0]["start"], outside[0]["end"]
        return Fault("span_outside_answer", f"span {start} to {end} of an answer of {length} letters")
    return {**row, "spans": spans}


def checked(
    model: type[StrictRow], values: Row, needed: Mapping[str, str], optional: Sequence[str] = ()
) -> Row | Fault:
    """The values of one row by a model, or its first problem as a reason code and a sentence."""
    given = {name: values[name] for name in (*needed, *optional) if values.get(name) is not None}
    try:
        return model.model_validate(given).model_dump()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(problem["loc"][0])
    wanted = f"; it should hold {needed[field]}" if field in needed else ""
    if problem["type"] == "missing":
        return Fault("missing_field", f"{field} is missing{wanted}")
    if problem["type"] == "string_unicode":
        return Fault("broken_text", f"{field} contains half a character (a lone surrogate)")
    if field == "label":
        return Fault("bad_label", f"label should hold {needed['label']}")
    if field in needed and problem["type"] in ("value_error", "string_too_short"):
        return Fault("empty_field", f"{field} is empty{wanted}")
    return Fault("wrong_type", f"{field}: {problem['msg']}{wanted}")


def _is_list_of_texts(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List) and dtype.inner == pl.String()


def is_number(dtype: pl.DataType) -> bool:
    """Whether a column holds whole numbers or floats."""
    return dtype.is_integer() or dtype.is_float()


def _whole(dtype: object) -> bool:
    return isinstance(dtype, pl.DataType) and dtype.is_integer()


def _is_spans(dtype: pl.DataType) -> bool:
    if not isinstance(dtype, pl.List):
        return False
    if not isinstance(dtype.inner, pl.Struct):
        return isinstance(dtype.inner, pl.Null)
    whole = {field.name for field in dtype.inner.fields if _whole(field.dtype)}
    return {"start", "end"} <= whole


ITEM = Shape(
    needed=NEEDED,
    optional=OPTIONAL,
    types={
        "context": (_is_list_of_texts, "a list of texts"),
        "label": (is_number, "whole numbers, 0 or 1"),
        "spans": (_is_spans, "a list of {start, end}"),
    },
    check=check_item,
    schema=ITEMS,
)
"""A labelled item of grounding."""

_PREMISES = {
    "premise": "the text that the hypothesis should follow from",
    "hypothesis": "the text to check",
    "language": NEEDED["language"],
    "label": "1 where the premise entails the hypothesis, 0 where it does not",
}


class _Premise(StrictRow):
    premise: Text
    hypothesis: Text
    language: Text
    label: Annotated[int, Field(ge=0, le=1), BeforeValidator(_number)]


def check_premise(values: Row) -> Row | Fault:
    """Check one row of a premise and a hypothesis: the premise is context and group."""
    row = checked(_Premise, values, _PREMISES)
    if isinstance(row, Fault):
        return row
    return {
        "language": row["language"],
        "context": [row["premise"]],
        "answer": row["hypothesis"],
        "label": row["label"],
        "spans": [],
        "group_id": row["premise"],
    }


PREMISE = Shape(
    needed=_PREMISES,
    optional=(),
    types={"label": ITEM.types["label"]},
    check=check_premise,
    schema=ITEMS,
)
"""A premise and a hypothesis, read as an item of grounding whose id is its place in the file, from 0."""


def read_labelled(places: Sequence[Path], limits: PairsFileSettings = LIMITS) -> Labelled:
    """Read labelled files, or the Parquet and JSONL files of folders.

    Args:
        places: files and folders.
        limits: bytes and rows of a file, bytes of a line.

    Raises:
        InputError: a file cannot be read as a whole, lacks a column or holds no item that can be used.
    """
    read = [read_file(path, ITEM, limits) for path in labelled_files(places)]
    return Labelled(
        pl.concat([one.items for one in read]),
        pl.concat([one.left_out for one in read]),
    )


def draw(items: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    """At most `limit` items of each data set, spread over as many groups as there are.

    Groups stand in the order of a hash, and each gives one item before any gives two. The draw depends on
    ids alone, and a smaller one is part of a larger one.
    """
    if limit is None:
        return items
    places = {one: _place(one) for name in ("group_id", "id") for one in items[name].unique().to_list()}
    placed = items.with_columns(
        group_place=pl.col("group_id").replace_strict(places, return_dtype=pl.String()),
        item_place=pl.col("id").replace_strict(places, return_dtype=pl.String()),
        row=pl.int_range(pl.len()),
    )
    turn = pl.col("item_place").rank("ordinal").over("dataset", "group_id")
    ordered = placed.with_columns(turn=turn).sort("turn", "group_place", "item_place")
    drawn = ordered.filter(pl.int_range(pl.len()).over("dataset") < limit)
    return drawn.sort("row").select(items.columns)


def _place(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
