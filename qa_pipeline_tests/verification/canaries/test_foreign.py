"""Falsehoods by operators that know nothing of the rules differ from their sentence in what they state."""

import re

import pytest

from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.verification.canaries.foreign import GENERATORS
from qa_pipeline.verification.canaries.material import Generator, gather
from qa_pipeline_tests.curation.rows import chunk
from qa_pipeline_tests.verification.canaries.sentences import material
from qa_pipeline_tests.verification.canaries.test_known import made


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s.,;:]", text.casefold())


def claims(kind: str, *texts: str, language: str = "en", together: bool = False) -> list[str]:
    rows = [
        chunk(f"c{n}", document_id="d" if together else f"d{n}", language=language, text=text)
        for n, text in enumerate(texts)
    ]
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
    for claim in claims("phrase_deleted", text):
        assert {"feeders", "valves"} <= set(words(claim))


def test_a_word_put_in_is_of_the_corpus_and_not_of_the_sentence() -> None:
    text = "The pump of the first building was checked by them in early spring."
    other = "Nordvik delivers remarkable turbines from Bergen to every larger harbour."
    for claim in claims("word_inserted", text, other):
        (new,) = set(words(claim)) - set(words(text))
        assert new in words(other)


@pytest.mark.parametrize(
    ("language", "text", "inflected"),
    [
        (
            "sv",
            "Grunder för beslutet ska alltid anges i protokollet av nämnden.",
            "Grunderna för beslutet finns i lagen och ska följas av nämnden.",
        ),
        (
            "de",
            "Verzeichnisse des Servers werden in jeder Nacht vollständig gesichert.",
            "Verzeichnis des Servers und Protokoll liegen auf einer anderen Platte.",
        ),
        (
            "en",
            "Directories of the server are saved in full during every night.",
            "Directory of the server and its log are kept on another disk.",
        ),
    ],
)
def test_another_inflection_of_the_same_opening_is_no_other_subject(
    language: str, text: str, inflected: str
) -> None:
    assert claims("subject_replaced", text, inflected, language=language, together=True) == []
    other = {
        "sv": "Avgiften till kommunen betalas av den som äger huset vid årets slut.",
        "de": "Gebühren der Stadt zahlt jeder Eigentümer am Ende des Jahres selbst.",
        "en": "Fees of the town are paid by each owner at the end of the year.",
    }[language]
    assert claims("subject_replaced", text, other, language=language, together=True)


def test_a_sentence_ends_early_only_before_its_condition() -> None:
    text = "The pump of the first building is stopped by them if the pressure falls below a limit."
    assert claims("tail_deleted", text) == ["The pump of the first building is stopped by them."]
    text = "Die Größe des Gefäßes muss jeder melden, wenn das Maß im Frühjahr geändert wird."
    assert claims("tail_deleted", text, language="de") == ["Die Größe des Gefäßes muss jeder melden."]
    assert claims("tail_deleted", "The pump of the first building was checked by them in early spring.") == []


def test_a_clause_that_limits_nothing_is_not_taken_away() -> None:
    text = "The pump, built by them long ago, was checked in spring, unless it rained for long."
    claim = "The pump, was checked in spring, unless it rained for long."
    assert claim not in claims("phrase_deleted", text)


def test_only_words_that_limit_a_sentence_are_taken_away_alone() -> None:
    assert claims("function_word_deleted", "They may check the new pump in spring with two tools.") == []
    text = "They may check only the new pump in spring with two tools."
    assert claims("function_word_deleted", text) == ["They may check the new pump in spring with two tools."]
    assert claims("function_word_deleted", "They need some tools for the check of the pump in spring.") == []
    text = "Some guests need tools for the check of the new pump in spring."
    assert claims("function_word_deleted", text) == [text[5:].capitalize()]


def test_a_function_word_gives_way_only_to_one_that_excludes_it() -> None:
    text = "All guests must bring each tool that they always need for the check."
    flipped = claims("function_word_flipped", text)
    assert any(claim.startswith("No guests") for claim in flipped)
    assert not any(claim.startswith(("Some", "Many", "Most")) for claim in flipped)
    assert not any("every tool" in claim for claim in flipped)
    assert claims("function_word_flipped", "The guest is asked for tools and keys of this house.") == []


def test_a_sign_between_words_is_left_alone() -> None:
    assert (
        claims("sign_replaced", "The guests read and/or write the open/closed list of the new house.") == []
    )
    assert claims("sign_replaced", "The share of glue in the mix for the wall is ≥ 20 % of its weight.")


def test_an_opening_that_ends_with_a_comma_is_no_subject() -> None:
    text = "Using these ideas, the pump of the house can be checked in spring."
    other = "Fees of the town are paid by each owner at the end of the year."
    assert claims("subject_replaced", text, other, together=True) == []


def test_neighbours_do_not_change_places() -> None:
    text = "The server answers with the HTTP error of the second table in spring."
    assert not any("error HTTP" in claim for claim in claims("words_exchanged", text))
