import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, statement, value, with_signals


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
    said = METRICS["evidence_quality"].deciders(with_signals(found)[0])
    assert sorted(said) == ["quotation", "quotation", "without authority", "without recency"]


def test_evidence_older_than_the_newest_context_counts_less() -> None:
    old = row(context(document="a", date="2020-01-01"), context(document="b", date="2025-01-01"), used=(0,))
    new = row(context(document="a", date="2020-01-01"), context(document="b", date="2025-01-01"), used=(1,))
    assert (value("evidence_quality", old) or 0) < (value("evidence_quality", new) or 0)


@pytest.mark.parametrize(
    ("confidences", "whole"),
    [([0.5, 0.7, 0.69], 1.0), ([0.5, 0.7, 0.65], 1.0), ([0.5, 0.7, 0.6], 0.5), ([0.5], None)],
)
def test_a_fall_of_confidence_within_the_threshold_breaks_no_chain(
    confidences: list[float], whole: float | None
) -> None:
    assert value("chain_integrity", {"confidences": confidences}) == whole


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_a_chain_whose_confidence_never_falls_is_whole(steps: list[float]) -> None:
    assert value("chain_integrity", {"confidences": sorted(steps)}) == 1.0
