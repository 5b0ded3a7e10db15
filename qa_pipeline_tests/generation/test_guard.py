from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError, UnreadableReplyError
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.generation.guard import Relevance, context_similarity, guard_questions
from qa_pipeline.models.encoder import Vectors
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import GuardReply, Passage, Question
from qa_pipeline.settings.generation import GenerationSettings, GuardSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.table_schema import KeptQuestionRow, typed_rows
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline_tests.curation.test_measures_coverage import question
from qa_pipeline_tests.generation.rows import ask_about_text, chunks
from qa_pipeline_tests.support.scripted import ScriptedModel


class Directions:
    """Vectors at an angle that the text says: its first two characters are the cosine in hundredths."""

    model, revision = "directions", "1"

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.read += texts
        cosines = [int(text[:2]) / 100 if text[:2].isdigit() else 1.0 for text in texts]
        return np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in cosines], dtype=np.float32)


def passages(*cosines: int) -> list[Passage]:
    return [Passage(str(n), "T", (), f"{cosine:02} text", "en") for n, cosine in enumerate(cosines)]


def row(text: str = "What is it?") -> Question:
    return {"question": text, "language": "en", "batch": "b"}


def guarded(shown: list[Passage], model: ScriptedModel | None = None, **settings: Any) -> Relevance:
    made = GuardSettings.model_validate(settings)
    return guard_questions([row()], [shown], made, Directions(), model, LLMSettings())[0]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=6))
def test_the_cosine_is_the_mean_over_the_three_best_passages(cosines: list[int]) -> None:
    (found,) = context_similarity(["What?"], [passages(*cosines)], Directions())
    best = cosines[:3]
    assert found == pytest.approx(sum(best) / len(best) / 100, abs=1e-4)


def test_only_the_beginning_of_a_passage_is_read_and_none_is_unknown() -> None:
    encoder = Directions()
    long = [Passage("c", "T", (), "50" + "x" * 5000, "en")]
    assert context_similarity(["A?", "B?"], [[], long], encoder)[0] is None
    assert max(map(len, encoder.read)) == 500


@pytest.mark.parametrize(
    ("mode", "cosine", "passes"),
    [
        ("prompt", 1, True),
        ("prompt", None, False),
        ("embedding", None, False),
        ("embedding", 39, False),
        ("embedding", 41, True),
        ("hybrid", 29, False),
        ("hybrid", 31, True),
    ],
)
def test_each_mode_without_a_model_decides_by_its_own_threshold(
    mode: str, cosine: int | None, passes: bool
) -> None:
    found = guarded([] if cosine is None else passages(cosine), mode=mode)
    assert (found.decided_by, found.passes) == (mode, passes)


@pytest.mark.parametrize(
    ("can_answer", "confidence", "passes"), [(True, 0.9, True), (True, 0.4, False), (False, 0.9, False)]
)
def test_a_model_decides_and_a_doubtful_yes_is_a_no(
    can_answer: bool, confidence: float, passes: bool
) -> None:
    reply = GuardReply(reasoning="", can_answer=can_answer, confidence=confidence)
    assert guarded(passages(1), ScriptedModel([reply]), mode="llm").passes is passes


def test_a_model_is_only_asked_about_what_the_cosine_lets_pass() -> None:
    model = ScriptedModel([GuardReply(reasoning="", can_answer=True, confidence=1.0)])
    found = guard_questions(
        [row("A?"), row("B?")],
        [passages(10), passages(90)],
        GuardSettings(mode="embedding_then_llm"),
        Directions(),
        model,
        LLMSettings(),
    )
    assert [(one.decided_by, one.passes) for one in found] == [("embedding", False), ("llm", True)]
    assert len(model.asked) == 1


def test_a_mode_that_asks_a_model_needs_one() -> None:
    with pytest.raises(SettingsError, match=r"guard\.mode"):
        guarded(passages(50), mode="llm")


ASKED = QUESTIONS.frame([question("q1", "a"), question("q2", "b")])


def drafted(
    model: ScriptedModel, relevances: list[Relevance], previous: pl.DataFrame | None = None
) -> pl.DataFrame:
    options = (GenerationSettings(), LLMSettings())
    return draft_answers(
        ASKED, chunks("a", "b"), model, *options, guard=lambda rows, shown: relevances, previous=previous
    )


STOPPED, PASSED = Relevance("embedding", 0.1, passes=False), Relevance("embedding", 0.8)


def test_a_stopped_question_is_a_refusal_that_cost_no_answer() -> None:
    model = ScriptedModel(ask_about_text)
    found = drafted(model, [STOPPED, PASSED])
    assert len(model.asked) == 1
    stopped, passed = found.iter_rows(named=True)
    assert (stopped["answer"], stopped["coverage"], stopped["citations"]) == (refusal("en"), "none", [])
    assert (stopped["guarded_by"], stopped["guard_similarity"], stopped["guard_passed"]) == (
        "embedding", 0.1, False,
    )  # fmt: skip
    assert (passed["coverage"], passed["guard_passed"]) == ("full", True)


def test_a_guard_that_could_not_be_asked_is_a_failure_and_never_an_answer() -> None:
    model = ScriptedModel(ask_about_text)
    error = Relevance("llm", None, passes=False, error=UnreadableReplyError("not_json", "x"))
    found = drafted(model, [error, PASSED])
    assert found.select("status", "reason", "guard_passed").row(0) == ("failed", "not_json", None)
    assert len(model.asked) == 1


def test_what_a_model_of_the_guard_said_is_stored_with_the_pair() -> None:
    reply = GuardReply(reasoning="No price is there.", can_answer=False, confidence=0.8)
    settings = GuardSettings(mode="llm")
    rows, shown = list(typed_rows(ASKED, KeptQuestionRow)), [passages(90)] * 2
    said = guard_questions(rows, shown, settings, Directions(), ScriptedModel([reply] * 2), LLMSettings())
    found = drafted(ScriptedModel([]), said)
    columns = found.select("guard_reasoning", "guard_confidence", "guard_passed")
    assert columns.rows() == [("No price is there.", 0.8, False)] * 2


def test_a_pair_is_kept_while_the_guard_decides_the_same_and_asked_when_it_lets_it_pass() -> None:
    first = drafted(ScriptedModel(ask_about_text), [STOPPED, PASSED])
    again = drafted(ScriptedModel([]), [STOPPED, Relevance("hybrid", 0.7)], first)
    assert again.drop("guarded_by", "guard_similarity").equals(first.drop("guarded_by", "guard_similarity"))
    model = ScriptedModel(ask_about_text)
    assert drafted(model, [PASSED, PASSED], first)["coverage"].to_list() == ["full", "full"]
    assert len(model.asked) == 1
