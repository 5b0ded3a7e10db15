import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.records import AnswerReply, DraftCitation
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, retrieve_named
from qa_pipeline_tests.support.scripted import ScriptedModel

TEXTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=6)


def questions_of(frame: pl.DataFrame) -> pl.DataFrame:
    model = ScriptedModel(ask_about_text)
    return write_questions(frame, model, retrieve_named, GenerationSettings(), LLMSettings(), batch="b")


def draft(frame: pl.DataFrame, model: ScriptedModel, previous: pl.DataFrame | None = None) -> pl.DataFrame:
    questions = questions_of(frame)
    return draft_answers(questions, frame, model, GenerationSettings(), LLMSettings(), previous=previous)


@given(TEXTS)
def test_every_kept_question_becomes_exactly_one_pair(texts: list[str]) -> None:
    pairs = draft(chunks(*texts), ScriptedModel(ask_about_text))
    assert pairs["answer"].to_list() == [f"It is {text}." for text in texts]
    assert pairs["pair_id"].n_unique() == len(texts)


@given(TEXTS)
def test_an_unchanged_batch_drafts_nothing_and_gives_the_same_pairs(texts: list[str]) -> None:
    first = draft(chunks(*texts), ScriptedModel(ask_about_text))
    again = ScriptedModel(ask_about_text)
    assert draft(chunks(*texts), again, previous=first).equals(first)
    assert again.asked == []


def test_the_model_sees_only_the_retrieved_passages() -> None:
    model = ScriptedModel(ask_about_text)
    draft(chunks("a", "b"), model)
    assert [[passage.text for passage in request.passages] for request in model.asked] == [["a"], ["b"]]


def test_citations_name_the_chunk_and_document_of_the_passage_number() -> None:
    pair = draft(chunks("a"), ScriptedModel(ask_about_text)).row(0, named=True)
    assert pair["used_chunk_ids"] == ["a"]
    assert pair["citations"] == [
        {
            "raw": "passage 1",
            "document_id": "document of a",
            "chunk_id": "a",
            "quote": "a",
            "number": None,
            "resolution": "chunk",
        }
    ]


def test_a_citation_of_a_passage_that_was_never_shown_stays_and_resolves_to_nothing() -> None:
    reply = AnswerReply(
        coverage="full",
        answer="It is a.",
        used_chunks=[1, 7],
        citations=[DraftCitation(passage=7, quote="a")],
    )
    pair = draft(chunks("a"), ScriptedModel([reply])).row(0, named=True)
    assert pair["used_chunk_ids"] == ["a"]
    assert pair["citations"][0]["resolution"] == "unknown_passage"
    assert pair["citations"][0]["chunk_id"] is None


def test_an_unreadable_reply_is_a_failed_pair_and_is_drafted_again_next_time() -> None:
    first = draft(chunks("a"), ScriptedModel([UnreadableReplyError("truncated", "cut after 10 tokens")]))
    assert first.select("status", "reason", "answer").row(0) == ("failed", "truncated", None)
    again = draft(chunks("a"), ScriptedModel(ask_about_text), previous=first)
    assert again["status"].to_list() == ["drafted"]
