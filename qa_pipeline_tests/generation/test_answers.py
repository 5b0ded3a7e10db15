from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.questions import Retrieve, write_questions
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.records import AnswerReply, DraftCitation, ReplyModel
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, finds, retrieve_named
from qa_pipeline_tests.support.scripted import ScriptedModel

TEXTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=6)


def draft(
    frame: pl.DataFrame,
    model: ScriptedModel,
    previous: pl.DataFrame | None = None,
    search: Retrieve = retrieve_named,
    **settings: object,
) -> pl.DataFrame:
    made, llm = GenerationSettings.model_validate(settings), LLMSettings()
    asked = write_questions(frame, ScriptedModel(ask_about_text), search, made, llm, batch="b")
    return draft_answers(asked, frame, model, made, llm, previous=previous)


@given(TEXTS)
def test_every_kept_question_becomes_exactly_one_pair(texts: list[str]) -> None:
    pairs = draft(chunks(*texts), ScriptedModel(ask_about_text))
    assert pairs["answer"].to_list() == [f"It is {text}." for text in texts]
    assert [[one["chunk_id"] for one in row] for row in pairs["citations"]] == [[text] for text in texts]
    assert pairs["pair_id"].n_unique() == len(texts)


@given(TEXTS)
def test_an_unchanged_batch_drafts_nothing_and_gives_the_same_pairs(texts: list[str]) -> None:
    first = draft(chunks(*texts), ScriptedModel(ask_about_text))
    again = ScriptedModel(ask_about_text)
    assert draft(chunks(*texts), again, previous=first).equals(first)
    assert again.asked == []


class FakeModel(ScriptedModel):
    """A model in whose place the server of `serve-fake` replies."""

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Give the next reply."""
        return replace(await super().complete(request), model="gemini/fake-m")


def test_a_pair_that_a_fake_server_wrote_says_so_and_stays() -> None:
    first = draft(chunks("a"), FakeModel(ask_about_text))
    assert first["generator"].to_list() == ["fake-scripted"]
    for earlier in (first, first.with_columns(generator=pl.lit("scripted"))):  # as rows were before
        assert draft(chunks("a"), ScriptedModel([]), previous=earlier).equals(earlier)


def test_an_edit_of_another_chunk_leaves_a_pair_with_what_is_retrieved_now() -> None:
    before = draft(chunks("a", "b"), ScriptedModel(ask_about_text), search=finds("b", "a"))
    model = ScriptedModel(ask_about_text)  # quotes the first passage
    after = draft(chunks("c", "b"), model, before, search=finds("b", "c"))
    assert [request.question for request in model.asked] == ["What is c?"]
    assert after["pair_id"].to_list()[1:] == before["pair_id"].to_list()[1:]
    assert after["passage_ids"].to_list() == [["b", "c"]] * 2
    assert after.equals(draft(chunks("c", "b"), ScriptedModel(ask_about_text), search=finds("b", "c")))


def test_a_refusal_rests_on_all_that_was_retrieved() -> None:
    refused = AnswerReply(
        coverage="none", answer="This information is not available in the knowledge base.", citations=[]
    )
    first = draft(chunks("a", "b"), ScriptedModel([refused] * 2), search=finds("b", "a"))
    model = ScriptedModel([refused] * 2)
    again = draft(chunks("c", "b"), model, first, search=finds("b", "c"))
    assert len(model.asked) == 2
    assert again["pair_id"][1] == first["pair_id"][1]  # drafted again, and equal


@pytest.mark.parametrize(
    ("answer", "coverage"),
    [
        ("Napoleon painted Jupiter purple in 1832.", "partial"),
        ("Napoleon målade Jupiter lila år 1832.", "partial"),
        ("Napoleon malte Jupiter 1832 lila an.", "partial"),
        ("The passages do not say who painted Jupiter.", "none"),
        ("This information is not available in the knowledge base. Napoleon painted it.", "partial"),
    ],
)
def test_only_a_text_that_refuses_is_a_refusal_whatever_coverage_the_reply_names(
    answer: str, coverage: str
) -> None:
    reply = AnswerReply(coverage="none", answer=answer, used_chunks=[], citations=[])
    assert draft(chunks("a"), ScriptedModel([reply]))["coverage"].to_list() == [coverage]


def test_a_citation_of_a_passage_that_was_never_shown_stays_and_resolves_to_nothing() -> None:
    cited = [DraftCitation(passage=7, quote="a")]
    reply = AnswerReply(coverage="full", answer="It is a.", used_chunks=[1, 7], citations=cited)
    pair = draft(chunks("a"), ScriptedModel([reply])).row(0, named=True)
    assert pair["used_chunk_ids"] == ["a"]
    assert pair["citations"][0]["resolution"] == "unknown_passage"
    assert pair["citations"][0]["chunk_id"] is None


def test_citations_of_a_pair_that_stays_name_the_document_of_now() -> None:
    first = draft(chunks("a"), ScriptedModel(ask_about_text))
    renamed = chunks("a").with_columns(document_id=pl.lit("edited elsewhere"))
    again = draft(renamed, ScriptedModel([]), first)
    before, after = first["citations"][0][0], again["citations"][0][0]
    assert before["document_id"] == "document of a"
    assert after == before | {"document_id": "edited elsewhere"}


def answers_by_seed(request: Request[ReplyModel]) -> ReplyModel:
    return AnswerReply(coverage="full", answer=f"Draft {request.seed}.", used_chunks=[1], citations=[])


@given(st.integers(1, 4), st.integers(1, 4))
def test_each_question_has_its_drafts_and_more_of_them_ask_for_the_missing_ones_alone(
    first: int, then: int
) -> None:
    made = draft(chunks("a", "b"), ScriptedModel(answers_by_seed), drafts_per_question=first)
    assert made.select("question", "draft").rows() == [
        (question, number) for question in ("What is a?", "What is b?") for number in range(1, first + 1)
    ]
    assert made["pair_id"].n_unique() == made["answer"].len() == 2 * first
    model = ScriptedModel(answers_by_seed)
    more = draft(chunks("a", "b"), model, made, drafts_per_question=then)
    assert len(model.asked) == 2 * max(0, then - first)
    assert more.height == 2 * then
    assert more.equals(draft(chunks("a", "b"), ScriptedModel(answers_by_seed), drafts_per_question=then))


@pytest.mark.parametrize(
    ("style", "written"),
    [("by_type", "one or two complete sentences"), ("short", "instead of sentences"), ("steps", "in steps")],
)
def test_the_style_is_in_the_prompt_and_in_the_row_and_another_one_is_drafted_again(
    style: str, written: str
) -> None:
    model = ScriptedModel(ask_about_text)
    pairs = draft(chunks("a"), model, answer_style=style)
    assert written in model.asked[0].system
    assert pairs["answer_style"].to_list() == ["sentence" if style == "by_type" else style]
    again = ScriptedModel(ask_about_text)
    draft(chunks("a"), again, pairs, answer_style="long_form")
    assert len(again.asked) == 1
