"""The rows that a sample draws."""

from collections import Counter

import polars as pl
import pytest

from qa_pipeline.review.sample import every_kth


def rows_of(languages: dict[str, int]) -> pl.DataFrame:
    return pl.DataFrame({"language": [name for name, count in languages.items() for _ in range(count)]})


@pytest.mark.parametrize("seed", ["0", "1", "other"])
def test_each_language_is_drawn_by_its_share_and_no_row_twice(seed: str) -> None:
    rows = rows_of({"de": 10, "en": 70, "sv": 20}).with_row_index()
    drawn = every_kth(rows, 30, seed)
    assert Counter(drawn["language"]) == {"de": 3, "en": 21, "sv": 6}
    assert drawn["index"].is_unique().all()


def test_over_many_seeds_each_row_is_as_likely_as_any_other() -> None:
    rows = rows_of({"en": 7}).with_row_index()
    counts = Counter(place for seed in range(2_000) for place in every_kth(rows, 3, str(seed))["index"])
    assert len(counts) == 7
    assert max(counts.values()) - min(counts.values()) < 0.1 * sum(counts.values()) / 7
