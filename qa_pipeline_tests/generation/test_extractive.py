"""The extractive provider as a language model: what it asks, it answers from the same words."""

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.errors import PermanentModelError
from qa_pipeline.generation.extractive import ExtractiveModel, find_candidates
from qa_pipeline.llm.base import Request
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import AnswerReply, Passage, QuestionsReply, QuestionType, Role
from qa_pipeline_tests.llm.requests import Decision

GUIDE = """## KeepAliveTimeout

KeepAliveTimeout is a directive that limits how long a connection stays open.

SQLite is a library that keeps a database in one file."""

WORDS = st.sampled_from(
    (
        "The", "An", "If", "When", "To", "You can", "use", "is", "are", "a", "because", "that",
        "mod_cache", "--force", "FooBar()", "server", "client", "module", "directive", ":", ".", ",",
        ";", "(", ")", "[", "]", "“", "”", "```", "#", "##", "-", "|", "Default:", "Description:",
        "Syntax:", "requires", "stores", "value", "in", "of", "by using", "because,", "introduced",
        "version 2.4", "2019", "not", "Every", "Each", "In", "det", "är", "en", "§", "lag", "om", "Wenn",
        "die", "der", "Direktive", "bedeutet", "\n", "\n\n", "\n- ", " | ", ": ", ". ", "\n```\n",
        "\n## ",
    )
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=120).map(" ".join))
LANGUAGES = st.sampled_from(["en", "sv", "de", "xx"])


def passage(text: str, *, path: tuple[str, ...] = ("KeepAliveTimeout",), language: str = "en") -> Passage:
    return Passage("chunk", "Fjell 8 guide", path, text, language)


def questions(*passages: Passage, limit: int = 99, types: tuple[QuestionType, ...] = ()) -> QuestionsReply:
    request = Request(
        role="questions", system="", prompt="", reply_model=QuestionsReply, temperature=0.0,
        passages=passages, limit=limit, types=types,
    )  # fmt: skip
    return asyncio.run(ExtractiveModel().complete(request)).value


def answer(question: str, *passages: Passage, language: str = "en") -> AnswerReply:
    request = Request(
        role="answer", system="", prompt="", reply_model=AnswerReply, temperature=0.0,
        passages=passages, question=question, language=language,
    )  # fmt: skip
    return asyncio.run(ExtractiveModel().complete(request)).value


@given(TEXTS, LANGUAGES, st.lists(st.text(max_size=40), max_size=3))
@example('The"pump is a device that moves water from the tank to the roof.', "en", [])
def test_every_candidate_of_any_text_quotes_it_word_for_word(
    text: str, language: str, path: list[str]
) -> None:
    asked = passage(text, path=tuple(path), language=language)
    for candidate in find_candidates(asked):
        assert candidate.quote in text
        assert candidate.question.endswith("?")
        assert "\n" not in candidate.question


@given(TEXTS, LANGUAGES)
def test_every_question_asked_is_answered_with_the_same_quote(text: str, language: str) -> None:
    asked = passage(text, language=language)
    quotes = {candidate.question: candidate.quote for candidate in find_candidates(asked)}
    for draft in questions(asked).questions:
        reply = answer(draft.question, asked)
        assert (reply.coverage, reply.used_chunks) == ("full", [1])
        assert [citation.quote for citation in reply.citations] == [quotes[draft.question]]


def test_no_more_questions_than_asked_for() -> None:
    assert questions().questions == []
    everything = questions(passage(GUIDE)).questions
    assert questions(passage(GUIDE), limit=1).questions == everything[:1] != everything


def test_an_answer_names_the_number_of_the_passage_it_rests_on() -> None:
    other = passage("Nothing to see here.", path=("Other",))
    question = "What is KeepAliveTimeout?"
    reply = answer(question, other, passage(GUIDE))
    assert reply.used_chunks == [2]
    assert reply.citations[0].passage == 2
    assert reply.citations[0].quote in GUIDE


@pytest.mark.parametrize("language", ["en", "sv", "de"])
def test_a_question_no_rule_asks_is_refused_in_the_language_of_the_request(language: str) -> None:
    reply = answer("Who painted the Night Watch?", passage(GUIDE), language=language)
    assert (reply.coverage, reply.answer) == ("none", refusal(language))
    assert (reply.used_chunks, reply.citations) == ([], [])


@pytest.mark.parametrize("role", ["verify", "judge"])
def test_it_neither_verifies_nor_judges(role: Role) -> None:
    request = Request(role=role, system="", prompt="", reply_model=Decision, temperature=0.0)
    with pytest.raises(PermanentModelError, match=role):
        asyncio.run(ExtractiveModel().complete(request))
