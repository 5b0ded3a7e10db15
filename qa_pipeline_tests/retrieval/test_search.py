import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import StorageError
from qa_pipeline.retrieval.search import Retriever, build_index, embed_chunks, fuse, terms
from qa_pipeline.settings.generation import RetrievalSettings
from qa_pipeline_tests.curation.rows import chunk_frame
from qa_pipeline_tests.fakes import HashEmbedder, cached


def retriever(frame: pl.DataFrame, **changes: float) -> Retriever:
    embedder = HashEmbedder()
    shard = build_index(embed_chunks(frame, cached(embedder)))
    return Retriever(frame, shard, embedder, RetrievalSettings.model_validate(changes))


def test_equal_scores_fall_back_on_the_order_of_the_items() -> None:
    assert [item for item, _ in fuse([[3, 1], [1, 3]], [1.0, 1.0], 60)] == [1, 3]


def test_fusion_follows_the_published_formula() -> None:
    fused = dict(fuse([[7, 8], [8]], [1.0, 0.5], 60))
    assert fused == {7: pytest.approx(1 / 61), 8: pytest.approx(1 / 62 + 0.5 / 61)}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Enable mod_alias in 2.4.58", "en", ["enabl", "mod_alias", "mod", "alia", "2.4.58", "2", "4", "58"]),
        ("AcceptFilter http", "en", ["acceptfilt", "http"]),
        ("conf.d/ssl.conf", "en", ["conf.d/ssl.conf", "conf", "d", "ssl", "conf"]),
        ("the servers' workers", "en", ["server", "worker"]),
        ("en well-known idé", "sv", ["well", "known", "idé"]),
        ("flickorna och pojkarna", "sv", ["flick", "pojk"]),
        ("die Häuser der Städte", "de", ["haus", "stadt"]),
        ("talot taloissa", "xx", ["talot", "taloissa"]),
        ("?! …", "en", []),
        ("", "en", []),
    ],
)
def test_terms_are_stems_and_whole_identifiers(text: str, language: str, expected: list[str]) -> None:
    assert terms(text, language) == expected


def test_an_identifier_is_found_among_prose() -> None:
    frame = chunk_frame(["The alias of a mod.", "Load mod_alias first.", "Nothing here."])
    assert retriever(frame, vector_weight=0).retrieve(["What loads mod_alias?"], ["en"])[0][0][0] == "c1"


def test_headings_are_searched_with_the_text() -> None:
    frame = pl.concat(
        [
            chunk_frame(["Set it to five."], section_path=["Server", "Timeout"]),
            chunk_frame(["x", "Set it to six."], section_path=["Server", "Workers"]).tail(1),
        ]
    )
    assert retriever(frame).retrieve(["What is the timeout?"], ["en"])[0][0][0] == "c0"


def test_questions_are_stemmed_in_their_own_language() -> None:
    frame = chunk_frame(["Flickan springer.", "Huset är rött."], language="sv")
    by_words, _ = retriever(frame).rankings(["Vilka flickor springer?"], ["sv"])[0]
    assert by_words == [0]


@given(seed=st.integers(0, 20), count=st.integers(1, 12))
def test_a_question_finds_the_same_whatever_is_asked_beside_it(seed: int, count: int) -> None:
    words = ["apple", "pear", "plum", "fig", "nut", "leaf"]
    generator = random.Random(seed)
    search = retriever(chunk_frame([" ".join(generator.choices(words, k=4)) for _ in range(count)]))
    questions = [" ".join(generator.choices(words, k=2)) for _ in range(6)]
    together = search.retrieve(questions, ["en"] * 6)
    assert together == [search.retrieve([question], ["en"])[0] for question in questions]
    assert all(len(found) == len(set(found)) == min(5, count) for found in together)


def test_a_question_without_a_known_word_falls_back_on_vectors() -> None:
    search = retriever(chunk_frame(["apple", "pear"]))
    assert search.rankings(["zzz qqq"], ["en"]) == [([], [0, 1])]
    assert [chunk_id for chunk_id, _ in search.retrieve(["zzz qqq"], ["en"])[0]] == ["c0", "c1"]


def test_an_empty_batch_finds_nothing_and_loads_no_model() -> None:
    embedder = HashEmbedder()
    frame = chunk_frame([])
    empty = Retriever(
        frame,
        build_index(embed_chunks(frame, cached(embedder))),
        embedder,
        RetrievalSettings(),
    )
    assert empty.retrieve(["anything?", "else?"], ["en", "sv"]) == [[], []]
    assert embedder.encoded == []


def test_an_index_in_another_order_is_refused() -> None:
    embedder = HashEmbedder()
    frame = chunk_frame(["apples ripen", "pears rot", "plums fall"])
    backwards = build_index(embed_chunks(frame.reverse(), cached(embedder)))
    with pytest.raises(StorageError):
        Retriever(frame, backwards, embedder, RetrievalSettings())
