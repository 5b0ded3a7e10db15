import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.publishing.splits import (
    LONG_ANSWER,
    codes,
    document_keys,
    near_duplicates,
    row_keys,
    wording_codes,
)
from qa_pipeline.retrieval.near_duplicates import jaccard, shingles

ROW = {"documents": ["d1"], "question": "Which valve protects the boiler?", "answer": "The safety valve.",
       "coverage": "full", "language": "en"}  # fmt: skip


def shared(**other: object) -> int:
    """How many keys two rows have in common."""
    rows = pl.DataFrame(
        [ROW, {**ROW, "documents": ["d2"], **other}], schema_overrides={"documents": pl.List(pl.String())}
    )
    return row_keys(rows).group_by("key").len().filter(pl.col("len") > 1).height


@pytest.mark.parametrize(
    "question",
    [
        "WHICH VALVE PROTECTS THE BOILER",
        "The boiler is protected by which valve?",
        "Which  valves protect the boiler ?",
        "“Which valve protects a boiler?”",
    ],
)
def test_a_question_in_another_order_number_or_spelling_is_the_same(question: str) -> None:
    assert shared(question=question) >= 1


@pytest.mark.parametrize(
    "question", ["Which valve protects the tank?", "Which valve protects boiler 3?", "Who built it?", "?"]
)
def test_a_question_about_something_else_is_another(question: str) -> None:
    assert shared(question=question) == 0


def test_a_question_of_function_words_alone_is_known_by_all_of_them() -> None:
    rows = pl.DataFrame([{**ROW, "question": one} for one in ("Who is it?", "What is it?")])
    assert row_keys(rows)["row"].value_counts()["count"].to_list() == [3, 3]


def test_equal_documents_and_long_answers_are_kept_together_and_short_answers_and_refusals_are_not() -> None:
    long = {"question": "How?", "answer": "x" * LONG_ANSWER}
    assert shared(question="How?", documents=["d1"]) == 1
    rows = pl.DataFrame([{**ROW, **long}, {**ROW, **long, "question": "Why?", "documents": ["d2"]}])
    assert row_keys(rows).group_by("key").len()["len"].max() == 2
    refused = rows.with_columns(coverage=pl.lit("none"))
    assert row_keys(refused).group_by("key").len()["len"].max() == 1
    assert shared(question="How?") == 0


def test_equal_rows_have_equal_codes_whatever_their_case_and_others_have_not() -> None:
    rows = pl.DataFrame([ROW, {**ROW, "question": ROW["question"].upper()}, {**ROW, "answer": "Another."}])  # type: ignore[attr-defined]
    one, same, other = wording_codes(rows)
    assert one == same != other


def test_codes_are_the_same_on_every_machine() -> None:
    assert codes(["", "a", "ä"]).to_list() == [
        13020603013274838756,
        3405396810240292928,
        4152366542966443504,
    ]


WORDS = [f"w{n}" for n in range(400)]
TEXT = st.lists(st.sampled_from(WORDS), min_size=60, max_size=60, unique=True)


@given(TEXT, st.lists(st.tuples(st.integers(0, 59), st.sampled_from(WORDS)), max_size=4), TEXT)
def test_texts_as_similar_as_the_limit_are_joined_and_others_are_not(
    text: list[str], changes: list[tuple[int, str]], foreign: list[str]
) -> None:
    other = text.copy()
    for place, word in changes:
        other[place] = word
    texts = pl.DataFrame(
        {
            "content_sha256": ["a", "b", "c"],
            "text": [" ".join(one) for one in (text, other, [f"f{word}" for word in foreign])],
        }
    )
    keys = document_keys(texts["content_sha256"]).to_list()
    sets = [shingles(one) for one in texts["text"]]
    joined = joins(texts)
    similarity = jaccard(sets[0], sets[1])
    assert (similarity >= 0.9) <= (len(joined) == 1) <= (similarity >= 0.8)
    assert all(keys[2] not in pair for pair in joined)


def joins(texts: pl.DataFrame) -> set[tuple[int, int]]:
    """Keys of near duplicates, their texts given in two parts."""
    return set(near_duplicates([texts.head(1), texts.slice(1)]).iter_rows())


def test_documents_that_are_alike_over_others_between_are_joined_to_one() -> None:
    words = WORDS[:200]
    texts = [" ".join([*WORDS[300 : 300 + n], *words[n:]]) for n in (0, 4, 8, 12)]
    found = joins(pl.DataFrame({"content_sha256": ["a", "b", "c", "d"], "text": texts}))
    assert len(found) == 3
    assert len({head for _, head in found}) == 1


def test_texts_that_are_too_short_are_never_nearly_the_same() -> None:
    short = pl.DataFrame({"content_sha256": ["a", "b"], "text": ["one two three", "one two three"]})
    assert joins(short) == set()
