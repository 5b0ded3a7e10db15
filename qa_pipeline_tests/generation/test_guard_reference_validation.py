from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import ModelError, SettingsError, UnreadableReplyError
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.guard import select_passages
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import ReferenceReply
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.table_schema import KeptQuestionRow, typed_rows
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline_tests.curation.test_measures_coverage import question
from qa_pipeline_tests.generation.rows import ask_about_text, chunks
from qa_pipeline_tests.generation.test_guard import passages
from qa_pipeline_tests.support.scripted import ScriptedModel

ERROR = UnreadableReplyError("not_json", "x")


def settings(**values: Any) -> GenerationSettings:
    return GenerationSettings.model_validate({"enable_reference_validation": True, **values})


def says(*said: str) -> ScriptedModel:
    return ScriptedModel([ReferenceReply.model_validate({"rationale": "", "decision": one}) for one in said])


def selected(made: GenerationSettings, model: ScriptedModel | None, *cosines: int) -> list[int] | ModelError:
    shown = {passage.chunk_id: passage for passage in passages(*cosines)}
    asked = QUESTIONS.frame([question("q", "a", passage_ids=list(shown))])
    rows = list(typed_rows(asked, KeptQuestionRow))
    return select_passages(rows, shown, made, model, LLMSettings())[0]


def drafted(model: ScriptedModel, selection: list[int] | ModelError) -> pl.DataFrame:
    asked = QUESTIONS.frame([question("q", "a", passage_ids=["a", "b"], passage_scores=[1.0, 0.5])])
    options = (GenerationSettings(), LLMSettings())
    return draft_answers(
        asked, chunks("a", "b"), model, *options, select=lambda rows, known: [selection] * len(rows)
    )


@given(st.lists(st.sampled_from(["accept", "reject", "unsure"]), max_size=8), st.integers(1, 5))
def test_no_more_passages_are_kept_than_set_and_only_accepted_ones_in_their_order(
    said: list[str], most: int
) -> None:
    made = settings(validation_max_refs_per_item=most)
    places = [place for place, one in enumerate(said) if one == "accept"]
    assert selected(made, says(*said), *[50] * len(said)) == places[:most]


def test_validation_disabled_keeps_all_top_matches() -> None:
    asked = QUESTIONS.frame([question("q", "a", passage_ids=["a", "b"])])
    options = (ScriptedModel(ask_about_text), GenerationSettings(), LLMSettings())
    assert draft_answers(asked, chunks("a", "b"), *options)["passage_ids"].to_list() == [["a", "b"]]


def test_two_accepted_passages_are_kept_unless_set() -> None:
    assert selected(settings(), says("accept", "accept", "accept"), 90, 80, 70) == [0, 1]


def test_validation_rejects_drops_reference() -> None:
    made = settings(validation_max_refs_per_item=5)
    assert selected(made, says("accept", "reject", "accept"), 50, 50, 50) == [0, 2]
    model = ScriptedModel(ask_about_text)
    found = drafted(model, [1])
    assert found.select("passage_ids", "passage_scores").row(0) == (["b"], [0.5])
    assert [passage.chunk_id for passage in model.asked[0].passages] == ["b"]


def test_validation_all_rejected_results_in_empty_item() -> None:
    row = drafted(ScriptedModel([]), []).row(0, named=True)
    assert (row["passage_ids"], row["used_chunk_ids"], row["citations"]) == ([], [], [])
    assert (row["answer"], row["coverage"]) == (refusal("en"), "none")
    assert (row["guarded_by"], row["guard_passed"]) == ("validation", False)


def test_validation_that_is_enabled_asks_the_model_or_says_that_it_is_missing() -> None:
    assert selected(settings(), says("reject", "unsure", "accept"), 90, 35, 10) == [2]
    with pytest.raises(SettingsError, match="enable_reference_validation"):
        selected(settings(), None, 90)


def test_a_passage_a_model_could_not_be_asked_about_fails_its_question() -> None:
    made = settings()
    assert selected(made, ScriptedModel([ERROR]), 50) is ERROR
    found = drafted(ScriptedModel([]), ERROR)
    assert found.select("status", "reason", "guard_passed").row(0) == ("failed", "not_json", None)
