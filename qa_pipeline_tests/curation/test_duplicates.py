"""Of twins one stays and the others name it, and the order of rows never matters."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.duplicates import (
    MOST_OF_ONE_WORDING,
    find_conflicts,
    find_duplicates,
    find_same_wording,
)

SCHEMA = {"pair_id": pl.String, "question": pl.String, "answer": pl.String, "composite": pl.Float64}
IDS = [f"p{n}" for n in range(7)]


def frame(*rows: tuple[str, str, float | None]) -> pl.DataFrame:
    return pl.DataFrame([(f"p{n}", *row) for n, row in enumerate(rows)], schema=SCHEMA, orient="row")


def scored(*scores: float | None) -> pl.DataFrame:
    return frame(*((f"Q{n}", "A", score) for n, score in enumerate(scores)))


def twins(exact: str, near: str) -> pl.DataFrame:
    """A row for each letter; equal letters are of one group."""
    rows = [
        {
            "pair_id": pair_id,
            "exact_group": IDS[exact.index(exact[n])],
            "near_group": IDS[near.index(near[n])],
        }
        for n, pair_id in enumerate(IDS[: len(exact)])
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("pair_id", "exact_group", "near_group"), pl.String()))


@st.composite
def twins_of_batches(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Candidates and their twins; some rows of either have none of the other."""
    scores = draw(st.lists(st.none() | st.sampled_from([0.7, 0.8, 0.9]), min_size=1, max_size=7))
    letters = st.text("abcd", min_size=len(scores), max_size=len(scores))
    near = draw(letters)
    exact = "".join(draw(st.sampled_from([letter, letter.upper()])) for letter in near)
    candidates = scored(*scores).filter(
        pl.Series(draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    )
    return candidates, twins(exact, near)


def are_twins(one: str, other: str, found: pl.DataFrame) -> bool:
    groups: dict[str, str] = dict(found.select("pair_id", "near_group").iter_rows())
    return groups[one] == groups[other]


@given(made=twins_of_batches(), seed=st.integers(0, 99))
def test_the_order_of_rows_never_matters(made: tuple[pl.DataFrame, pl.DataFrame], seed: int) -> None:
    candidates, found = (one.sample(fraction=1.0, shuffle=True, seed=seed) for one in made)
    assert find_duplicates(*made).equals(find_duplicates(candidates, found))


@given(made=twins_of_batches())
def test_no_two_twins_are_kept_and_what_is_dropped_names_a_kept_pair(
    made: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    candidates, found = made
    dropped = find_duplicates(candidates, found)
    kept = candidates.join(dropped, on="pair_id", how="anti")["pair_id"].to_list()
    assert not any(
        are_twins(one, other, found) for place, one in enumerate(kept) for other in kept[place + 1 :]
    )
    assert set(dropped["duplicate_of"]) <= set(kept)
    assert dropped["pair_id"].is_unique().all()


def test_the_higher_composite_is_kept_then_the_smaller_id_and_no_score_comes_last() -> None:
    found = find_duplicates(scored(None, 0.8, 0.9, 0.9), twins("aaaa", "aaaa"))
    assert found.select("pair_id", "duplicate_of").rows() == [("p0", "p2"), ("p1", "p2"), ("p3", "p2")]


def test_the_reason_says_how_a_pair_repeats_the_kept_one() -> None:
    found = find_duplicates(scored(0.9, 0.8, 0.7), twins("aab", "aaa"))
    assert found.rows() == [
        ("p1", "p0", "duplicate"),
        ("p2", "p0", "near_duplicate"),
    ]


def test_different_answers_to_one_question_conflict() -> None:
    rows = frame(("When?", "At nine.", 0.9), ("when", "At ten.", 0.8), ("Who?", "Ann.", 0.8))
    assert find_conflicts(rows).rows() == [("p0", 2), ("p1", 2)]


def filled_in(count: int, **values: object) -> pl.DataFrame:
    """Pairs of one wording about rooms 1 to count."""
    rows = [
        {
            "pair_id": f"p{room:03}",
            "question_id": f"q{room}",
            "question": f"What opens in room {room}?",
            "answer": f"In room {room}, door {room + 7} opens.",
            "composite": None,
            **values,
        }
        for room in range(1, count + 1)
    ]
    return pl.DataFrame(rows, schema_overrides={"composite": pl.Float64, "question_id": pl.String})


@given(st.integers(0, 40))
def test_of_rows_that_differ_in_figures_alone_ten_stay(count: int) -> None:
    dropped = find_same_wording(filled_in(count)) if count else filled_in(1).clear()
    assert dropped.height == max(0, count - MOST_OF_ONE_WORDING)
    assert not dropped.height or set(dropped["duplicate_of"]) == {"p001"}


def test_rows_of_other_words_and_rows_that_people_brought_stay() -> None:
    rooms = filled_in(30)
    named = rooms.with_columns(
        answer=pl.format("The {} door opens.", pl.Series([chr(97 + n) * 3 for n in range(30)]))
    )
    assert find_same_wording(named).is_empty()
    assert find_same_wording(filled_in(30, question_id=None)).is_empty()
