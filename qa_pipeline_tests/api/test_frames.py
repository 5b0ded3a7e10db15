"""Rows of frames and data sets of other packages, as plain values."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

from qa_pipeline.api.frames import plain, rows_of
from qa_pipeline.errors import InputError

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
    assert (row["input"], row["actual_output"], row["retrieval_context"]) == ("Why?", "So.", ["a"])


@pytest.mark.parametrize("data", [3, "text", b"bytes", {"question": "Why?"}, None, [3], ["text"]])
def test_what_holds_no_rows_is_refused(data: object) -> None:
    with pytest.raises(InputError, match="give"):
        list(rows_of(data))


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
