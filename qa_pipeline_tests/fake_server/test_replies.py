"""Sensible replies: of the reply's model, from the prompt alone, and of use to the stages."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.base import ReplyT
from qa_pipeline.llm.gemini.wire import response_schema
from qa_pipeline.prompts.loading import (
    Delimited,
    delimit,
    delimit_all,
    load_prompt,
    refusal,
    render_passages,
)
from qa_pipeline.records import (
    AnswerReply,
    JudgeReply,
    PairsReply,
    Passage,
    QuestionsReply,
    ReplyModel,
    SplitClaim,
    SplitReply,
    VerifyReply,
)
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline_tests.fake_server.replies import sensible_text, smallest
from qa_pipeline_tests.fake_server.responses import Asked

TEXT = "To drain the boiler, open the lower valve.\nWait 10 minutes."
OTHER = "The office is closed on Sundays."
PASSAGES = [Passage(str(n), "Manual", ("Filling",), text, "en") for n, text in enumerate((OTHER, TEXT))]


def asked(model: type[ReplyModel] | None, name: Any, language: str, **values: str | Delimited) -> Asked:
    prompt = load_prompt(language, name)
    if name == "questions" and model is PairsReply:
        prompt = prompt.with_constant(language, "reply_pairs", style="")
    elif name == "questions":
        prompt = prompt.with_constant(language, "reply_questions")
    body: dict[str, Any] = {
        "contents": [{"parts": [{"text": prompt.fill(**values)}]}],
        "systemInstruction": {"parts": [{"text": prompt.system}]},
    }
    if model:
        body["generationConfig"] = {"responseJsonSchema": response_schema(model)}
    return Asked("m", body)


def replied(model: type[ReplyT], name: Any, language: str = "en", **values: str | Delimited) -> ReplyT:
    return model.model_validate_json(sensible_text(asked(model, name, language, **values)))


def test_questions_that_come_with_answers_quote_the_sentence_that_answers_them() -> None:
    values: dict[str, Any] = {
        "passages": render_passages(PASSAGES[1:]),
        "limit": "2",
        "types": "fact_single",
    }
    for reply in (
        replied(PairsReply, "questions", **values).questions,
        PairsReply.model_validate_json(
            sensible_text(replace_schema(asked(PairsReply, "questions", "en", **values)))
        ).questions,
    ):
        assert [pair.quotes for pair in reply] == [[line] for line in TEXT.split("\n")]
        assert all(pair.answer == pair.quotes[0] and pair.answer in pair.question for pair in reply)


def replace_schema(request: Asked) -> Asked:
    """The same request to a service that is told in words alone what to reply."""
    return Asked("m", {name: value for name, value in request.body.items() if name != "generationConfig"})


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_quote_the_passages_first_sentences_as_many_as_are_asked_for(language: str) -> None:
    reply = replied(
        QuestionsReply,
        "questions",
        language,
        passages=render_passages(PASSAGES[1:]),
        limit="1",
        types="fact_single",
    )
    (question,) = reply.questions
    assert "“To drain the boiler, open the lower valve.”" in question.question


def test_an_answer_is_a_sentence_of_the_passage_it_cites() -> None:
    reply = replied(
        AnswerReply,
        "answer",
        passages=render_passages(PASSAGES),
        question=delimit("What is stated under “Wait 10 minutes.”?"),
    )
    assert (reply.coverage, reply.answer, reply.used_chunks) == ("full", "Wait 10 minutes.", [2])
    assert [(one.passage, one.quote) for one in reply.citations] == [(2, "Wait 10 minutes.")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_that_no_passage_speaks_of_gets_the_refusal(language: str) -> None:
    reply = replied(
        AnswerReply, "answer", language, passages=render_passages(PASSAGES), question=delimit("Xyzzy?")
    )
    assert (reply.coverage, reply.answer, reply.citations) == ("none", refusal(language), [])


@pytest.mark.parametrize(("claim", "decision"), [("Wait 10 minutes.", "accept"), ("Fly south.", "reject")])
def test_a_claim_is_accepted_if_a_passage_has_its_words(claim: str, decision: str) -> None:
    claims = delimit_all([claim], "claim")
    reply = replied(VerifyReply, "verify", passages=render_passages(PASSAGES), claims=claims)
    assert [one.decision for one in reply.verdicts] == [decision]


def test_an_answer_is_cut_at_the_semicolons_of_its_sentences() -> None:
    sentences = Delimited((("sentence-1", "It is new; it is loud."), ("sentence-2", "It leaks.")))
    reply = replied(SplitReply, "split", question=delimit("Which?", "question"), sentences=sentences)
    parts = [(1, "It is new"), (1, "it is loud."), (2, "It leaks.")]
    assert reply.claims == [SplitClaim(sentence=n, quote=part, claim=part) for n, part in parts]


def test_a_judge_scores_what_the_passages_hold() -> None:
    values: dict[str, str | Delimited] = {
        "passages": render_passages(PASSAGES),
        "question": delimit("How long?", "question"),
    }
    good = replied(JudgeReply, "judge", "en", **values, answer=delimit("Wait 10 minutes.", "answer"))
    bad = replied(JudgeReply, "judge", "en", **values, answer=delimit("Fly south now.", "answer"))
    assert good.correctness == 1.0
    assert bad.correctness < 0.5


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("name", "model", "values"),
    [
        ("questions", QuestionsReply, {"limit": "2", "types": "table, summary"}),
        ("answer", AnswerReply, {"question": delimit("How long?")}),
        ("verify", VerifyReply, {"claims": delimit_all(["Wait."], "claim")}),
        (
            "judge",
            JudgeReply,
            {name: delimit("10.", name) for name in ("question", "answer")},
        ),
    ],
)
def test_without_a_schema_the_instruction_tells_the_role(
    language: str, name: str, model: type[ReplyModel], values: dict[str, str | Delimited]
) -> None:
    filled: dict[str, str | Delimited] = {"passages": render_passages(PASSAGES), **values}
    without = sensible_text(asked(None, name, language, **filled))
    assert without == sensible_text(asked(model, name, language, **filled))
    model.model_validate_json(without)


@given(
    st.text(),
    st.sampled_from([QuestionsReply, AnswerReply, SplitReply, VerifyReply, JudgeReply]),
)
def test_any_prompt_gets_a_reply_of_the_model_and_always_the_same(text: str, model: type[ReplyModel]) -> None:
    body = {
        "contents": [{"parts": [{"text": text}]}],
        "generationConfig": {"responseJsonSchema": response_schema(model)},
    }
    one, other = (sensible_text(Asked("m", body)) for _ in range(2))
    assert one == other
    json.loads(one)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}}, {"a": 3}),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": []}, {}),
        ({"type": "array", "minItems": 2, "items": {"enum": ["x", "y"]}}, ["x", "x"]),
        ({"anyOf": [{"type": "boolean"}, {"type": "string"}]}, False),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, "text"),
    ],
)
def test_any_other_schema_gets_the_smallest_value_that_fits(schema: dict[str, Any], value: Any) -> None:
    assert smallest(schema) == value
