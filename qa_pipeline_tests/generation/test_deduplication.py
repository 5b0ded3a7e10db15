"""Same meaning in equal words and near ones is found, different meaning is not, however alike."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.deduplication import find_twins, normalised
from qa_pipeline_tests.curation.rows import Row, pair, pairs

LONG = "The keeper opens the north gate at nine."
WORDS = st.sampled_from(
    ["When does it open?", "it opens, when", "Who?", "C", "C++", "«who»", "C ++", "5", "?"]
)


def found(rows: list[Row]) -> pl.DataFrame:
    return find_twins(pairs(*rows))


def asked(question: str, answer: str = LONG, pair_id: str = "a", quote: str = "q", **values: Any) -> Row:
    """A pair that rests on the quote `q` of the chunk `c`."""
    cited = {"raw": "", "chunk_id": "c", "quote": quote, "resolution": "chunk"}
    return pair(pair_id, question=question, answer=answer, citations=[cited], **values)


def relation(one: Row, other: Row) -> str:
    """How the table relates two pairs."""
    rows = {row["pair_id"]: row for row in found([one, {**other, "pair_id": "b"}]).to_dicts()}
    if rows["b"]["exact_group"] == "a":
        return "exact"
    return "near" if rows["b"]["near_group"] == "a" else "apart"


def fold(text: str) -> str:
    folded: str = pl.DataFrame({"t": [text]}).select(normalised(pl.col("t"))).item()
    return folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("When does it open?", "when does it  open"),
        ("The ﬁle (new)", "the file new"),
        ("Cafe\u0301", "café"),
        ("(a) (b) (c)", "a b c"),
        ("wide text", "wide\u00a0text\n"),
    ],
)
def test_case_spacing_unicode_form_and_edge_punctuation_do_not_count(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C?", "What is C++?"),
        ("-5 °C", "5 °C"),
        ("1.5 kg", "15 kg"),
        ("< 3 days", "> 3 days"),
        ("?", "!"),
    ],
)
def test_signs_that_carry_meaning_count(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text(max_size=30) | st.text(alphabet="a.,(\"' )-", max_size=15))
def test_folding_twice_changes_nothing_and_never_empties_a_text(text: str) -> None:
    assert fold(text) or not text
    assert fold(fold(text)) == fold(text)


@given(texts=st.lists(st.tuples(WORDS, WORDS), max_size=6), seed=st.integers(0, 9))
def test_the_order_of_pairs_changes_no_row_and_exact_groups_lie_within_near_ones(
    texts: list[tuple[str, str]], seed: int
) -> None:
    made = pairs(*(asked(*both, pair_id=f"p{n}") for n, both in enumerate(texts)))
    mixed = made.sample(fraction=1.0, shuffle=True, seed=seed)
    one, other = (find_twins(frame) for frame in (made, mixed))
    assert one["pair_id"].to_list() == made["pair_id"].to_list()
    assert one.sort("pair_id").equals(other.sort("pair_id"))
    assert (one.group_by("exact_group").agg(pl.col("near_group").n_unique())["near_group"] == 1).all()
    for name in ("exact_group", "near_group"):
        assert one.filter(pl.col(name) != pl.col("pair_id").min().over(name)).is_empty()


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "When does the gate open?", "When do the gates open?"),
        ("en", "On Mondays, who opens the gate?", "Who opens the gate on Mondays?"),
        ("en", "How can I open the gate?", "How do I open a gate?"),
        ("de", "Wie kann ich das Tor öffnen?", "Wie kann man das Tor öffnen?"),
        ("sv", "Vem öppnar grinden på måndagar?", "På måndagar, vem öppnar grinden?"),
    ],
)
def test_order_inflection_and_stop_words_of_a_question_make_near_twins(
    language: str, one: str, other: str
) -> None:
    assert relation(asked(one, language=language), asked(other, language=language)) == "near"


def test_questions_in_different_languages_are_no_near_twins() -> None:
    assert relation(asked("Fest im Park?"), asked("Park im Fest?", language="de")) == "apart"


def test_known_answer_pairs_and_failed_drafts_have_no_row() -> None:
    others = [pair("b", expected_verdict="accepted"), pair("c", answer=None), pair("d", question=None)]
    assert found([asked("Q?"), *others])["pair_id"].to_list() == ["a"]
    assert found([]).is_empty()
