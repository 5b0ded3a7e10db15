from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.retrieval.packing import mark_repeated_blocks

NOTICE = "This manual is given without any warranty, and the owner may change it at any time."
OWN = "The pump of model {} runs at its own pressure, which stands nowhere else in the batch."


def frames(texts: Sequence[Sequence[str]], near: Sequence[int] = ()) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Chunks and documents of a batch in which each document is a list of chunk texts."""
    chunks = pl.DataFrame(
        [
            {"chunk_id": f"c{number}-{place}", "document_id": f"d{number}", "text": text}
            for number, document in enumerate(texts)
            for place, text in enumerate(document)
        ],
        schema={"chunk_id": pl.String(), "document_id": pl.String(), "text": pl.String()},
    )
    documents = pl.DataFrame(
        {
            "document_id": [f"d{number}" for number in range(len(texts))],
            "near_duplicate_of": ["d0" if number in near else None for number in range(len(texts))],
        },
        schema={"document_id": pl.String(), "near_duplicate_of": pl.String()},
    )
    return chunks, documents


def marks(texts: Sequence[Sequence[str]], near: Sequence[int] = ()) -> list[str | None]:
    return mark_repeated_blocks(*frames(texts, near))["passed_over"].to_list()


@given(st.lists(st.lists(st.sampled_from([NOTICE, OWN, "Short.", ""]), max_size=3), max_size=6))
def test_no_chunk_is_lost_and_the_first_document_to_say_something_is_never_marked(
    texts: list[list[str]],
) -> None:
    chunks, documents = frames(texts)
    marked = mark_repeated_blocks(chunks, documents)
    assert marked.drop("passed_over").equals(chunks)
    first = next((number for number, document in enumerate(texts) if document), None)
    assert marked.filter(pl.col("document_id") == f"d{first}")["passed_over"].null_count() == (
        0 if first is None else len(texts[first])
    )


def test_a_block_that_several_documents_hold_is_a_repeat_in_all_but_the_first() -> None:
    texts = [[OWN.format(number), f"## Notice\n\n{NOTICE}"] for number in range(3)]
    assert marks(texts) == [None, None, None, "repeated_block", None, "repeated_block"]
    assert marks(texts[:2]) == [None] * 4


@pytest.mark.parametrize(
    "texts",
    [
        [[f"{NOTICE}\n\n{OWN.format(number)}"] for number in range(4)],
        [[NOTICE] * 4, [OWN.format(1)]],
        [["## See also\n\nThe manual."] for _ in range(5)],
    ],
)
def test_own_words_blocks_of_one_document_and_short_lines_are_no_repeats(texts: list[list[str]]) -> None:
    assert set(marks(texts)) == {None}


def test_every_chunk_of_a_near_duplicate_is_marked_and_makes_no_block_a_repeat() -> None:
    texts = [[NOTICE], [NOTICE], [NOTICE, OWN.format(1)]]
    assert marks(texts, near=[2]) == [None, None, "near_duplicate", "near_duplicate"]
