import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import GuardReply
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.benchmarks.quality.measure_guard import suite_rates
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel

VALVE = "The safety valve opens at 3 bar."


def suite(folder: Path, name: str, *questions: tuple[str, bool]) -> Path:
    """Questions about one passage, and whether each must be refused."""
    rows = [
        {"query": query, "language": "en", "contexts": [VALVE], "ground_truth": {"must_refuse": must_refuse}}
        for query, must_refuse in questions
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.fixture
def suites(tmp_path: Path) -> list[Path]:
    first = suite(
        tmp_path, "first", (VALVE, False), ("Why?", False), ("The safety valve hums at 3 bar.", True)
    )
    return [first, suite(tmp_path, "second", (VALVE, False), ("Who won?", True))]


def shares(rates: dict[str, Any]) -> tuple[float, float]:
    return rates["hallucination"]["share"], rates["false_refusal"]["share"]


def test_what_passes_unanswered_and_what_is_refused_in_vain_are_counted(suites: list[Path]) -> None:
    rates = suite_rates(suites, Resources(Settings(), embedder=HashEmbedder()))
    assert shares(rates["first"]["prompt"]) == (1.0, 0.0)
    assert shares(rates["first"]["embedding"]) == (1.0, 0.5)
    assert shares(rates["second"]["embedding"]) == (0.0, 0.0)
    assert rates["first"]["embedding"]["false_refusal"]["of"] == 2


def test_a_threshold_is_chosen_on_the_other_suites(suites: list[Path]) -> None:
    rates = suite_rates(suites, Resources(Settings(), embedder=HashEmbedder()))
    assert rates["first"]["chosen on other suites"]["threshold"] == 1.0
    assert shares(rates["first"]["chosen on other suites"]) == (0.0, 0.5)
    assert (
        "chosen on other suites"
        not in suite_rates(suites[:1], Resources(Settings(), embedder=HashEmbedder()))["first"]
    )


def test_a_model_that_is_configured_is_measured_too(suites: list[Path]) -> None:
    model = ScriptedModel(
        lambda request: GuardReply(reasoning="", can_answer=request.question == VALVE, confidence=1.0)
    )
    rates = suite_rates(suites, Resources(Settings(), embedder=HashEmbedder(), model=model))
    assert shares(rates["first"]["llm"]) == (0.0, 0.5)
    assert shares(rates["second"]["embedding_then_llm"]) == (0.0, 0.0)
