import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.splitting import resolved, self_contained, split_claims
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

QUESTION = "What is said of the machine?"


@pytest.mark.parametrize(
    ("language", "before", "text", "expected"),
    [
        ("en", "The heat pump is new.", "It costs 900 kr.", "The heat pump costs 900 kr."),
        ("en", "Longboards are wide.", "They also have a flat nose.", "Longboards also have a flat nose."),
        ("en", "PayPal is a service.", "It operates in 200 countries.", "PayPal operates in 200 countries."),
        ("sv", "Pumpen är ny.", "Den kan ställas utomhus.", "Pumpen kan ställas utomhus."),
        ("sv", "Pumparna är nya.", "De kan ställas utomhus.", "Pumparna kan ställas utomhus."),
        ("de", "Der Filter ist neu.", "Er kann gewaschen werden.", "Der Filter kann gewaschen werden."),
        ("de", "Die Pumpe ist neu.", "Sie kann leise laufen.", "Die Pumpe kann leise laufen."),
    ],
)
def test_an_opening_pronoun_takes_the_subject_of_the_sentence_before(
    language: str, before: str, text: str, expected: str
) -> None:
    assert resolved(text, [before], "", language) == expected


@pytest.mark.parametrize(
    ("language", "before", "text"),
    [
        ("en", "The heat pump is new.", "They cost 900 kr."),
        ("en", "The pump and the valve are new.", "It costs 900 kr."),
        ("en", "After the war, the pump was sold.", "It costs 900 kr."),
        ("en", "The heat pump is new.", "It is important that the valve opens."),
        ("en", "The heat pump is new.", "This is because the valve opens."),
        ("en", "Heat rises quickly here.", "It costs 900 kr."),
        ("sv", "Pumpen är ny.", "Det finns en ventil."),
        ("sv", "Pumpen är ny.", "Den gamla ventilen är trasig."),
        ("sv", "Pumpen är ny.", "Det är trasigt nu."),
        ("de", "Die Pumpe ist neu.", "Er kann gewaschen werden."),
        ("de", "Die Pumpe ist neu.", "Es gibt einen Filter."),
    ],
)
def test_what_is_not_beyond_doubt_is_left_alone(language: str, before: str, text: str) -> None:
    assert resolved(text, [before], "", language) is None


def test_a_name_in_the_question_and_another_subject_before_are_two_candidates() -> None:
    assert resolved("It is loud.", ["The valve is new."], "What about the Nordvik?", "en") is None


def test_a_first_sentence_takes_the_one_name_of_the_question() -> None:
    assert resolved("It is loud.", [], "How loud is the Nordvik?", "en") == "Nordvik is loud."
    assert resolved("It is loud.", [], "How loud are Nordvik and Sydvik?", "en") is None


def test_the_subject_is_carried_on_from_sentence_to_sentence() -> None:
    claims = split_claims("The pump is new. It is loud. It has a filter.", "en")
    found = [one.self_contained for one in self_contained(claims, QUESTION, "en")]
    assert found == [None, "The pump is loud.", "The pump has a filter."]


def test_scores_are_of_the_wording_and_the_span_is_of_the_answer() -> None:
    frame = documents({"a.md": "The heat pump has a weight of 80 kg."})
    answer = "The heat pump is new. It has a weight of 80 kg."
    rows = pairs(pair(answer, cites="a.md"))
    found = find_claims(rows, frame, chunks(frame), HashEmbedder())
    last = found.row(1, named=True)
    assert last["self_contained"] == "The heat pump has a weight of 80 kg."
    assert answer[last["start"] : last["end"]] == last["text"] == "It has a weight of 80 kg."
    assert last["similarity"] == pytest.approx(1.0, abs=1e-5)
    assert last["unproved"] == []
    assert isinstance(found, pl.DataFrame)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=2), st.text(max_size=40))
def test_a_wording_only_replaces_the_first_word(text: str, before: list[str], question: str) -> None:
    for language in ("en", "sv", "de"):
        wording = resolved(text, before, question, language)
        if wording is not None:
            assert wording.endswith(text.split(maxsplit=1)[1].strip()[-5:])
