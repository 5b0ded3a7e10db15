"""Answers in plain text: their words and passages are kept, and nothing is made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.replies import recover
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import AnswerReply
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline_tests.llm.requests import claim


def request(language: str = "en") -> Request[AnswerReply]:
    return Request(
        role="answer", system="s", prompt="p", reply_model=AnswerReply, temperature=0.3, language=language
    )


@given(st.text(max_size=200))
def test_every_quote_and_number_recovered_is_in_the_text(text: str) -> None:
    found = recover(text, request())
    if found is not None and found.coverage != "none":
        assert found.used_chunks
        assert all(str(number) in text for number in found.used_chunks)
        assert all(citation.quote in text for citation in found.citations)


@pytest.mark.parametrize(
    ("text", "answer", "used", "quotes"),
    [
        ("Wait 10 minutes [1].", "Wait 10 minutes.", [1], []),
        (
            "It takes 10 minutes [1, 3]. Then close it (passage 2).",
            "It takes 10 minutes. Then close it.",
            [1, 3, 2],
            [],
        ),
        ('Wait. "wait 10 minutes" [passage 2]', 'Wait. "wait 10 minutes"', [2], ["wait 10 minutes"]),
        ("Det tar 10 minuter (avsnitt 1).", "Det tar 10 minuter.", [1], []),
        ("Wait <passage-1-3fa9c2d1>.\n\nSources: [1] guide", "Wait.", [1], []),
    ],
)
def test_words_passages_and_quotes_are_recovered(
    text: str, answer: str, used: list[int], quotes: list[str]
) -> None:
    found = recover(text, request())
    assert found is not None
    assert (found.answer, found.used_chunks) == (answer, used)
    assert [citation.quote for citation in found.citations] == quotes
    assert found.coverage == "partial"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_refusal_text_is_a_refusal(language: str) -> None:
    found = recover(refusal(language), request(language))
    assert found is not None
    assert (found.coverage, found.used_chunks, found.citations) == ("none", [], [])


@pytest.mark.parametrize("text", ["Wait 10 minutes.", "", "[1]", '{"answer": "Wait [1]', "Wait [0]."])
def test_what_names_no_passage_or_is_broken_json_is_not_recovered(text: str) -> None:
    assert recover(text, request()) is None


def test_no_decision_or_score_is_ever_read_from_plain_text() -> None:
    assert recover("I accept it, see [1].", claim()) is None
