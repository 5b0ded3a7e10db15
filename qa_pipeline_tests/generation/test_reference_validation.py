from typing import Any, cast

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError, UnreadableReplyError
from qa_pipeline.generation.answers import Selection, draft_answers
from qa_pipeline.generation.reference_validation import (
    ReferenceDecision,
    accepted_places,
    reference_requests,
    validate_references,
)
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import ReferenceReply
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.rows import KeptQuestionRow
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline_tests.curation.test_coverage import question
from qa_pipeline_tests.generation.rows import ask_about_text, chunks
from qa_pipeline_tests.generation.test_guard import Directions, passages
from qa_pipeline_tests.support.scripted import ScriptedModel

ROW = {"question": "What is it?", "batch": "b", "passage_scores": [0.9, 0.5, 0.1]}


def settings(**values: Any) -> GenerationSettings:
    return GenerationSettings.model_validate({"enable_reference_validation": True, **values})


def decisions(
    made: GenerationSettings, model: ScriptedModel | None = None, cosines: tuple[int, ...] = (90, 35, 10)
) -> list[ReferenceDecision]:
    row = cast("KeptQuestionRow", {**ROW, "passage_scores": [1.0] * len(cosines)})
    requests = reference_requests(row, passages(*cosines))
    return validate_references(requests, made, Directions(), model, LLMSettings())


def says(*said: str) -> ScriptedModel:
    return ScriptedModel([ReferenceReply.model_validate({"rationale": "", "decision": one}) for one in said])


def drafted(model: ScriptedModel, *selections: Selection) -> pl.DataFrame:
    asked = QUESTIONS.frame(
        [
            question(f"q{n}", "a", passage_ids=["a", "b"], passage_scores=[1.0, 0.5])
            for n, _ in enumerate(selections)
        ]
    )
    return draft_answers(
        asked,
        chunks("a", "b"),
        model,
        GenerationSettings(),
        LLMSettings(),
        select=lambda rows, known: list(selections),
    )


@given(st.lists(st.sampled_from(["accept", "reject", "unsure"]), max_size=8), st.integers(1, 5))
def test_no_more_passages_are_kept_than_set_and_only_accepted_ones_in_their_order(
    said: list[Any], most: int
) -> None:
    made = settings(validation_strategy="llm", validation_max_refs_per_item=most)
    places = accepted_places([ReferenceDecision(one) for one in said], made)
    assert places == [place for place, one in enumerate(said) if one == "accept"][:most]


def test_validation_disabled_keeps_all_top_matches() -> None:
    for made in (GenerationSettings(), GenerationSettings(validation_strategy="noop")):
        assert accepted_places([ReferenceDecision("reject")] * 3, made) == [0, 1, 2]


def test_validation_that_is_enabled_without_a_strategy_validates_by_embedding() -> None:
    assert [one.decision for one in decisions(settings())] == ["accept", "unsure", "reject"]


def test_two_accepted_passages_are_kept_unless_set() -> None:
    assert accepted_places([ReferenceDecision("accept")] * 3, settings()) == [0, 1]


def test_validation_that_is_enabled_and_validates_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="noop"):
        settings(validation_strategy="noop")


def test_validation_rejects_drops_reference() -> None:
    made = settings(validation_strategy="llm", validation_max_refs_per_item=5)
    decided = decisions(made, says("accept", "reject", "accept"))
    assert accepted_places(decided, made) == [0, 2]
    model = ScriptedModel(ask_about_text)
    found = drafted(model, Selection([1], validated=True))
    assert found.select("passage_ids", "passage_scores").row(0) == (["b"], [0.5])
    assert [passage.chunk_id for passage in model.asked[0].passages] == ["b"]


def test_validation_all_rejected_results_in_empty_item() -> None:
    model = ScriptedModel([])
    found = drafted(model, Selection([], validated=True))
    row = found.row(0, named=True)
    assert (row["passage_ids"], row["used_chunk_ids"], row["citations"]) == ([], [], [])
    assert (row["answer"], row["coverage"]) == (refusal("en"), "none")
    assert (row["guarded_by"], row["guard_passed"]) == ("validation", False)


def test_a_cosine_accepts_is_unsure_a_little_below_and_rejects_else() -> None:
    made = settings(validation_strategy="embedding")
    decided = decisions(made)
    assert [one.decision for one in decided] == ["accept", "unsure", "reject"]
    assert accepted_places(decided, made) == [0]


def test_a_passage_a_model_could_not_be_asked_about_is_never_accepted_and_fails_its_question() -> None:
    made = settings(validation_strategy="llm")
    error = UnreadableReplyError("not_json", "x")
    decided = decisions(made, ScriptedModel([error, error, error]))
    assert accepted_places(decided, made) == []
    found = drafted(ScriptedModel([]), Selection([], validated=True, error=error))
    assert found.select("status", "reason", "guard_passed").row(0) == ("failed", "not_json", None)


def test_a_model_sees_the_question_and_the_passage() -> None:
    model = says("accept")
    decisions(settings(validation_strategy="llm"), model, (50,))
    (asked,) = model.asked
    assert all(text in asked.prompt for text in ("What is it?", "50 text"))


def test_a_strategy_that_asks_a_model_needs_one() -> None:
    with pytest.raises(SettingsError, match="validation_strategy"):
        decisions(settings(validation_strategy="llm"))
