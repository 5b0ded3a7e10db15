from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import BudgetExhaustedError, UnreadableReplyError
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.records import DraftQuestion, QuestionsReply
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.tables import QUESTIONS
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, retrieve_named
from qa_pipeline_tests.support.scripted import ScriptedModel

TEXTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=6)


def write(frame: pl.DataFrame, model: ScriptedModel, **options: Any) -> pl.DataFrame:
    settings = {
        "retrieve": retrieve_named,
        "settings": GenerationSettings(),
        "llm": LLMSettings(),
        "batch": "b",
    }
    return write_questions(frame, model, **{**settings, **options})


@given(TEXTS)
def test_every_chunk_is_asked_once_and_the_rows_follow_the_chunks(texts: list[str]) -> None:
    model = ScriptedModel(ask_about_text)
    questions = write(chunks(*texts), model)
    assert [request.passages[0].chunk_id for request in model.asked] == texts
    assert questions["target_chunk_ids"].to_list() == [[text] for text in texts]


@given(TEXTS)
def test_an_unchanged_batch_asks_nothing_and_gives_the_same_rows(texts: list[str]) -> None:
    first = write(chunks(*texts), ScriptedModel(ask_about_text))
    again = ScriptedModel(ask_about_text)
    assert write(chunks(*texts), again, previous=first).equals(first)
    assert again.asked == []


@given(TEXTS, st.data())
def test_only_changed_chunks_are_asked_again(texts: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(texts))) if texts else set()
    now = [text.upper() if text in gone else text for text in texts]
    first = write(chunks(*texts), ScriptedModel(ask_about_text))
    model = ScriptedModel(ask_about_text)
    questions = write(chunks(*now), model, previous=first)
    assert {request.passages[0].chunk_id for request in model.asked} == {text.upper() for text in gone}
    assert questions["target_chunk_ids"].to_list() == [[text] for text in now]


def test_a_question_that_does_not_retrieve_its_own_chunk_is_dropped_with_a_reason() -> None:
    questions = write(
        chunks("a", "b"), ScriptedModel(ask_about_text), retrieve=lambda q, _: [[("b", 1.0)]] * len(q)
    )
    assert questions["status"].to_list() == ["dropped", "kept"]
    assert questions["reason"].to_list() == ["round_trip_failed", None]


def test_the_round_trip_can_be_switched_off() -> None:
    settings = GenerationSettings(require_round_trip=False)
    questions = write(
        chunks("a"),
        ScriptedModel(ask_about_text),
        retrieve=lambda q, _: [[("b", 1.0)]] * len(q),
        settings=settings,
    )
    assert questions["status"].to_list() == ["kept"]


def test_the_second_of_two_equal_questions_is_dropped_and_returns_when_the_first_is_gone() -> None:
    same = QuestionsReply(questions=[DraftQuestion(question="Why?", question_type="reason")])
    everything = {"retrieve": lambda q, _: [[("a", 1.0), ("b", 0.5)]] * len(q)}
    first = write(chunks("a", "b"), ScriptedModel([same, same]), **everything)
    assert first["reason"].to_list() == [None, "repeated_question"]
    later = write(
        chunks("b"), ScriptedModel([same]), retrieve=lambda q, _: [[("b", 1.0)]] * len(q), previous=first
    )
    assert later["status"].to_list() == ["kept"]


def test_an_unreadable_reply_is_a_failed_row_and_is_asked_again_next_time() -> None:
    first = write(chunks("a"), ScriptedModel([UnreadableReplyError("not_json", "it says hello")]))
    assert first["status"].to_list() == ["failed"]
    assert first["reason"].to_list() == ["not_json"]
    assert first["question"].to_list() == [None]
    assert write(chunks("a"), ScriptedModel(ask_about_text), previous=first)["status"].to_list() == ["kept"]


def test_a_spent_budget_stops_the_stage() -> None:
    with pytest.raises(BudgetExhaustedError):
        write(chunks("a"), ScriptedModel([BudgetExhaustedError("10 calls made")]))


def test_no_more_questions_are_kept_than_were_asked_for() -> None:
    many = QuestionsReply(
        questions=[DraftQuestion(question=f"What is {n}?", question_type="fact") for n in range(9)]
    )
    questions = write(
        chunks("a"),
        ScriptedModel([many]),
        retrieve=lambda q, _: [[("a", 1.0)]] * len(q),
        settings=GenerationSettings(questions_per_chunk=2),
    )
    assert questions["question"].to_list() == ["What is 0?", "What is 1?"]


def test_another_model_does_not_inherit_questions() -> None:
    first = write(chunks("a"), ScriptedModel(ask_about_text, name="one"))
    other = ScriptedModel(ask_about_text, name="two")
    write(chunks("a"), other, previous=first)
    assert len(other.asked) == 1


def test_an_empty_batch_has_no_questions() -> None:
    assert write(chunks(), ScriptedModel([])).equals(QUESTIONS.empty())


def repeating(*texts: str, marks: dict[str, str]) -> pl.DataFrame:
    return chunks(*texts).with_columns(
        pl.col("chunk_id").replace_strict(marks, default=None, return_dtype=pl.String()).alias("repeats")
    )


MARKS = {"b": "near_duplicate", "c": "repeated_block"}


def test_chunks_that_repeat_others_are_not_asked_and_keep_a_row_that_says_so() -> None:
    model = ScriptedModel(ask_about_text)
    questions = write(repeating("a", "b", "c", marks=MARKS), model)
    assert [request.passages[0].chunk_id for request in model.asked] == ["a"]
    rows = questions.select("question", "status", "reason").rows()
    assert rows[1:] == [(None, "dropped", "near_duplicate"), (None, "dropped", "repeated_block")]


def test_repeats_are_asked_where_the_settings_say_so() -> None:
    model = ScriptedModel(ask_about_text)
    settings = GenerationSettings(skip_near_duplicates=False, skip_repeated_blocks=False)
    write(repeating("a", "b", "c", marks=MARKS), model, settings=settings)
    assert len(model.asked) == 3


def test_a_chunk_that_no_longer_repeats_another_is_asked_and_the_other_way_round() -> None:
    before = write(repeating("a", "b", marks={"b": "repeated_block"}), ScriptedModel(ask_about_text))
    model = ScriptedModel(ask_about_text)
    after = write(repeating("a", "b", marks={"a": "repeated_block"}), model, previous=before)
    assert [request.passages[0].chunk_id for request in model.asked] == ["b"]
    assert after["status"].to_list() == ["dropped", "kept"]
