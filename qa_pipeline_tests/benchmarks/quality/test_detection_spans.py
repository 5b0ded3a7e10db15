from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.datasets.grounding_items import ITEMS
from qa_pipeline_tests.benchmarks.quality.detection import annotated, overlaps, span_f1

PLACES = st.integers(0, 12).flatmap(lambda start: st.tuples(st.just(start), st.integers(start, 12)))
MARKS = st.lists(PLACES, max_size=3)


def items(
    marked: list[list[tuple[int, int]]], found: list[Any], labels: list[int], **columns: Any
) -> pl.DataFrame:
    def spans(lists: list[Any]) -> pl.Series:
        rows = [None if one is None else [{"start": a, "end": b} for a, b in one] for one in lists]
        return pl.Series(rows, dtype=ITEMS["spans"])

    return pl.DataFrame(
        {
            "dataset": ["set"] * len(labels),
            "label": labels,
            "characters": [12] * len(labels),
            "spans": spans(marked),
            "spans_cascade": spans(found),
            **columns,
        }
    )


def f1_of(frame: pl.DataFrame, weights: list[float] | None = None) -> float:
    used = np.ones((1, frame.height)) if weights is None else np.array([weights])
    return float(span_f1(overlaps(frame, "cascade"), used)[0])


@given(MARKS, MARKS)
def test_f1_is_over_characters_however_spans_overlap(
    marked: list[tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    people, scorer = ({place for span in spans for place in range(*span)} for spans in (marked, found))
    value = f1_of(items([marked], [found], [0]))
    if people:
        assert value == pytest.approx(2 * len(people & scorer) / (len(people) + len(scorer)))
    else:
        assert np.isnan(value)


def test_what_a_scorer_marks_in_a_supported_answer_counts_against_it() -> None:
    assert f1_of(items([[(0, 6)], []], [[(0, 6)], [(0, 6)]], [0, 1])) == pytest.approx(2 * 6 / (12 + 6))


def test_an_unsupported_answer_without_a_span_says_nothing_of_places() -> None:
    frame = items([[(0, 6)], []], [[(0, 6)], [(0, 12)]], [0, 0])
    assert annotated(frame).to_list() == [True, False]
    assert f1_of(frame) == 1.0


def test_a_set_without_spans_has_no_figure_and_no_marks_are_none_found() -> None:
    assert np.isnan(f1_of(items([[], []], [[(0, 3)], None], [0, 1])))
    assert f1_of(items([[(0, 3)]], [None], [0])) == 0.0


def test_weights_count_items_so_many_times() -> None:
    frame = items([[(0, 4)], [(0, 4)]], [[(0, 4)], []], [0, 0])
    assert f1_of(frame, [3, 1]) == pytest.approx(2 * 12 / (12 + 16))
