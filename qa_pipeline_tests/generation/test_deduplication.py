"""Same meaning in equal words, near ones and others is found, different meaning is not, however alike."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.deduplication import FEWEST_QUESTIONS, diversity, find_twins, normalised
from qa_pipeline.settings.generation import IndexSettings
from qa_pipeline.storage.tables import TWINS
from qa_pipeline_tests.curation.rows import Row, pair, pairs
from qa_pipeline_tests.fakes import HashEmbedder, cached

LONG = "The keeper opens the north gate at nine."
WORDS = st.sampled_from(
    ["When does it open?", "it opens, when", "Who?", "C", "C++", "«who»", "C ++", "5", "?"]
)


def found(rows: list[Row], **settings: Any) -> pl.DataFrame:
    return find_twins(pairs(*rows), cached(HashEmbedder()), **settings)


def asked(question: str, answer: str = LONG, pair_id: str = "a", quote: str = "q", **values: Any) -> Row:
    """A pair that rests on the quote `q` of the chunk `c`."""
    cited = {"raw": "", "chunk_id": "c", "quote": quote, "resolution": "chunk"}
    return pair(pair_id, question=question, answer=answer, citations=[cited], **values)


def relation(one: Row, other: Row) -> str:
    """How the table relates two pairs."""
    rows = {row["pair_id"]: row for row in found([one, {**other, "pair_id": "b"}]).to_dicts()}
    if rows["b"]["exact_group"] == "a":
        return "exact"
    if rows["b"]["near_group"] == "a":
        return "near"
    return "similar" if [edge["pair_id"] for edge in rows["a"]["similar"]] == ["b"] else "apart"


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


@given(st.text(max_size=30) | st.text(alphabet="a.,(\"' )-", max_size=15))
def test_folding_twice_changes_nothing_and_never_empties_a_text(text: str) -> None:
    assert fold(text) or not text
    assert fold(fold(text)) == fold(text)


@given(texts=st.lists(st.tuples(WORDS, WORDS), max_size=6), seed=st.integers(0, 9))
def test_the_order_of_pairs_changes_no_row(texts: list[tuple[str, str]], seed: int) -> None:
    made = pairs(*(asked(*both, pair_id=f"p{n}") for n, both in enumerate(texts)))
    mixed = made.sample(fraction=1.0, shuffle=True, seed=seed)
    one, other = (find_twins(frame, cached(HashEmbedder())) for frame in (made, mixed))
    assert one["pair_id"].to_list() == made["pair_id"].to_list()
    assert one.sort("pair_id").equals(other.sort("pair_id"))


@given(texts=st.lists(st.tuples(WORDS, WORDS), max_size=6))
def test_exact_groups_lie_within_near_groups_and_both_are_named_after_their_first_pair(
    texts: list[tuple[str, str]],
) -> None:
    rows = found([asked(*both, pair_id=f"p{n}") for n, both in enumerate(texts)])
    assert (
        rows.group_by("exact_group")
        .agg(pl.col("near_group").n_unique())
        .filter(pl.col("near_group") > 1)
        .is_empty()
    )
    for name in ("exact_group", "near_group"):
        assert rows.filter(pl.col(name) != pl.col("pair_id").min().over(name)).is_empty()
    assert rows.filter(pl.col("near_group") != pl.col("pair_id"), pl.col("similar").list.len() > 0).is_empty()


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How many steps has gate 3 in the hall?", "How many steps has gate 4 in the hall?"),
        ("Who opens the gate in May 1987?", "Who opens the gate in May 1978?"),
        ("Who opens the gate of Ashford?", "Who opens the gate of Oxford?"),
        ("Which module has KeepAlive set on?", "Which module has KeepAliveTimeout set on?"),
        ("Which group owns the file mod_alpha?", "Which group owns the file mod_beta?"),
        ("Which group owns the file home-page?", "Which group owns the file home page?"),
        ("What does the label “dry” mean here?", "What does the label “damp” mean here?"),
        ("Which gates must be open in winter?", "Which gates must not be open in winter?"),
        ("What is done before the gate opens?", "What is done after the gate opens?"),
        ("How do I enable the gate?", "How do I disable the gate?"),
        ("What is C in the hall?", "What is C++ in the hall?"),
        ("When does the gate open?", "Why does the gate open?"),
        ("Who opens the gate of the park?", "How is the gate of the park unlocked?"),
    ],
)
def test_numbers_names_quotes_and_opposites_hold_questions_apart_whatever_the_evidence(
    one: str, other: str
) -> None:
    assert relation(asked(one), asked(other)) == "apart"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("At nine.", "At ten."),
        ("Yes.", "No."),
        ("Oak", "Pine"),
        ("First open, then lock.", "First lock, then open."),
        ("It may open.", "It must open."),
        ("cache on", "cache off"),
        ("The gate opens at 9.", "The door opens at 9."),
    ],
)
def test_one_question_with_different_answers_has_no_twins(one: str, other: str) -> None:
    question = "Which opens first, the oak or the pine gate?"
    assert relation(asked(question, one), asked(question, other)) == "apart"


def test_an_answer_may_say_less_where_the_question_says_the_rest() -> None:
    question = "When does the gate open?"
    assert relation(asked(question, "The gate opens at nine."), asked(question, "At nine.")) == "similar"


def test_other_words_make_twins_on_the_same_quote_or_with_the_same_long_answer_only() -> None:
    one, other = "Who unlocks the gate of the park?", "Who opens the gate of the park?"
    assert relation(asked(one, "Ann"), asked(other, "Ann")) == "similar"
    assert relation(asked(one, "Ann"), asked(other, "Ann", quote="another")) == "apart"
    assert relation(asked(one), asked(other, quote="another")) == "similar"


def test_refusals_of_different_questions_share_their_words_and_are_no_twins() -> None:
    questions = ("Who unlocks the gate of the park?", "Who opens the gate of the park?")
    one, other = ({**asked(question, coverage="none"), "citations": []} for question in questions)
    assert relation(one, other) == "apart"


def test_questions_in_different_languages_are_no_near_twins() -> None:
    assert relation(asked("Fest im Park?"), asked("Park im Fest?", language="de")) == "apart"


def test_known_answer_pairs_and_failed_drafts_have_no_row() -> None:
    rows = [
        asked("Q?"),
        pair("b", expected_verdict="accepted"),
        pair("c", answer=None),
        pair("d", question=None),
    ]
    assert found(rows)["pair_id"].to_list() == ["a"]
    assert found([]).equals(TWINS.empty())


def test_a_model_that_asks_the_same_of_every_chunk_is_one_cluster_of_equal_questions() -> None:
    rows = [asked("What is this about?", f"About {n}.", f"p{n:04}") for n in range(500)]
    twins = found(rows)
    assert diversity(twins) == {"cluster_entropy": 0.0, "self_similarity": 1.0}
    assert twins["near_group"].n_unique() == len(rows)  # other answers: a conflict, and no twins


def test_near_identical_pages_have_no_twins_but_for_their_own() -> None:
    rows = [asked(f"What does page {n} say?", f"It says {n}.", f"p{n:04}") for n in range(500)]
    again = [asked(f"Page {n} says what?", f"It says {n}", f"q{n:04}") for n in range(500)]
    twins = found(rows + again)
    assert twins["near_group"].to_list() == [row["pair_id"] for row in rows] * 2
    assert twins["similar"].list.len().sum() == 0


def test_spread_questions_are_more_diverse_than_gathered_ones() -> None:
    letters = np.random.default_rng(0).permuted(list("abcdefghijklmnopqrstuvwxyz"))
    spread = found([asked(f"{a}{b}?", f"{a}{b}", a + b) for a in letters[:6] for b in letters[6:12]])
    gathered = found([asked(f"the same long words of the gate {n}?", str(n), f"p{n:02}") for n in range(36)])
    wide, narrow = diversity(spread), diversity(gathered)
    assert wide["self_similarity"] is not None
    assert narrow["self_similarity"] is not None
    assert wide["self_similarity"] < narrow["self_similarity"]


def test_drafts_for_one_question_do_not_make_it_a_repeated_one() -> None:
    words = np.random.default_rng(1).permuted(list("abcdefghijklmnopqrstuvwxyz"))
    rows = [
        pair(f"{a}{b}{n}", question=f"{a}{b}?", question_id=a + b, draft=n)
        for a in words[:6]
        for b in words[6:12]
        for n in (1, 2)
    ]
    twice, once = found(rows), found(rows[::2])
    assert diversity(twice)["self_similarity"] == diversity(once)["self_similarity"]


def test_a_few_questions_have_no_diversity() -> None:
    few = found([asked(f"Q{n}?", pair_id=str(n)) for n in range(FEWEST_QUESTIONS - 1)])
    assert few["nearest_similarity"].null_count() == few["cluster"].null_count() == FEWEST_QUESTIONS - 1
    assert diversity(few) == {"cluster_entropy": None, "self_similarity": None}


def test_a_batch_that_is_searched_approximately_has_the_same_nearest_questions() -> None:
    rows = [asked(f"What does page {n} of book {n % 7} say?", str(n), f"p{n:03}") for n in range(120)]
    assert found(rows).equals(found(rows, index=IndexSettings(exact_below=50)))
