"""Equal wording is found, different meaning never looks equal, and the order of rows does not matter."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.curation.duplicates import find_conflicts, find_duplicates, normalised

SCHEMA = {"pair_id": pl.String, "question": pl.String, "answer": pl.String, "composite": pl.Float64}
WORDS = st.sampled_from(["When?", "when", "WHEN ?", "Who?", "C", "C++", "«who»"])
ROWS = st.lists(st.tuples(WORDS, WORDS, st.none() | st.sampled_from([0.7, 0.9])), max_size=8)


def frame(rows: list[tuple[str, str, float | None]]) -> pl.DataFrame:
    return pl.DataFrame([(f"p{n}", *row) for n, row in enumerate(rows)], schema=SCHEMA, orient="row")


def fold(text: str) -> str:
    folded: str = pl.DataFrame({"t": [text]}).select(normalised(pl.col("t"))).item()
    return folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("When does it open?", "when does it  open"),
        ("“When”, she said.", "When she said"),
        ("The ﬁle (new)", "the file new"),
        ("Cafe\u0301", "café"),
        ("a, b, c, d", "a b c d"),
        ("(a) (b) (c)", "a b c"),
        ("wide text", "wide\u00a0text\n"),
        ("„Wann?“", "wann"),
    ],
)
def test_case_spacing_unicode_form_and_edge_punctuation_do_not_count(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C?", "What is C++?"),
        ("What is C?", "What is C#?"),
        ("-5 °C", "5 °C"),
        ("1.5 kg", "15 kg"),
        ("< 3 days", "> 3 days"),
        ("10 %", "10"),
        ("co-op", "coop"),
        ("?", "!"),
    ],
)
def test_signs_that_carry_meaning_count(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@settings(deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="a.,(\"' )-", max_size=15))
def test_folding_twice_changes_nothing_and_never_empties_a_text(text: str) -> None:
    assert fold(text) or not text
    assert fold(fold(text)) == fold(text)


@settings(deadline=None)
@given(rows=ROWS, seed=st.integers(0, 99))
def test_the_order_of_rows_never_matters(rows: list[tuple[str, str, float | None]], seed: int) -> None:
    given_order = frame(rows)
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    shuffled = given_order[order] if rows else given_order
    assert find_duplicates(given_order).equals(find_duplicates(shuffled))
    assert find_conflicts(given_order).equals(find_conflicts(shuffled))


@settings(deadline=None)
@given(rows=ROWS)
def test_one_of_each_group_of_equal_pairs_is_kept_and_the_others_name_it(
    rows: list[tuple[str, str, float | None]],
) -> None:
    everything = frame(rows)
    dropped = find_duplicates(everything)
    kept = everything.join(dropped, on="pair_id", how="anti")
    keys = [(fold(question), fold(answer)) for _, question, answer, _ in everything.iter_rows()]
    kept_keys = [(fold(question), fold(answer)) for _, question, answer, _ in kept.iter_rows()]
    assert sorted(kept_keys) == sorted(set(keys))
    assert set(dropped["duplicate_of"]) <= set(kept["pair_id"])


def test_the_higher_composite_is_kept_then_the_smaller_id_and_no_score_comes_last() -> None:
    rows = frame([("Q", "A", None), ("Q", "A", 0.8), ("Q", "A", 0.9), ("q", "a", 0.9)])
    assert find_duplicates(rows).rows() == [("p0", "p2"), ("p1", "p2"), ("p3", "p2")]


def test_different_answers_to_one_question_conflict() -> None:
    rows = frame([("When?", "At nine.", 0.9), ("when", "At ten.", 0.8), ("Who?", "Ann.", 0.8)])
    assert find_conflicts(rows).rows() == [("p0", 2), ("p1", 2)]


def test_equal_answers_to_one_question_do_not_conflict() -> None:
    assert find_conflicts(frame([("When?", "At nine.", 0.9), ("when", "at nine", 0.8)])).height == 0
