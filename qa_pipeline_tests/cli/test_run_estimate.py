import json
from pathlib import Path

import pytest

from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.pipeline.test_costs_estimate import settings_at


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    settings_at(tmp_path)
    return tmp_path / "corpus"


def test_a_person_sees_stages_total_and_how_it_was_estimated(corpus: Path, tmp_path: Path) -> None:
    ran = invoke("estimate", corpus, "--out", tmp_path / "out", "--provider", "gemini")
    assert ran.code == 0
    for word in ("north", "south", "questions", "judge", "USD", "all"):
        assert word in ran.stdout
    assert not (tmp_path / "out").exists()


def test_a_program_gets_one_document(corpus: Path, tmp_path: Path) -> None:
    ran = invoke(
        "estimate", corpus, "--out", tmp_path / "out", "--provider", "openai", "--model", "gpt-5-mini",
        "--batch", "north", "--json",
    )  # fmt: skip
    told = json.loads(ran.stdout)
    stages = [stage["stage"] for stage in told["stages"]]
    assert stages == ["questions", "standalone", "answer", "split", "verify", "judge"]
    assert told["cost"] == pytest.approx(sum(stage["cost"] for stage in told["stages"]))
    assert told["currency"] == "USD"


def test_what_cannot_be_used_is_said(corpus: Path, tmp_path: Path) -> None:
    ran = invoke("estimate", corpus, "--out", tmp_path / "out", "--batch", "west")
    assert (ran.code, "'west'" in ran.stderr) == (2, True)
    ran = invoke("estimate", corpus, "--provider", "gemeni")
    assert (ran.code, "llm.provider" in ran.stderr) == (2, True)
