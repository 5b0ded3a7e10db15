import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import invoke


def test_each_setting_of_a_group_is_shown_with_its_value_and_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qa_pipeline.yaml").write_text("llm: {wait_minutes: 3}\n", encoding="utf-8")
    monkeypatch.setenv("QA_PIPELINE_LLM__WORKERS", "7")
    shown = invoke("settings", "llm", "--set", "llm.seed=9")
    assert shown.code == OK
    rows = {
        line.split()[0]: " ".join(line.split()[1:]) for line in shown.stdout.splitlines() if "llm." in line
    }
    assert rows["llm.workers"] == "7 environment QA_PIPELINE_LLM__WORKERS"
    assert rows["llm.wait_minutes"] == "3.0 file qa_pipeline.yaml"
    assert rows["llm.seed"] == "9 --set"
    assert rows["llm.provider"] == "extractive default"
    assert rows["llm.budget.max_calls"] == "none default"
    assert "retrieval" not in shown.stdout


def test_one_setting_is_shown_as_json() -> None:
    shown = invoke("settings", "llm.budget.max_calls", "--json", "--set", "llm.budget.max_calls=12")
    row = {"path": "llm.budget.max_calls", "value": 12, "source": "--set"}
    assert json.loads(shown.stdout) == {"settings": [row]}


def test_a_prefix_is_whole_names_and_not_the_beginning_of_one() -> None:
    shown = invoke("settings", "documents.ocr", "--json")
    assert len(json.loads(shown.stdout)["settings"]) == 1  # and not documents.ocr_languages


def test_an_unknown_prefix_is_refused_with_the_nearest_name() -> None:
    shown = invoke("settings", "retreival")
    assert shown.code == BAD_INPUT
    assert "no setting or group retreival; did you mean retrieval?" in shown.stderr


def test_settings_that_cannot_be_used_are_an_error_and_not_a_table() -> None:
    shown = invoke("settings", "--set", "llm.workers=none of them")
    assert (shown.code, shown.stdout) == (BAD_INPUT, "")
    assert "llm.workers" in shown.stderr
