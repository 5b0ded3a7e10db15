import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT
from qa_pipeline_tests.end_to_end import invoke


def test_each_setting_of_a_group_is_shown_with_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qa_pipeline.yaml").write_text("llm: {model: mine, max_tries: 3}\n", encoding="utf-8")
    monkeypatch.setenv("QA_PIPELINE_LLM__WORKERS", "7")
    shown = invoke("settings", "llm", "--set", "llm.max_tries=9", "--json")
    values = {row["path"]: row["value"] for row in json.loads(shown.stdout)["settings"]}
    assert (values["llm.workers"], values["llm.model"], values["llm.max_tries"]) == (7, "mine", 9)
    assert all(path.startswith("llm.") for path in values)
    assert "llm.workers" in invoke("settings", "llm").stdout


def test_a_prefix_is_whole_names_and_not_the_beginning_of_one() -> None:
    shown = invoke("settings", "documents.ocr", "--json")
    assert len(json.loads(shown.stdout)["settings"]) == 1  # and not documents.ocr_languages


def test_an_unknown_prefix_is_refused() -> None:
    shown = invoke("settings", "retreival")
    assert shown.code == BAD_INPUT
    assert "retreival" in shown.stderr


def test_settings_that_cannot_be_used_are_an_error_and_not_a_table() -> None:
    shown = invoke("settings", "--set", "llm.workers=none of them")
    assert (shown.code, shown.stdout) == (BAD_INPUT, "")
    assert "llm.workers" in shown.stderr
