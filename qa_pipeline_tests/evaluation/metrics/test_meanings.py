import pytest

from qa_pipeline.evaluation.metrics.meanings import lack_of, meaning_of
from qa_pipeline.evaluation.metrics.registry import METRICS


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_explained_in_a_plain_sentence(name: str) -> None:
    assert (meaning_of(name) or "").endswith(".")


@pytest.mark.parametrize("name", METRICS)
def test_what_every_metric_needs_is_explained(name: str) -> None:
    assert all(not lack_of(one).endswith("is not known") for one in METRICS[name].needs)


def test_a_metric_at_a_rank_names_the_rank() -> None:
    assert meaning_of("precision_at_5") == "Share of the first 5 passages that are relevant."
    assert meaning_of("surprise_at_5") is None


def test_a_column_nobody_knows_is_named() -> None:
    assert lack_of("some_signal") == "some signal is not known"
