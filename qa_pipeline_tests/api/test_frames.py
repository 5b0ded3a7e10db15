"""Rows of frames and data sets of other packages, as plain values."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

from qa_pipeline.api.frames import check_columns, plain, rows_of
from qa_pipeline.errors import InputError
from qa_pipeline.storage.row_files import Fault

ROW: dict[str, object] = {"question": "Why?", "contexts": ["a", "b"]}


@dataclass
class Pair:
    question: str
    contexts: list[str]


class PairModel(BaseModel):
    question: str
    contexts: list[str]


class Case:
    """A test case as DeepEval's are: an object of fields."""

    def __init__(self) -> None:
        self.input, self.actual_output, self.retrieval_context = "Why?", "So.", ["a"]


class Cases:
    """A data set of DeepEval."""

    def __init__(self) -> None:
        self.test_cases = [Case()]


class Samples:
    """A data set of Ragas, or of `datasets`."""

    def to_list(self) -> list[dict[str, object]]:
        return [ROW]


class Pandas:
    """A frame of pandas, as far as it is read."""

    columns = ("question", "contexts")

    def to_dict(self, orient: str) -> list[dict[str, object]]:
        assert orient == "records"
        return [{"question": "Why?", "contexts": np.array(["a", "b"], dtype=object)}]


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame([ROW]),
        pl.LazyFrame([ROW]),
        pa.Table.from_pylist([ROW]),
        [ROW],
        iter([ROW]),
        [Pair("Why?", ["a", "b"])],
        [PairModel(question="Why?", contexts=["a", "b"])],
        Samples(),
        Pandas(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_rows_of_every_kind_of_data_are_equal(data: object) -> None:
    assert list(rows_of(data)) == [ROW]


def test_test_cases_have_the_fields_of_deepeval() -> None:
    (row,) = rows_of(Cases())
    assert not isinstance(row, Fault)
    assert (row["input"], row["actual_output"], row["retrieval_context"]) == ("Why?", "So.", ["a"])


@pytest.mark.parametrize("data", [3, "text", b"bytes", {"question": "Why?"}, None])
def test_what_holds_no_rows_is_refused(data: object) -> None:
    with pytest.raises(InputError, match="give"):
        list(rows_of(data))


def test_a_row_without_fields_is_a_fault_and_the_others_are_read() -> None:
    fault, row = rows_of([None, ROW])
    assert isinstance(fault, Fault)
    assert "the row is a NoneType; give mappings" in fault.detail
    assert row == ROW
    check_columns([fault, row], ("query",))
    with pytest.raises(InputError, match="the row is a NoneType"):
        check_columns([fault], ("query",))


def test_every_missing_field_is_named_with_the_column_that_looks_like_it() -> None:
    rows: list[dict[str, object] | Fault] = [{"Question": "Why?", "anwser": "So.", "context_list": ["a"]}]
    with pytest.raises(InputError) as raised:
        check_columns(rows, ("query", "answer", "contexts"))
    told = str(raised.value)
    for advice in (
        "rename Question to question",
        "rename anwser to answer",
        "rename context_list to context",
    ):
        assert advice in told


@pytest.mark.parametrize(
    ("column", "is_refused"), [("anwser", True), ("Answer", True), ("answer_id", False), ("topic", False)]
)
def test_a_field_that_may_be_missing_is_asked_for_where_a_column_is_surely_misspelt(
    column: str, *, is_refused: bool
) -> None:
    rows: list[dict[str, object] | Fault] = [{"question": "Why?", column: "So."}]
    if is_refused:
        with pytest.raises(InputError, match=f"rename {column} to answer"):
            check_columns(rows, ("query",), wanted=("answer",))
    else:
        check_columns(rows, ("query",), wanted=("answer",))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        (np.float32("nan"), None),
        (np.int64(3), 3),
        (np.array([1.5, math.nan]), [1.5, None]),
        (("a", {"b": np.bool_(True)}), ["a", {"b": True}]),
        ({1: "a"}, {"1": "a"}),
    ],
)
def test_values_become_plain(value: object, expected: object) -> None:
    assert plain(value) == expected
