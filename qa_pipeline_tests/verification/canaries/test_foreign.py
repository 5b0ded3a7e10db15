"""Falsehoods by operators that know nothing of the rules differ from their sentence in what they state."""

import re

import pytest

from qa_pipeline.tables import CHUNKS
from qa_pipeline.verification.canaries.foreign import GENERATORS
from qa_pipeline.verification.canaries.material import Generator, gather
from qa_pipeline_tests.curation.rows import chunk
from qa_pipeline_tests.verification.canaries.sentences import material
from qa_pipeline_tests.verification.canaries.test_known import made


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s.,;:]", text.casefold())


def claims(kind: str, *texts: str) -> list[str]:
    rows = [chunk(f"c{n}", document_id=f"d{n}", language="en", text=text) for n, text in enumerate(texts)]
    among = gather(CHUNKS.frame(rows))
    generator = next(one for one in GENERATORS if one.kind == kind)
    return [claim for sentence, claim, _ in made(generator, among) if sentence.chunk_id == "c0"]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: one.kind)
def test_each_operator_finds_something(generator: Generator) -> None:
    assert len({sentence.language for sentence, _, _ in made(generator, material())}) >= 2


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: one.kind)
def test_each_edit_changes_the_words_or_signs_or_their_order(generator: Generator) -> None:
    for sentence, claim, chunk_id in made(generator, material()):
        assert words(claim) != words(sentence.text)
        assert chunk_id == sentence.chunk_id
        assert generator.expected == "rejected"


def test_equals_of_a_list_do_not_change_places() -> None:
    text = "The pumps and valves were all checked by them in the early spring."
    turned = "The valves and pumps were all checked by them in the early spring."
    assert turned not in claims("words_exchanged", text)


def test_an_item_of_a_list_and_words_in_brackets_are_no_falsehood_when_they_are_gone() -> None:
    text = "The pumps (also called feeders) and valves were checked by them in early spring."
    for claim in (*claims("word_deleted", text), *claims("phrase_deleted", text)):
        assert {"feeders", "valves"} <= set(words(claim))


def test_a_word_put_in_is_of_the_corpus_and_not_of_the_sentence() -> None:
    text = "The pump of the first building was checked by them in early spring."
    other = "Nordvik delivers remarkable turbines from Bergen to every larger harbour."
    for claim in claims("word_inserted", text, other):
        (new,) = set(words(claim)) - set(words(text))
        assert new in words(other)
