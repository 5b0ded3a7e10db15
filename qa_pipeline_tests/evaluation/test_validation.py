import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline.evaluation.validation import agreement, measure_validation
from qa_pipeline.llm.base import Request
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import JudgeReply
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.evaluation.labelled_files import items, read_labelled, write_lines
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding


def judges(request: Request[Any]) -> JudgeReply:
    """Praise all but the answer that it is strict about."""
    score = 0.1 if "42" in (request.answer or "") else 1.0
    scores = ("question_quality", "relevance", "correctness", "completeness")
    return JudgeReply.model_validate(dict.fromkeys(scores, score) | {f"{name}_reason": "" for name in scores})


def test_hallucinations_and_tokens_are_told_with_and_without_validation(tmp_path: Path) -> None:
    labelled = read_labelled([write_lines(tmp_path / "rows.jsonl", items(6))]).items
    resources = Resources(Settings(out=tmp_path), embedder=HashEmbedder())
    verifier, judge = ScriptedModel(deciding("reject")), ScriptedModel(judges)
    found = measure_validation(labelled, resources, verifier, judge)
    without, with_validation = found["without_validation"], found["with_validation"]
    assert (without["answers"], without["wrong"], without["rate"]) == (6, 3, 0.5)
    assert (with_validation["answers"], with_validation["wrong"]) == (2, 0)
    assert found["fewer_hallucinations"] == 1.0
    assert found["right_answers_passed"] == pytest.approx(2 / 3)
    assert found["verification"]["right_accepted"] == 2
    assert found["verification"]["wrong_rejected"] == 3
    assert (found["judge"]["right_rejected"], found["judge"]["wrong_accepted"]) == (1, 3)
    tokens = found["tokens"]
    assert tokens["factor"] == pytest.approx(1 + tokens["validation"] / tokens["drafting"])
    assert tokens["validation"] > 0


def test_agreement_of_two_thirds_by_chance_of_a_half_is_a_kappa_of_a_third() -> None:
    found = agreement(
        [True, True, True, False, False, False, None], [True, True, False, False, False, True, True]
    )
    assert found["agreement"] == pytest.approx(2 / 3)
    assert found["kappa"] == pytest.approx(1 / 3)
    assert found["undecided"] == 1
    assert agreement([None], [True])["kappa"] is None


def test_the_command_tells_who_was_right_without_a_model_too(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", items(6))
    shown = invoke("eval", "validation", file, "--data", tmp_path / "data", "--json")
    assert shown.code == OK, shown.stderr
    document = json.loads(shown.stdout)
    assert document["judge"] is None
    assert document["with_validation"]["wrong"] == 0
    assert document["tokens"]["factor"] == 1.0
    assert "fewer hallucinations" in invoke("eval", "validation", file, "--data", tmp_path / "data").stdout
