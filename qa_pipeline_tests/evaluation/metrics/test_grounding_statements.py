from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.metrics.base import Setup
from qa_pipeline.evaluation.running import with_claims_split_by_rules
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, means_at, signal
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

SHOWN = [context("Ann lives in the mill."), context("  "), context("Bo owns a red boat.")]


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return means_at(tmp_path_factory.mktemp("out"))


def statements(setup: Setup, answer: str, contexts: list[Row], **row: Any) -> list[Row]:
    return (
        signal("statements", setup, {"answer": answer, "contexts": contexts, "refused": False, **row})[0]
        or []
    )


def test_statements_keep_their_place_and_the_context_that_proves_them(setup: Setup) -> None:
    answer = "Bo owns a red boat. Ann lives in the mill."
    boat, mill = statements(setup, answer, SHOWN)
    assert (boat["verdict"], boat["context"], boat["position"]) == ("supported", 2, 0)
    assert (mill["verdict"], mill["context"], mill["position"]) == ("supported", 0, 1)
    assert answer[mill["start"] : mill["end"]] == "Ann lives in the mill."


@pytest.mark.parametrize(
    ("given_means", "verdict", "by"),
    [
        ({}, "unsupported", "similarity"),
        ({"undecided": "unknown"}, "undecided", "no_step"),
        ({"verifier": ScriptedModel(deciding("reject"))}, "unsupported", "llm"),
    ],
)
def test_an_open_statement_is_decided_by_its_score_or_a_model_or_left_open(
    tmp_path: Path, given_means: Any, verdict: str, by: str
) -> None:
    (last,) = statements(means_at(tmp_path, **given_means), "Bo sails.", SHOWN)
    assert (last["verdict"], last["decided_by"]) == (verdict, by)


@pytest.mark.parametrize(
    "row", [{"refused": True}, {"contexts": [context(None)]}, {"contexts": [context(" ")]}]
)
def test_refusals_and_rows_without_text_have_no_statements(setup: Setup, row: Row) -> None:
    assert statements(setup, **{"answer": "Bo sails.", "contexts": SHOWN, **row}) == []


words = st.sampled_from(["mills", "boats", "bakers", "rivers", "12", "Ann", "carry", "the", "not", "old"])
sentence = st.lists(words, min_size=1, max_size=6).map(lambda drawn: " ".join(drawn) + ".")


@given(sentence, st.lists(sentence, min_size=1, max_size=3))
def test_two_contexts_score_at_least_as_much_as_one(setup: Setup, answer: str, texts: list[str]) -> None:
    for statement in statements(setup, answer, [*map(context, texts)]):
        assert 0 <= statement["score"] <= statement["pair_score"] <= 1


PUMP = "The pump of the house weighs 12 kg when filled."
HOSE = "The hose of the pump must be rinsed daily."


@pytest.mark.parametrize(
    ("answer", "text", "verdict", "by"),
    [
        ("When it is filled, the pump weighs 12 kg in all.", PUMP, "supported", "similarity"),
        ("When it is filled, the pump weighs 15 kg in all.", PUMP, "unsupported", "quotation"),
        ("For the pump, the hose must not be rinsed daily.", HOSE, "unsupported", "quotation"),
    ],
)
def test_no_likeness_supports_another_number_or_negation(
    setup: Setup, answer: str, text: str, verdict: str, by: str
) -> None:
    (statement,) = statements(setup, answer, [context(text)], query="Herons?")
    assert (statement["verdict"], statement["decided_by"]) == (verdict, by)


WEATHER = "Extreme weather events increased 40% in past decade."


@pytest.mark.parametrize(
    ("answer", "text", "language", "verdict"),
    [
        ("Extreme weather events fell by 40 %.", WEATHER, "en", "contradicted"),
        ("Extreme weather events rose by 40%.", WEATHER, "en", "supported"),
        ("Im Hafen stieg der Umschlag um 40 %.", "Der Umschlag sank im Hafen um 40 %.", "de", "contradicted"),
        ("I hamnen ökade trafiken med 40 %.", "Trafiken minskade i hamnen med 40 %.", "sv", "contradicted"),
    ],
)
def test_a_statement_that_turns_a_rise_into_a_fall_is_contradicted(
    answer: str, text: str, language: str, verdict: str
) -> None:
    setup = Setup(Resources(with_claims_split_by_rules(Settings())))
    (statement,) = statements(setup, answer, [context(text)], language=language)
    assert statement["verdict"] == verdict
