"""Rows of any data frame or data set, as objects of plain Python values."""

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.exports import OTHER_NAMES
from qa_pipeline.storage.row_files import Fault

Row = dict[str, Any]
_LIKE = 0.6
"""Likeness from which a column name is taken for a misspelt one, difflib's own."""
_MISSPELT = 0.82
"""Likeness from which it is surely one, such as anwser: answer_id is no misspelt answer."""
_OUR_NAMES = {name for field, others in OTHER_NAMES.items() for name in (field, *others)}
_TEST_CASE = (
    "input", "actual_output", "expected_output", "context", "retrieval_context", "completion_time", "name",
)  # fmt: skip
"""Fields of a test case of DeepEval, which is an object without a method that lists them."""


def rows_of(data: object) -> Iterator[Row | Fault]:
    """Yield the rows of a frame or data set; one that has no fields is a fault.

    Args:
        data: a frame of Polars (lazy or not) or pandas, a table of Arrow, a `datasets.Dataset`, an
            `EvaluationDataset` of Ragas or DeepEval, or an iterable of mappings, data classes, Pydantic
            models or test cases.

    Raises:
        InputError: it is nothing of these.
    """
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        rows: Iterable[object] = data.iter_rows(named=True)
    elif hasattr(data, "test_cases"):
        rows = data.test_cases
    elif hasattr(data, "to_pylist"):
        rows = data.to_pylist()
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):
        rows = data.to_dict("records")
    elif hasattr(data, "to_list"):
        rows = data.to_list()
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        rows = data
    else:
        raise InputError(
            f"a {type(data).__name__} holds no rows; give a frame of Polars or pandas, a table of Arrow, "
            "a data set, a list of rows, or the path of a file"
        )
    return map(_row, rows)


def check_columns(rows: Sequence[Row | Fault], needed: Sequence[str], wanted: Sequence[str] = ()) -> None:
    """Check that some row has each of the fields that are needed, under any of its names.

    Args:
        rows: of a frame; a fault has no fields.
        needed: fields that some row must have.
        wanted: fields that may be missing, but not where a column is surely a misspelt one.

    Raises:
        InputError: a field is missing; every one is named, with the columns that look like it.
    """
    readable = [row for row in rows if not isinstance(row, Fault)]
    if rows and not readable:
        raise InputError(next(row.detail for row in rows if isinstance(row, Fault)))
    columns = dict.fromkeys(name for row in readable for name in row)
    problems = []
    for field in (*needed, *wanted):
        names = (field, *OTHER_NAMES.get(field, ()))
        if not readable or any(name in columns for name in names):
            continue
        like = _LIKE if field in needed else _MISSPELT
        near = {
            name: difflib.get_close_matches(name.lower(), names, 1, like)
            for name in columns
            if name not in _OUR_NAMES
        }
        advice = [f"rename {name} to {match[0]}" for name, match in near.items() if match]
        if field in needed or advice:
            problems.append(", ".join([f"no row has {field} (or {', '.join(names[1:])})", *advice[:1]]))
    if problems:
        raise InputError(f"{'; '.join(problems)}; there are {', '.join(columns)}")


def plain(value: object) -> Any:
    """Return a value without NumPy, pandas and the like; what is not a number or not available is None."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if value is None or isinstance(value, str | int | bool | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers, and Series
        return plain(value.tolist())
    # pandas' NA and NaT are equal to nothing, not even themselves
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _row(row: object) -> Row | Fault:
    """Return the fields of a row as plain values, or that it has none."""
    fields: Row
    if isinstance(row, Mapping):
        fields = dict(row)
    elif hasattr(row, "actual_output"):
        fields = {name: getattr(row, name, None) for name in _TEST_CASE}
    elif hasattr(row, "model_dump"):
        fields = dict(row.model_dump())
    elif is_dataclass(row) and not isinstance(row, type):
        fields = asdict(row)
    else:
        kind = type(row).__name__
        return Fault(
            "wrong_type", f"the row is a {kind}; give mappings such as {{'question': …, 'answer': …}}"
        )
    return {name: plain(value) for name, value in fields.items()}
