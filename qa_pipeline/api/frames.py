"""Rows of any data frame or data set, as objects of plain Python values."""

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.exports import OTHER_NAMES

Row = dict[str, Any]
_LIKE = 0.6
"""Likeness from which a column name is taken for a misspelt one, difflib's own."""
_TEST_CASE = (
    "input", "actual_output", "expected_output", "context", "retrieval_context", "completion_time", "name",
)  # fmt: skip
"""Fields of a test case of DeepEval, which is an object without a method that lists them."""


def rows_of(data: object) -> Iterator[Row]:
    """Yield the rows of a frame or data set.

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
    return ({name: plain(value) for name, value in _fields(row).items()} for row in rows)


def check_columns(rows: Sequence[Row], needed: Sequence[str]) -> None:
    """Check that some row has each of the fields that are needed, under any of its names.

    Raises:
        InputError: none has; names that look like a misspelt one are told.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    for field in needed:
        names = (field, *OTHER_NAMES.get(field, ()))
        if rows and not any(name in columns for name in names):
            near = [name for name in columns if difflib.get_close_matches(name.lower(), names, 1, _LIKE)]
            advice = f"; rename {' or '.join(near)}" if near else ""
            raise InputError(
                f"no row has {field} (or {', '.join(names[1:])}){advice}; there are {', '.join(columns)}"
            )


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


def _fields(row: object) -> Row:
    """Return the fields of a row.

    Raises:
        InputError: it has none.
    """
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "actual_output"):
        return {name: getattr(row, name, None) for name in _TEST_CASE}
    if hasattr(row, "model_dump"):
        return dict(row.model_dump())
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    raise InputError(f"a row is a {type(row).__name__}; give mappings such as {{'question': …, 'answer': …}}")
