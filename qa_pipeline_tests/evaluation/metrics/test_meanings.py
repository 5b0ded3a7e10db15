import pytest

from qa_pipeline.evaluation.metrics.meanings import lack_of, meaning_of
from qa_pipeline.evaluation.metrics.registry import METRICS


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_explained_in_a_plain_sentence(name: str) -> None:
    assert (meaning_of(name) or "").endswith(".")


def test_a_metric_at_a_rank_names_the_rank() -> None:
    assert "first 5 passages" in (meaning_of("precision_at_5") or "")
    assert meaning_of("surprise_at_5") is None


def test_what_a_metric_needs_is_explained_and_a_column_nobody_knows_is_named() -> None:
    unknown = lack_of("some_signal")
    assert unknown.startswith("some signal")
    needed = {lack_of(one) for metric in METRICS.values() for one in metric.needs}
    assert not [text for text in needed if text.endswith(unknown.removeprefix("some signal"))]
