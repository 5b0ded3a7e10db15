from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.signals.means import Means
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, means_at, signal
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

SHOWN = [context("Ann lives in the mill."), context("  "), context("Bo owns a red boat.")]
ROW = {"answer": "Ann lives in the mill. Bo sails.", "contexts": SHOWN, "refused": False}


def statements(folder: Path, row: Row, **means: Any) -> list[Row]:
    found: list[Row] = signal("statements", means_at(folder, **means), {**ROW, **row})[0]
    return found


def test_statements_keep_their_place_and_the_context_that_proves_them(tmp_path: Path) -> None:
    answer = "Bo owns a red boat. Ann lives in the mill."
    boat, mill = statements(tmp_path, {"answer": answer})
    assert (boat["verdict"], boat["context"], boat["position"]) == ("supported", 2, 0)
    assert (mill["verdict"], mill["context"], mill["position"]) == ("supported", 0, 1)
    assert answer[mill["start"] : mill["end"]] == "Ann lives in the mill."


@pytest.mark.parametrize(
    ("means", "verdict", "by"),
    [
        ({}, "unsupported", "similarity"),
        ({"undecided": "unknown"}, "undecided", "no_step"),
        ({"verifier": ScriptedModel(deciding("reject"))}, "unsupported", "llm"),
    ],
)
def test_what_no_step_decides_is_held_to_its_scores_left_open_or_asked(
    tmp_path: Path, means: Any, verdict: str, by: str
) -> None:
    last = statements(tmp_path, {}, **means)[1]
    assert (last["verdict"], last["decided_by"]) == (verdict, by)


@pytest.mark.parametrize(
    "row", [{"refused": True}, {"contexts": [context(None)]}, {"contexts": [context(" ")]}]
)
def test_refusals_and_rows_without_text_have_no_statements(tmp_path: Path, row: Row) -> None:
    assert signal("statements", means_at(tmp_path), {**ROW, **row}) == [None]


def test_two_contexts_together_may_say_what_neither_does(tmp_path: Path) -> None:
    shown = [context("alpha beta gamma"), context("delta epsilon zeta")]
    (one,) = statements(tmp_path, {"answer": "Alpha beta delta epsilon.", "contexts": shown})
    assert one["pair_score"] > one["score"]


@pytest.fixture(scope="module")
def means(tmp_path_factory: pytest.TempPathFactory) -> Means:
    return means_at(tmp_path_factory.mktemp("out"))


words = st.sampled_from(["mills", "boats", "bakers", "rivers", "12", "Ann", "carry", "the", "not", "old"])
said = st.lists(words, min_size=1, max_size=6).map(lambda found: " ".join(found) + ".")
passages = st.lists(said, min_size=1, max_size=5).map(" ".join)


def scored(means: Means, answer: str, *texts: str) -> list[Row]:
    row = {"answer": answer, "contexts": [context(text) for text in texts], "refused": False}
    return list(signal("statements", means, {**ROW, **row})[0] or ())


@given(said, st.lists(passages, min_size=1, max_size=3))
def test_scores_are_shares_and_two_contexts_never_score_less_than_one(
    means: Means, answer: str, texts: list[str]
) -> None:
    for statement in scored(means, answer, *texts):
        assert 0 <= statement["score"] <= statement["pair_score"] <= 1


def test_the_headings_above_a_context_prove_what_the_question_names(means: Means) -> None:
    asked = {
        "query": "What does the table of the Kestrel 4 state as mass of the pump?",
        "answer": "Mass: 12 kg",
    }
    row = "Part: pump | Mass: 12 kg"
    headed = context(row, headings=["Kestrel 4", "Technical data"])
    one = signal("statements", means, {**ROW, **asked, "contexts": [headed]})[0][0]
    assert (one["verdict"], one["decided_by"]) == ("supported", "quotation")


PUMP = "The pump of the house weighs 12 kg when filled."
OTHERWISE_SAID = [
    ("en", "When it is filled, the pump weighs 15 kg in all.", PUMP),
    ("en", "For the pump, the hose must not be rinsed daily.", "The hose of the pump must be rinsed daily."),
    ("sv", "När den är fylld väger pumpen 15 kg.", "Pumpen i huset väger 12 kg när den är fylld."),
]


@pytest.mark.parametrize(("language", "answer", "told"), OTHERWISE_SAID)
def test_another_number_or_negation_in_other_words_is_never_alike(
    means: Means, language: str, answer: str, told: str
) -> None:
    row = {"query": "Herons?", "language": language, "answer": answer, "contexts": [context(told)]}
    (one,) = signal("statements", means, {**ROW, **row})[0]
    assert (one["verdict"], one["decided_by"], one["score"]) == ("unsupported", "quotation", 0.0)


def test_a_true_number_in_other_words_is_held_to_its_likeness(means: Means) -> None:
    (one,) = scored(means, "When it is filled, the pump weighs 12 kg in all.", PUMP)
    assert (one["verdict"], one["decided_by"]) == ("supported", "similarity")
