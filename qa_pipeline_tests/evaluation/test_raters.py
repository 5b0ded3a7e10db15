import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline.evaluation.raters import (
    RATINGS,
    fleiss_kappa,
    rating_figures,
    read_ratings,
)
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.evaluation.labelled_files import write_lines

FLEISS = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)
"""The table of ten subjects by which textbooks show the kappa of Fleiss (1971): it is 0.210."""


def rows(*ratings: tuple[str, str, str]) -> pl.DataFrame:
    """Ratings (`RATINGS`) from item, annotator and rating."""
    return pl.DataFrame(
        [
            ("file", str(place), item, annotator, rating, "file")
            for place, (item, annotator, rating) in enumerate(ratings)
        ],
        schema=RATINGS,
        orient="row",
    )


def columns(*texts: str) -> pl.DataFrame:
    """One text an annotator, one sign an item; a dot is no rating."""
    said = [
        (f"u{place}", f"a{number}", sign)
        for number, text in enumerate(texts)
        for place, sign in enumerate(text)
        if sign != "."
    ]
    return rows(*sorted(said))


def test_kappa_of_the_table_by_which_textbooks_show_that_of_fleiss() -> None:
    said = [
        (f"u{item}", f"a{number:02}", str(category))
        for item, counts in enumerate(FLEISS)
        for number, category in enumerate(np.repeat(np.arange(5), counts))
    ]
    assert fleiss_kappa(rows(*said)) == pytest.approx(0.210, abs=5e-4)


TABLES = st.lists(st.text("123.", min_size=3, max_size=3), min_size=1, max_size=9)


@given(TABLES)
def test_kappa_is_what_its_definition_says_and_a_label_has_a_majority(items: list[str]) -> None:
    if all(sign == "." for item in items for sign in item):
        return
    rated = columns(*("".join(signs) for signs in zip(*items, strict=True)))
    units = [unit for item in items if len(unit := item.replace(".", "")) > 1]
    alike = [np.mean([a == b for a, b in combinations(unit, 2)]) for unit in units]
    shares = [np.mean([unit.count(sign) / len(unit) for unit in units]) for sign in "123"] if units else []
    chance = sum(share**2 for share in shares)
    value = fleiss_kappa(rated)
    assert (value is None) == (not units or chance > 1 - 1e-9)
    if value is not None:
        assert value == pytest.approx((np.mean(alike) - chance) / (1 - chance), abs=1e-9)
    _, agreed = rating_figures(rated, least_kappa=-1)
    for row in agreed.iter_rows(named=True):
        said = items[int(row["item"].removeprefix("u"))].replace(".", "")
        assert row["ratings"] == len(said)
        assert (row["label"] is None) == (row["reason"] is not None)
        if row["label"] is not None:
            assert len(said) > 1
            assert said.count(row["label"]) * 2 > len(said)


@pytest.mark.parametrize("texts", [["1212"], ["12..", "..12"], ["1111", "1111"]])
def test_kappa_without_a_meaning_is_unknown(texts: list[str]) -> None:
    assert fleiss_kappa(columns(*texts)) is None


@pytest.mark.parametrize(
    ("texts", "least", "reasons"),
    [
        (["1122", "1122", "1122"], 0.6, [None] * 4),
        (["1122", "1122", "1221"], 0.6, ["low_agreement"] * 4),  # kappa 1/3
        (["1122", "1122", "1221"], 0.3, [None] * 4),
        (["1111", "1111", "1111"], 0.6, ["low_agreement"] * 4),  # kappa is unknown
        (["1.22", "1122", "2.11"], 0.6, ["low_agreement", "one_rating", "low_agreement", "low_agreement"]),
    ],
)
def test_a_consensus_is_used_only_above_the_kappa_asked_for(
    texts: list[str], least: float, reasons: list[str | None]
) -> None:
    figures, agreed = rating_figures(columns(*texts), least_kappa=least)
    assert agreed["reason"].to_list() == reasons
    assert figures["is_used"] is (reasons[0] is None)
    assert figures["labelled"] == reasons.count(None)


def test_one_number_is_one_rating_and_what_cannot_be_used_is_left_out(tmp_path: Path) -> None:
    said = [
        {"id": "i", "annotator": "a", "rating": 1.0},
        {"id": "i", "annotator": "b", "rating": "1"},
        {"id": "i", "annotator": "c", "rating": "2"},
        {"id": "i", "annotator": "c", "rating": "3"},
        {"id": "i", "annotator": "a", "rating": 1},
        {"id": "j", "annotator": "a", "rating": "2"},
        {"id": "j", "annotator": "b", "rating": None},
    ]
    read = read_ratings([write_lines(tmp_path / "r.jsonl", said)])
    assert read.items.select("item", "annotator", "rating").rows() == [
        ("i", "a", "1"), ("i", "b", "1"), ("i", "c", "2"), ("j", "a", "2"),
    ]  # fmt: skip
    assert dict(read.left_out.select("reason", "rows").iter_rows()) == {
        "missing_field": 1, "repeated_rating": 2,
    }  # fmt: skip


def test_ratings_go_in_and_agreement_and_consensus_come_out(tmp_path: Path) -> None:
    said = [
        {"id": f"r{place}", "annotator": who, "rating": "yes" if (place > 20) != errs else "no"}
        for place in range(0, 60, 2)
        for who, errs in (("anna", False), ("ben", False), ("cleo", place % 5 == 0))
    ]
    file, out = write_lines(tmp_path / "ratings.jsonl", said), tmp_path / "labels.jsonl"
    shown = invoke("eval", "raters", file, "--out", out)
    assert shown.code == OK
    labels = [json.loads(line) for line in out.read_text().splitlines()]
    assert ({row["label"] for row in labels}, len(labels)) == ({"yes", "no"}, 30)
    found = invoke("eval", "raters", file, "--json").stdout
    assert json.loads(found)["annotators"] == {"anna": 30, "ben": 30, "cleo": 30}
    assert invoke("eval", "raters", file, "--json").stdout == found
