"""Labelled files (tables, JSON or CSV), read within limits: each row is used, or counted with a reason.

A `LabelledRow` describes the rows of a kind of file, such as `Item`: a text, its context and a label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_entries import COLUMNS
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.row_files import Fault, FileRow, Limits, open_rows

Row = dict[str, Any]
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv", ".json")
LEFT_OUT = pl.Schema(
    {
        **dict.fromkeys(("file", "reason"), pl.String()),
        **dict.fromkeys(("rows", "first_row"), pl.Int64()),
        "detail": pl.String(),
    }
)
"""A row for each file and reason: the number of omitted rows, and the first of them, from 1."""
ITEMS = pl.Schema(
    {
        **dict.fromkeys(("file", "id", "dataset", "language", "question", "answer", "group_id"), pl.String()),
        "context": pl.List(pl.String()),
        "label": pl.Int8(),
    }
)
"""A row for each usable `Item`. `label` is 1 if the context supports the answer, else 0."""
LIMITS = Limits()
_BLOCK = 256
"""Rows stored as objects at a time; a frame takes a tenth of the memory."""


def _not_empty(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is empty")
    return value


Text = Annotated[str, Field(min_length=1), BeforeValidator(_not_empty)]


def _label(value: object) -> object:
    """Return 0.0 and 1.0 as integers, as frames with gaps write them."""
    return int(value) if isinstance(value, float) and value in (0.0, 1.0) else value


class LabelledRow(BaseModel):
    """A row of a kind of file; values are never converted, and further fields are ignored.

    The description of a required field says what it should contain. `columns` is the schema of usable rows,
    with file, id and dataset among them.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    columns: ClassVar[pl.Schema]

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the known fields of a row as it is written, without nulls."""
        return {name: values[name] for name in cls.model_fields if values.get(name) is not None}

    @classmethod
    def needed(cls) -> dict[str, str]:
        """Return the descriptions of the required fields."""
        fields = cls.model_fields.items()
        return {name: field.description or "" for name, field in fields if field.is_required()}

    def row(self) -> Row | Fault:
        """Return a row of the columns without its file, or a fault of the values in combination."""
        return self.model_dump()


class Item(LabelledRow):
    """An answer with its context and label.

    Without `id` it is the index in the file; without `dataset` it is the name of the file.
    """

    columns = ITEMS
    id: Text | None = None
    language: Text = Field(description="en, sv, de or another language code")
    context: list[str] = Field(description="a list of texts: the passages the answer should rest on")
    answer: Text = Field(description="the text to check")
    label: Annotated[int, Field(ge=0, le=1), BeforeValidator(_label)] = Field(
        description="1 where the context supports the answer, 0 where it does not"
    )
    group_id: Text = Field(description="a text that items of the same source share")
    dataset: Text | None = None
    question: str | None = None


@dataclass(frozen=True)
class Labelled:
    """Rows in the order of files, and the omitted rows (`LEFT_OUT`)."""

    items: pl.DataFrame
    left_out: pl.DataFrame


def labelled_files(paths: Sequence[Path]) -> list[Path]:
    """Return named files, and those in named folders by name; raises `InputError` if a path has no file."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist; name a file or folder of labelled items")
        files_of_path = [path]
        if path.is_dir():
            files_of_path = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
        if not files_of_path:
            formats = ", ".join(SUFFIXES)
            raise InputError(f"{path} contains no {formats} file; name a folder of labelled files")
        files += files_of_path
    return list(dict.fromkeys(files))


def read_file(path: Path, kind: type[LabelledRow], limits: Limits = LIMITS) -> Labelled:
    """Read a file of rows of a kind; raises `InputError` if it cannot be read, or has no usable row."""
    return usable_rows(open_rows(path, limits, SUFFIXES, known_columns=COLUMNS).rows, kind, path)


def usable_rows(file_rows: Iterable[FileRow], kind: type[LabelledRow], path: Path) -> Labelled:
    """Return the usable rows of a file; other rows, and rows with an earlier id, are counted by reason."""
    frames, block, ids = [], list[Row](), set[str]()
    left_out: dict[str, Row] = {}  # a row of LEFT_OUT for each reason
    for index, file_row in enumerate(file_rows):
        row = check(file_row.value, kind)  # or a fault
        if not isinstance(row, Fault):
            row["id"] = row.get("id") or str(index)
            if row["id"] in ids:
                row = Fault("duplicate_id", f"id {row['id']!r} occurs in an earlier row")
        if isinstance(row, Fault):
            first_fault = {"reason": row.reason, "detail": row.detail, "first_row": file_row.number}
            left_out.setdefault(row.reason, {"file": path.name, **first_fault, "rows": 0})["rows"] += 1
            continue
        ids.add(row["id"])
        block.append({"file": path.name, **row, "dataset": row.get("dataset") or path.stem})
        if len(block) == _BLOCK:
            frames.append(pl.DataFrame(block, schema=kind.columns))
            block.clear()
    if not ids:
        problems = [f"row {fault['first_row']}: {fault['detail']}" for fault in left_out.values()]
        problem = f" that can be used; {problems[0]}" if problems else "; name a file of labelled items"
        raise InputError(f"{path} has no rows{problem}")
    frames.append(pl.DataFrame(block, schema=kind.columns))
    # in one chunk, since blocks of nested columns take several times their size
    return Labelled(pl.concat(frames, rechunk=True), pl.DataFrame([*left_out.values()], schema=LEFT_OUT))


def check(values: Any, kind: type[LabelledRow]) -> Row | Fault:
    """Return a row of a kind, or its first problem as a reason code and a sentence."""
    if isinstance(values, Fault):  # found when the file was read
        return values
    if not isinstance(values, dict):
        return Fault("broken_line", f"expected an object, found {type(values).__name__}")
    try:
        return kind.model_validate(kind.from_values(values)).row()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
    field, needed = ".".join(map(str, problem["loc"])), kind.needed()  # such as contexts.0.rank
    advice = f"; it should hold {needed[field]}" if field in needed else ""
    reasons = {"missing": "missing_field", "string_unicode": "broken_text"}
    return Fault(reasons.get(problem["type"], "wrong_type"), f"{field}: {problem['msg']}{advice}")


def draw(items: pl.DataFrame, limit: int | None) -> pl.DataFrame:
    """Return at most `limit` items of each data set, spread over as many groups as possible.

    Groups are in the order of a hash, and each gives one item in turn. The sample depends only on ids, and a
    smaller sample is part of a larger one.
    """
    if limit is None:
        return items
    hashes = {
        f"{name}_hash": pl.col(name).map_elements(hash_text, return_dtype=pl.String())
        for name in ("group_id", "id")
    }
    hashed = items.with_columns(row=pl.int_range(pl.len()), **hashes)
    turn = pl.col("id_hash").rank("ordinal").over("dataset", "group_id")  # 1 is a group's first item
    ordered = hashed.with_columns(turn=turn).sort("turn", "group_id_hash", "id_hash")
    position = pl.int_range(pl.len()).over("dataset")  # of an item among those of its data set, from 0
    return ordered.filter(position < limit).sort("row").select(items.columns)
