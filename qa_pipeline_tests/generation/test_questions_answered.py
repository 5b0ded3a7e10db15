"""Questions that come with their answers, in one call."""

from typing import Any

import polars as pl
import pytest

from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.llm.base import Request
from qa_pipeline.records import DraftPair, PairsReply, QuotedReply, ReplyModel
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, finds
from qa_pipeline_tests.generation.test_questions import write
from qa_pipeline_tests.support.scripted import ScriptedModel

HOSTED = LLMSettings(provider="openai")
QUOTED = GenerationSettings(answers="quoted", require_round_trip=False)
SMALL = LLMSettings(provider="openai", profile="small")


def pair(text: str, **changes: Any) -> DraftPair:
    fields: dict[str, Any] = {
        "quotes": [text],
        "question": f"What is {text}?",
        "question_type": "fact_single",
        "answer": f"It is {text}.",
        "coverage": "full",
    }
    return DraftPair(**(fields | changes))


def pairs_about_text(request: Request[ReplyModel]) -> ReplyModel:
    return PairsReply(questions=[pair(request.passages[0].text)])


def answered(
    questions: pl.DataFrame, frame: pl.DataFrame, model: ScriptedModel, **options: Any
) -> pl.DataFrame:
    settings = GenerationSettings.model_validate(options.pop("settings", {}))
    return draft_answers(questions, frame, model, settings, HOSTED, **options)


def test_an_answer_that_came_with_its_question_is_the_pair_and_costs_no_call() -> None:
    frame = chunks("a", "b")
    questions = write(frame, ScriptedModel(pairs_about_text), llm=HOSTED)
    pairs = answered(questions, frame, ScriptedModel([]))
    further = ScriptedModel(ask_about_text)
    drafts = answered(questions, frame, further, settings={"drafts_per_question": 2})
    assert (len(further.asked), drafts["draft"].to_list()) == (2, [1, 2, 1, 2])
    assert pairs["answer"].to_list() == ["It is a.", "It is b."]
    assert pairs["used_chunk_ids"].to_list() == [["a"], ["b"]]
    assert [row[0]["quote"] for row in pairs["citations"]] == ["a", "b"]
    assert pairs["prompt_hash"].to_list() == questions["prompt_hash"].to_list()
    assert answered(questions, frame, ScriptedModel([]), previous=pairs).equals(pairs)


@pytest.mark.parametrize(
    "doubt",
    [
        {"coverage": "partial"},
        {"coverage": "none", "quotes": [], "answer": ""},
        {"quotes": []},
        {"quotes": ["a", "what no chunk says"]},
        {"answer": " "},
    ],
)
def test_what_the_reply_leaves_in_doubt_is_answered_from_the_retrieved_passages(
    doubt: dict[str, Any],
) -> None:
    frame = chunks("a")
    questions = write(frame, ScriptedModel([PairsReply(questions=[pair("a", **doubt)])]), llm=HOSTED)
    assert questions["drafted_answer"].to_list() == [None]
    model = ScriptedModel(ask_about_text)
    assert answered(questions, frame, model)["answer"].to_list() == ["It is a."]
    assert len(model.asked) == 1


def test_an_answer_whose_chunk_the_search_does_not_show_is_drafted_anew() -> None:
    frame, settings = chunks("a", "b"), GenerationSettings(require_round_trip=False)
    model = ScriptedModel(pairs_about_text)
    questions = write(frame, model, llm=HOSTED, settings=settings, retrieve=finds("b"))
    model = ScriptedModel(ask_about_text)
    answered(questions, frame, model)
    assert [request.question for request in model.asked] == ["What is a?"]


@pytest.mark.parametrize(
    ("settings", "llm"),
    [
        (GenerationSettings(answers="from_passages"), HOSTED),
        (GenerationSettings(), LLMSettings(provider="extractive")),
    ],
)
def test_answers_are_calls_of_their_own_by_setting_and_by_rules(
    settings: GenerationSettings, llm: LLMSettings
) -> None:
    model = ScriptedModel(ask_about_text)
    write(chunks("a"), model, settings=settings, llm=llm)
    assert '"quotes"' not in model.asked[0].system
    assert "quotes" not in str(model.asked[0].reply_model.model_json_schema())


def test_a_small_model_names_the_sentence_that_answers_its_question() -> None:
    frame = chunks(
        "# Returns\n\nWe are sorry to hear. Goods are sent back in 30 days.\n\n- The shop pays the postage.",
        "It is shut then. They open it at nine.",
    )
    replies = iter([3, 0])
    model = ScriptedModel(
        lambda request: QuotedReply(sentence=next(replies), question="Who pays the postage?")
    )
    first = frame["chunk_id"][0]
    questions = write(frame, model, llm=SMALL, settings=QUOTED, retrieve=finds(first))
    assert questions["reason"].to_list() == [None, "not_written"]
    assert answered(questions, frame, ScriptedModel([]))["answer"].to_list() == ["The shop pays the postage."]
    assert "[2] Goods are sent back in 30 days.\n[3] The shop pays the postage." in model.asked[0].prompt


@pytest.mark.parametrize("sentence", [2, 99])
def test_a_sentence_that_is_not_there_gives_no_question(sentence: int) -> None:
    model = ScriptedModel(lambda _: QuotedReply(sentence=sentence, question="Who pays the postage?"))
    written = write(chunks("The shop pays the postage."), model, llm=SMALL, settings=QUOTED)
    assert written["reason"].to_list() == ["not_written"]
