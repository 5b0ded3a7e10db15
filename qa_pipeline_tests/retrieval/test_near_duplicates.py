from collections.abc import Sequence

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval.near_duplicates import jaccard, mark_near_duplicates, shingles

WORDS = st.lists(st.sampled_from([f"word{number}" for number in range(60)]), min_size=45, max_size=90)


def documents(texts: Sequence[str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "document_id": [f"d{number}" for number in range(len(texts))],
            "status": ["failed" if text is None else "parsed" for text in texts],
            "text": texts,
            "near_duplicate_of": pl.Series([None] * len(texts), dtype=pl.String()),
            "near_duplicate_similarity": pl.Series([None] * len(texts), dtype=pl.Float64()),
        },
        schema_overrides={"document_id": pl.String(), "text": pl.String()},
    )


def marked(texts: Sequence[str | None]) -> list[tuple[str | None, float | None]]:
    frame = mark_near_duplicates(documents(texts))
    return list(frame.select("near_duplicate_of", "near_duplicate_similarity").iter_rows())


def prose(topic: str, length: int = 200) -> str:
    return " ".join(f"{topic}{number % 83} stands {number}" for number in range(length))


@given(WORDS, WORDS)
def test_similarity_is_the_jaccard_index_of_five_word_sequences(one: list[str], other: list[str]) -> None:
    def sequences(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[place : place + 5]) for place in range(len(words) - 4)}

    expected = len(sequences(one) & sequences(other)) / len(sequences(one) | sequences(other))
    assert np.isclose(jaccard(shingles(" ".join(one)), shingles(" ".join(other))), expected)


@given(st.lists(WORDS, max_size=5))
def test_what_stands_for_others_is_itself_no_near_duplicate_and_is_no_shorter(
    texts: list[list[str]],
) -> None:
    frame = mark_near_duplicates(documents([" ".join(words) for words in texts]))
    assert frame["document_id"].to_list() == [f"d{number}" for number in range(len(texts))]
    by_id = {row["document_id"]: row for row in frame.iter_rows(named=True)}
    for row in by_id.values():
        if (of := row["near_duplicate_of"]) is not None:
            assert by_id[of]["near_duplicate_of"] is None
            assert len(by_id[of]["text"]) >= len(row["text"])
            assert row["near_duplicate_similarity"] >= 0.7999


def test_an_edited_copy_is_found_and_another_text_is_not() -> None:
    text = prose("heat")
    copy = text.replace("heat7 stands 90", "something else")
    found = marked([copy, text + " and a last word", prose("water")])
    assert found[0][0] == "d1"
    assert found[0][1] is not None
    assert found[0][1] > 0.9
    assert found[1:] == [(None, None), (None, None)]


def test_equal_texts_are_found() -> None:
    assert marked([prose("heat"), prose("heat")]) == [(None, None), ("d0", 1.0)]


def test_short_texts_and_files_that_were_not_read_are_compared_with_nothing() -> None:
    assert marked(["Opening hours: 9 to 5"] * 2 + [None]) == [(None, None)] * 3
