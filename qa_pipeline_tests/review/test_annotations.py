import math
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.review.annotations import Panel, agreement, annotators, pairs, panel, read_ratings
from qa_pipeline_tests.evaluation.labelled_files import write_lines
from qa_pipeline_tests.evaluation.ratings import FLEISS, KRIPPENDORFF, columns, rows

TABLES = st.integers(2, 4).flatmap(
    lambda people: st.lists(st.text("123.", min_size=people, max_size=people), min_size=1, max_size=9)
)
"""One text an item, one sign an annotator; a dot is no rating."""


def rated(items: list[str]) -> Panel:
    return columns(["".join(signs) for signs in zip(*items, strict=True)])


def values(found: list[dict[str, Any]]) -> dict[str, float | None]:
    return {one["name"]: one["value"] for one in found}


def alpha_by_definition(items: list[str], level: str) -> float:
    """Krippendorff's alpha over all ordered pairs of ratings, one by one."""
    units = [[int(sign) for sign in item if sign != "."] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    every = [one for unit in units for one in unit]
    many = Counter(every)

    def apart(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        between = sum(many[one] for one in range(min(a, b), max(a, b) + 1))
        return (between - (many[a] + many[b]) / 2) ** 2

    observed = sum(sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(apart(a, b) for a, b in permutations(every, 2)) / max(len(every) - 1, 1)
    return 1 - observed / expected if expected else math.nan


@given(TABLES)
def test_alpha_is_what_its_definition_says_whatever_is_missing(items: list[str]) -> None:
    if all(sign == "." for item in items for sign in item):
        return
    found = values(agreement(rated(items), resamples=0))
    for level in ("nominal", "ordinal", "interval"):
        by_definition, value = alpha_by_definition(items, level), found[f"alpha_{level}"]
        assert (value is None) == math.isnan(by_definition)
        assert value is None or value == pytest.approx(by_definition, abs=1e-9)


@given(TABLES, st.randoms(use_true_random=False))
def test_neither_the_order_of_ratings_nor_the_names_of_annotators_change_agreement(
    items: list[str], random: Any
) -> None:
    given_rows = [
        (f"u{place}", f"a{number}", sign)
        for place, item in enumerate(items)
        for number, sign in enumerate(item)
        if sign != "."
    ]
    if not given_rows:
        return
    names = [f"a{number}" for number in range(4)]
    renamed = dict(zip(names, random.sample(names, 4), strict=True))
    mixed = random.sample(given_rows, len(given_rows))
    before = values(agreement(panel(rows(*given_rows)), resamples=0))
    after = values(agreement(panel(rows(*((i, renamed[a], r) for i, a, r in mixed))), resamples=0))
    assert before == pytest.approx(after, abs=1e-9)


def test_alpha_of_the_example_that_krippendorff_published() -> None:
    found = values(agreement(columns(KRIPPENDORFF), resamples=0))
    assert found["alpha_nominal"] == pytest.approx(0.743, abs=5e-4)
    assert found["alpha_ordinal"] == pytest.approx(0.815, abs=5e-4)
    assert found["alpha_interval"] == pytest.approx(0.849, abs=5e-4)


def test_kappa_of_the_table_by_which_textbooks_show_that_of_fleiss() -> None:
    said = [
        (f"u{item}", f"a{number:02}", str(category))
        for item, counts in enumerate(FLEISS)
        for number, category in enumerate(np.repeat(np.arange(5), counts))
    ]
    found = values(agreement(panel(rows(*said)), resamples=0))
    assert found["fleiss_kappa"] == pytest.approx(0.210, abs=5e-4)


def test_annotators_who_always_agree_have_agreement_one_and_by_chance_about_none() -> None:
    drawn = np.random.default_rng(0).choice(list("123"), size=(3, 500))
    same = columns(["".join(drawn[0])] * 3)
    assert set(values(agreement(same, resamples=0)).values()) == {1.0}
    for one in agreement(columns(["".join(signs) for signs in drawn]), resamples=300):
        assert one["low"] < 0 < one["high"]
        assert abs(one["value"]) < 0.1


def test_intervals_are_wider_where_items_share_groups() -> None:
    drawn = np.random.default_rng(1)
    truth = drawn.integers(0, 2, 40)
    blurred = [truth ^ (drawn.random(40) < 0.2) for _ in range(3)]
    said = [
        (f"g{place}/{copy}", f"a{number}", str(int(one)))
        for number, ratings in enumerate(blurred)
        for place, one in enumerate(ratings)
        for copy in range(10)
    ]
    grouped = rows(*said)
    alone = grouped.with_columns(group=pl.col("item"))
    wide, narrow = (agreement(panel(frame), resamples=300)[0] for frame in (grouped, alone))
    assert wide["value"] == pytest.approx(narrow["value"])
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["1212"], "there is one annotator"),
        (["12..", "..12"], "no item was rated by two annotators"),
        (["1111", "1111"], "all ratings are the same"),
    ],
)
def test_agreement_without_a_meaning_is_unknown_and_says_why(texts: list[str], reason: str) -> None:
    for one in agreement(columns(texts), resamples=50):
        assert one["value"] is None
        assert one["low"] is None
        assert one["unknown"] == reason


def test_one_group_has_agreement_without_an_interval() -> None:
    for one in agreement(columns(["1", "2"]), resamples=50):
        assert one["value"] is not None
        assert one["low"] is None


def test_texts_have_no_order_unless_it_is_given() -> None:
    texts = ["lhmlh", "lhmhh"]
    without = {one["name"]: one["unknown"] for one in agreement(columns(texts), resamples=0)}
    assert without["alpha_ordinal"] == "categories have no order"
    assert without["alpha_interval"] == "ratings are no numbers"
    assert without["alpha_nominal"] is None
    assert values(agreement(columns(texts, order=list("lmh")), resamples=0))["alpha_ordinal"] is not None
    with pytest.raises(InputError, match="'h' is none of the ordered ones: l, m"):
        columns(texts, order=list("lm"))


def test_more_different_ratings_than_can_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="102 different ratings"):
        panel(rows(*((f"i{n}", "a", str(n)) for n in range(102))))


def test_numbers_are_ordered_by_value_and_one_number_is_one_rating(tmp_path: Path) -> None:
    said = [1, 1.0, "1", 10, 2, "high", True, 1e300, 0.5]
    file = write_lines(
        tmp_path / "r.jsonl",
        [{"id": "i", "annotator": f"a{n}", "rating": one} for n, one in enumerate(said)],
    )
    read = read_ratings([file]).items
    assert read["rating"].to_list() == ["1", "1", "1", "10", "2", "high", "true", "1e+300", "0.5"]
    numbers = panel(read.filter(pl.col("rating").is_in(["1", "2", "10"])))
    assert numbers.categories == ["1", "2", "10"]
    assert panel(read).values is None


def test_both_forms_give_the_same_ratings(tmp_path: Path) -> None:
    long = [
        {"id": item, "annotator": who, "rating": rating, "group": "d"}
        for item, who, rating in (("i", "anna", 1), ("i", "ben", 2), ("j", "anna", 1))
    ]
    wide = [
        {"id": "i", "ratings": {"anna": 1, "ben": 2}, "group": "d"},
        {"id": "j", "ratings": {"anna": 1, "ben": None}, "group": "d"},
    ]
    read = [
        read_ratings([write_lines(tmp_path / name, content)]).items.drop("file", "row")
        for name, content in (("long.jsonl", long), ("wide.jsonl", wide))
    ]
    assert read[0].equals(read[1])
    pl.DataFrame(wide).write_parquet(tmp_path / "wide.parquet")
    assert read_ratings([tmp_path / "wide.parquet"]).items.drop("file", "row").equals(read[0])


def test_rows_that_cannot_be_used_are_counted_with_a_reason(tmp_path: Path) -> None:
    good = [{"id": f"i{n}", "annotator": who, "rating": "yes"} for n in range(3) for who in ("anna", "ben")]
    bad: list[Any] = [
        {"id": "i0", "annotator": "anna", "rating": "no"},
        {"id": "i1", "annotator": "ben", "rating": "yes"},
        {"id": "i9", "annotator": "ben", "rating": math.nan},
        {"id": "i9", "rating": "yes"},
        {"id": "i9", "annotator": "ben", "rating": " "},
        "{broken",
    ]
    read = read_ratings([write_lines(tmp_path / "r.jsonl", [*good, *bad])])
    told = {row["reason"]: row for row in read.left_out.iter_rows(named=True)}
    assert {reason: row["rows"] for reason, row in told.items()} == {
        "conflicting_ratings": 2,
        "repeated_rating": 1,
        "wrong_type": 1,
        "missing_field": 1,
        "empty_field": 1,
        "broken_line": 1,
    }
    assert told["conflicting_ratings"]["first_row"] == 1
    assert told["conflicting_ratings"]["detail"] == "anna rated i0 as yes"
    assert "is no number" in told["wrong_type"]["detail"]
    kept = read.items.select("item", "annotator").rows()
    assert sorted(kept) == [("i0", "ben"), ("i1", "anna"), ("i1", "ben"), ("i2", "anna"), ("i2", "ben")]


def test_a_rating_that_another_file_contradicts_is_left_out_of_both(tmp_path: Path) -> None:
    first, second = (
        write_lines(tmp_path / f"{name}.jsonl", [{"id": "i", "annotator": "anna", "rating": name}, other])
        for name, other in (
            ("yes", {"id": "j", "annotator": "anna", "rating": "yes"}),
            ("no", {"id": "k", "annotator": "anna", "rating": "yes"}),
        )
    )
    read = read_ratings([first, second])
    assert read.items["item"].to_list() == ["j", "k"]
    assert read.left_out.select("file", "reason", "rows").rows() == [
        ("yes.jsonl", "conflicting_ratings", 1),
        ("no.jsonl", "conflicting_ratings", 1),
    ]


@pytest.mark.parametrize("content", ["", '{"id": "i", "ratings": {}}', '{"id": "i", "ratings": {"a": null}}'])
def test_a_file_without_a_rating_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(content)
    with pytest.raises(InputError, match=r"r\.jsonl"):
        read_ratings([file])


def test_more_annotators_than_can_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="101 annotators"):
        panel(rows(*((f"i{n}", f"a{n}", "1") for n in range(101))))


def test_an_annotator_is_held_against_the_majority_of_the_others_and_against_gold() -> None:
    texts = ["1111111111", "1111111112", "1111122222"]
    right = [*((f"u{place}", "gold", "1") for place in range(9)), ("u9", "gold", "3"), ("x", "gold", "1")]
    gold = rows(*right)
    found = {row["annotator"]: row for row in annotators(columns(texts), gold).iter_rows(named=True)}
    assert found["a0"]["always"] == "1"
    assert found["a1"]["always"] is None
    # where the two others differ, there is no majority of theirs
    assert (found["a0"]["others_compared"], found["a0"]["others"]) == (6, 5 / 6)
    assert (found["a2"]["others_compared"], found["a2"]["others"]) == (9, 5 / 9)
    assert (found["a0"]["gold_compared"], found["a0"]["gold"]) == (10, 0.9)
    assert found["a0"]["gold_low"] == pytest.approx(0.596, abs=1e-3)  # Wilson, 9 of 10
    assert found["a0"]["gold_high"] == pytest.approx(0.982, abs=1e-3)


def test_without_gold_or_others_an_annotator_is_unknown() -> None:
    row = annotators(columns(["12"]), rows()).row(0, named=True)
    assert (row["ratings"], row["others"], row["others_low"], row["gold"], row["gold_compared"]) == (
        2, None, None, None, 0,
    )  # fmt: skip


def test_annotators_who_rated_nothing_in_common_have_no_share() -> None:
    found = pairs(columns(["12..", "..12", "1.22"])).rows()
    assert found == [("a0", "a1", 0, None), ("a0", "a2", 1, 1.0), ("a1", "a2", 2, 0.5)]
