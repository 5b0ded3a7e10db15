"""What is paid is not paid again by accident: a run of other settings ends with its estimate."""

from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.pipeline.scripted_replies import ScriptedReplies
from qa_pipeline_tests.pipeline.test_estimate import run, settings_at, with_generation


def limited(folder: Path, pairs: int = 0, **llm: Any) -> Settings:
    return settings_at(folder, budget={"max_calls": 1000, "rebuy_above": pairs}, **llm)


def written_again(settings: Settings) -> int:
    """Run the batch again: the calls that write questions and answers."""
    model = ScriptedReplies()
    run_batches(Resources(settings, embedder=HashEmbedder(), model=model), ["north"])
    return sum(call.role in {"questions", "answer"} for call in model.calls)


def test_unchanged_settings_pay_nothing_again(tmp_path: Path) -> None:
    assert run(settings_at(tmp_path), "north").calls
    assert written_again(limited(tmp_path)) == 0


def test_another_model_is_refused_before_its_first_call_with_the_estimate_and_the_setting(
    tmp_path: Path,
) -> None:
    run(settings_at(tmp_path), "north")
    with pytest.raises(BudgetExhaustedError, match=r"calls, .* tokens .* llm\.budget\.rebuy_above"):
        written_again(limited(tmp_path, model="dearer"))


def test_an_edited_document_is_no_reason_to_refuse(tmp_path: Path) -> None:
    settings = limited(tmp_path)
    run(settings, "north")
    file = tmp_path / "corpus" / "north" / "guide.md"
    file.write_text(file.read_text().replace("weeks", "months"))
    assert written_again(settings)


def test_another_style_of_answers_is_refused_above_the_limit_and_paid_below_it(tmp_path: Path) -> None:
    run(with_generation(settings_at(tmp_path), answers="from_passages"), "north")
    other = {"answers": "from_passages", "answer_style": "short"}
    with pytest.raises(BudgetExhaustedError):
        written_again(with_generation(limited(tmp_path), **other))
    assert written_again(with_generation(limited(tmp_path, 10_000), **other))
