from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, means_at, rows_of, signal
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

SHOWN = [context("Ann lives in the mill."), context("  "), context("Bo owns a red boat.")]
ROW = {"answer": "Ann lives in the mill. Bo sails.", "contexts": SHOWN, "refused": False}


def statements(folder: Path, row: Row, **means: Any) -> list[Row]:
    found: list[Row] = signal("statements", means_at(folder, **means), {**ROW, **row})[0]
    return found


def test_statements_keep_their_place_and_the_context_that_proves_them(tmp_path: Path) -> None:
    first = statements(tmp_path, {"answer": "Bo owns a red boat. Ann lives in the mill."})
    assert [(one["verdict"], one["context"], one["position"]) for one in first] == [
        ("supported", 2, 0),
        ("supported", 0, 1),
    ]
    assert [len(one["scores"]) for one in first] == [3, 3]
    assert [one["scores"][1] for one in first] == [None, None]
    answer = "Bo owns a red boat. Ann lives in the mill."
    assert [answer[one["start"] : one["end"]] for one in first] == [
        "Bo owns a red boat.",
        "Ann lives in the mill.",
    ]


@pytest.mark.parametrize(
    ("means", "verdict", "by"),
    [
        ({}, "unsupported", "similarity"),
        ({"undecided": "unknown"}, "undecided", "no_step"),
        ({"verifier": ScriptedModel(deciding("reject"))}, "unsupported", "llm"),
    ],
)
def test_what_no_step_decides_is_held_to_the_cosine_left_open_or_asked(
    tmp_path: Path, means: Any, verdict: str, by: str
) -> None:
    last = statements(tmp_path, {}, **means)[1]
    assert (last["verdict"], last["decided_by"]) == (verdict, by)


def test_an_undecided_statement_leaves_faithfulness_unknown(tmp_path: Path) -> None:
    metrics = chosen_metrics(["faithfulness", "grounding"])
    _, values = evaluate(rows_of(ROW), metrics, means_at(tmp_path, undecided="unknown"))
    assert values["faithfulness"][0] is None
    assert values["grounding"][0] is not None


@pytest.mark.parametrize(
    "row", [{"refused": True}, {"contexts": [context(None)]}, {"contexts": [context(" ")]}]
)
def test_refusals_and_rows_without_text_have_no_statements(tmp_path: Path, row: Row) -> None:
    assert signal("statements", means_at(tmp_path), {**ROW, **row}) == [None]


def test_two_contexts_together_may_say_what_neither_does(tmp_path: Path) -> None:
    shown = [context("alpha beta gamma"), context("delta epsilon zeta")]
    (one,) = statements(tmp_path, {"answer": "Alpha beta delta epsilon.", "contexts": shown})
    assert one["pair_score"] > one["score"]


def test_equal_rows_have_equal_statements(tmp_path: Path) -> None:
    first, second = signal("statements", means_at(tmp_path), ROW, ROW)
    assert first == second


@pytest.mark.parametrize("mark", ["[1]", "[source: mill.md]", "[source: made-up.md]"])
def test_what_an_answer_cites_does_not_decide_whether_its_contexts_support_it(
    tmp_path: Path, mark: str
) -> None:
    plain = statements(tmp_path, {"answer": "Ann lives in the mill."})
    marked = statements(tmp_path, {"answer": f"Ann lives in the mill {mark}."})
    assert [one["verdict"] for one in marked] == ["supported"]
    assert [{**one, "end": 0} for one in marked] == [{**one, "end": 0} for one in plain]


@pytest.mark.parametrize("mark", ["[1]", "[source: mill.md]"])
def test_marks_in_an_answer_do_not_hide_the_true_claims_that_it_states(tmp_path: Path, mark: str) -> None:
    row = {"answer": f"Ann lives {mark} in the mill.", "true_claims": [{"claim": "Ann lives in the mill."}]}
    ((one,),) = signal("covered", means_at(tmp_path), {**ROW, **row})
    assert (one["supported"], one["decided_by"]) == (True, "alignment")
