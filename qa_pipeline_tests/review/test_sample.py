"""What a sample draws, and what its labels add up to."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.review.sample import (
    CATEGORIES,
    CRITERION,
    every_kth,
    label_figures,
    read_labels,
)


def rows_of(languages: dict[str, int]) -> pl.DataFrame:
    return pl.DataFrame({"language": [name for name, count in languages.items() for _ in range(count)]})


def sheet(path: Path, rows: list[dict[str, Any]]) -> Path:
    fields = {"criterion": CRITERION, "language": "en", "format": "html", "why": None}
    lines = (json.dumps({"id": str(number), **fields, **row}) + "\n" for number, row in enumerate(rows))
    path.write_text("".join(lines), encoding="utf-8")
    return path


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


def test_labels_add_up_in_all_and_by_part_with_intervals_and_reasons(tmp_path: Path) -> None:
    first = sheet(tmp_path / "1.jsonl", [{"rating": "good"}, {"rating": "bad", "why": "wrong"}])
    second = sheet(tmp_path / "2.jsonl", [{"rating": "thin", "language": "sv"}, {"rating": None}])
    figures = label_figures(read_labels([first, second]))
    every = figures["parts"][0]
    assert {name: every[name] for name in ("rows", *CATEGORIES)} == {
        "rows": 3,
        "good": 1,
        "thin": 1,
        "bad": 1,
    }
    # R. Newcombe's form of Wilson's interval for 1 of 3
    assert every["good_interval"] == pytest.approx([0.0615, 0.7923], abs=1e-4)
    languages = {part["value"]: part["rows"] for part in figures["parts"] if part["part"] == "language"}
    assert languages == {"en": 2, "sv": 1}
    assert figures["reasons"] == [{"rating": "bad", "why": "wrong", "rows": 1}]
    assert figures["unlabelled"] == 1


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"rating": "great"}, r"line 1: .*'great' .* good, thin, bad"),
        ({"rating": None, "criterion": "faithfulness"}, "line 1"),
    ],
)
def test_a_file_that_is_no_sample_is_refused_by_its_line(
    tmp_path: Path, row: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read_labels([sheet(tmp_path / "s.jsonl", [row])])
