from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, rows_of, statement, value


def row(*found: Row, used: tuple[int, ...] = (0, 1)) -> Row:
    return {"statements": [statement(context=one) for one in used], "contexts": list(found)}


def test_all_four_parts_count_by_their_weights() -> None:
    found = row(
        context(document="a", date="2025-06-01", authority=1.0),
        context(document="a", date="2024-06-01", authority=0.5),
    )
    expected = 0.4 * 1.0 + 0.3 * 0.5 + 0.2 * (1.0 + 0.5) / 2 + 0.1 * 0.75
    assert value("evidence_quality", found) == pytest.approx(expected)


def test_parts_without_data_are_left_out_reweighed_and_said_so() -> None:
    found = row(context(document="a"), context(document="b"))
    assert value("evidence_quality", found) == pytest.approx(1.0)
    said = rows_of(found).select(METRICS["evidence_quality"].decided_by)
    assert said.to_series()[0].to_list() == ["quotation", "quotation", "without recency", "without authority"]


def test_evidence_older_than_the_newest_context_counts_less() -> None:
    old = row(context(document="a", date="2020-01-01"), context(document="b", date="2025-01-01"), used=(0,))
    new = row(context(document="a", date="2020-01-01"), context(document="b", date="2025-01-01"), used=(1,))
    assert (value("evidence_quality", old) or 0) < (value("evidence_quality", new) or 0)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_a_chain_is_whole_exactly_where_confidence_never_falls(steps: list[float]) -> None:
    assert value("chain_integrity", {"confidences": sorted(steps)}) == 1.0
    falls = any(later < earlier for earlier, later in pairwise(steps))
    assert (value("chain_integrity", {"confidences": steps}) == 1.0) is not falls
