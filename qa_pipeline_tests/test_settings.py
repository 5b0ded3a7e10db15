from pathlib import Path

import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings import SWEDISH_EMBEDDING_MODEL, load_settings


def test_environment_wins_over_the_file_and_arguments_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("retrieval: {top_k: 3, depth: 30}\nllm: {workers: 2}\n")
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    monkeypatch.setenv("QA_PIPELINE_RETRIEVAL__TOP_K", "4")
    settings = load_settings(llm={"seed": 7})
    assert (settings.retrieval.top_k, settings.retrieval.depth) == (4, 30)
    assert (settings.llm.workers, settings.llm.seed) == (2, 7)


def test_a_misspelt_setting_is_named() -> None:
    with pytest.raises(SettingsError, match=r"retrieval\.topk"):
        load_settings(retrieval={"topk": 3})


def test_a_missing_settings_file_is_an_error_not_a_silent_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", "nowhere.yaml")
    with pytest.raises(SettingsError, match=r"nowhere\.yaml"):
        load_settings()


def test_a_paid_provider_without_a_cap_is_refused() -> None:
    with pytest.raises(SettingsError, match="max_calls"):
        load_settings(llm={"provider": "gemini"})


def test_the_hosted_profile_sets_what_nothing_else_set() -> None:
    settings = load_settings(profile="hosted", llm={"max_calls": 10})
    assert (settings.llm.provider, settings.embedding.model) == ("gemini", SWEDISH_EMBEDDING_MODEL)
    own = load_settings(profile="hosted", llm={"max_calls": 10}, embedding={"model": "some/model"})
    assert (own.embedding.model, own.embedding.revision) == ("some/model", None)


def test_other_thresholds_have_another_id() -> None:
    one, other = load_settings(), load_settings(verification={"recall_accept": 0.95})
    assert one.verification.thresholds_id != other.verification.thresholds_id
    assert one.verification.thresholds_id == load_settings().verification.thresholds_id
