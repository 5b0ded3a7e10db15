from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.summaries import BINS, MOST_PARTS, summarise

SCORES = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=40)
UNIT = (0.0, 1.0)


def frame(
    scores: Sequence[float | None], documents: int = 5, **columns: Sequence[str | None]
) -> pl.DataFrame:
    groups = [f"d{row % documents}" for row in range(len(scores))]
    return pl.DataFrame({"group": groups, "m": pl.Series(scores, dtype=pl.Float64), **columns}, strict=False)


@given(SCORES)
def test_a_summary_keeps_its_order_and_counts_every_row(scores: list[float | None]) -> None:
    one = summarise(frame(scores), {"m": UNIT})["metrics"]["m"]
    known = [score for score in scores if score is not None]
    assert (one["known"], one["known"] + one["unknown"]) == (len(known), len(scores))
    assert sum(one["histogram"]["counts"]) == len(known)
    assert len(one["histogram"]["edges"]) == BINS + 1
    if known:
        assert one["min"] <= one["median"] <= one["percentile_95"] <= one["max"]
        assert one["mean"] == pytest.approx(np.mean(known))
    if one["low"] is not None:
        assert 0 <= one["low"] <= one["mean"] + 1e-9
        assert one["mean"] - 1e-9 <= one["high"] <= 1


def test_each_category_difficulty_and_language_has_its_summary_and_rows_without_one_are_in_none() -> None:
    rows = frame(
        [0.1, 0.2, 0.3, 0.9],
        category=["x", "x", "y", None],
        difficulty=["easy", None, None, None],
        language=["sv", "sv", "en", "en"],
    )
    found = summarise(rows, {"m": UNIT})
    assert {name: one["m"]["mean"] for name, one in found["per_category"].items()} == pytest.approx(
        {"x": 0.15, "y": 0.3}
    )
    assert list(found["per_difficulty"]) == ["easy"]
    assert {name: one["m"]["known"] for name, one in found["per_language"].items()} == {"en": 2, "sv": 2}


def test_a_column_of_free_text_has_no_summaries() -> None:
    names = [f"c{row:03d}" for row in range(MOST_PARTS + 1)]
    assert summarise(frame([0.5] * len(names), category=names), {"m": UNIT})["per_category"] == {}


def test_no_rows_and_unknown_scores_are_counted_and_have_no_figures() -> None:
    empty = summarise(frame([0.5]).head(0), {"m": UNIT})["metrics"]["m"]
    nothing = summarise(frame([None, None]), {"m": UNIT})["metrics"]["m"]
    for one, rows in ((empty, 0), (nothing, 2)):
        assert (one["mean"], one["low"], one["percentile_95"], one["known"]) == (None, None, None, 0)
        assert one["unknown"] == rows
        assert sum(one["histogram"]["counts"]) == 0


def test_a_hair_beyond_the_range_is_rounding_and_more_is_a_fault() -> None:
    assert summarise(frame([1.0000001, 0.5]), {"m": UNIT})["metrics"]["m"]["known"] == 2
    with pytest.raises(InputError, match=r"row 2 .* 7\.0"):
        summarise(frame([0.5, 7.0]), {"m": UNIT})
    with pytest.raises(InputError, match="row 1"):
        summarise(frame([-0.5]), {"m": (0.0, None)})
