import os
import stat
from pathlib import Path

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.vector_cache import VectorCache, VectorSpace
from qa_pipeline.settings.generation import SWEDISH_EMBEDDING_MODEL
from qa_pipeline.settings.llm import LLMSettings, same_model_warning
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout


def test_environment_wins_over_the_file_and_arguments_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("retrieval: {top_k: 3, vector_weight: 0.3}\nllm: {workers: 2}\n")
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    monkeypatch.setenv("QA_PIPELINE_RETRIEVAL__TOP_K", "4")
    settings = load_settings(llm={"max_tries": 7})
    assert (settings.retrieval.top_k, settings.retrieval.vector_weight) == (4, 0.3)
    assert (settings.llm.workers, settings.llm.max_tries) == (2, 7)


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("EMBEDDING_ENABLE_REFERENCE_VALIDATION", "true", "GENERATION__ENABLE_REFERENCE_VALIDATION"),
        ("EMBEDDING_VALIDATION_MODEL", "m", "GENERATION__VALIDATION_MODEL"),
        ("EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM", "3", "GENERATION__VALIDATION_MAX_REFS_PER_ITEM"),
    ],
)
def test_the_specifications_names_of_variables_are_refused_and_ours_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, own: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"QA_PIPELINE_{own}"):
        load_settings()


def test_a_misspelt_name_in_the_environment_is_an_error_not_a_silent_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QA_PIPELINE_LMM__WORKERS", "3")
    with pytest.raises(SettingsError, match="QA_PIPELINE_LMM__WORKERS"):
        load_settings()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"llm: [unclosed", "line 1"),
        (b"- a\n- b\n", "settings.yaml"),
        (b"llm: fast\n", "llm"),
        (b"llm: {workers: 1, workers: 2}\n", "'workers'"),
        (b"profile: fancy\n", "profile"),
        (b"lmm: {workers: 2}\n", "lmm"),
    ],
)
def test_a_settings_file_that_cannot_be_used_is_named_with_what_is_wrong(
    content: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_bytes(content)
    monkeypatch.setenv("QA_PIPELINE_SETTINGS", str(file))
    with pytest.raises(SettingsError, match=told):
        load_settings(llm={})


def test_a_paid_provider_without_a_cap_is_refused() -> None:
    with pytest.raises(SettingsError, match="MAX_CALLS"):
        load_settings(llm={"provider": "gemini"})


@pytest.mark.parametrize("url", ["http://localhost:8080/v1", "http://127.0.0.1/v1", "http://[::1]:8000/v1"])
def test_a_server_of_this_machine_needs_no_cap_and_gets_more_time(url: str) -> None:
    llm = load_settings(llm={"provider": "openai", "base_url": url}).llm
    assert (llm.seconds_for(llm.generator), llm.seconds_for(LLMSettings().generator)) == (600, 120)
    assert load_settings(llm={"timeout_seconds": 7}).llm.seconds_for(llm.generator) == 7


def test_the_hosted_profile_sets_what_nothing_else_set() -> None:
    settings = load_settings(profile="hosted", llm={"budget": {"max_calls": 10}})
    assert (settings.llm.provider, settings.embedding.model) == ("gemini", SWEDISH_EMBEDDING_MODEL)
    own = load_settings(
        profile="hosted", llm={"budget": {"max_calls": 10}}, embedding={"model": "some/model"}
    )
    assert (own.embedding.model, own.embedding.revision) == ("some/model", None)


def test_a_model_that_judges_its_own_answers_is_warned_of() -> None:
    def warning(**llm: object) -> str | None:
        return same_model_warning(LLMSettings.model_validate({"provider": "gemini", "model": "m"} | llm))

    assert "gemini/m" in (warning() or "")
    assert warning(judge={"model": "other"}) is None
    assert warning(judge={"provider": "openai", "model": "m"}) is None
    assert warning(judge={"base_url": "http://127.0.0.1:1"}) is None
    assert warning(provider="extractive") is None
    assert warning(provider="none") is None


def test_the_address_of_the_store_may_hold_no_password_and_the_error_shows_none() -> None:
    with pytest.raises(SettingsError, match="PGPASSWORD") as caught:
        load_settings(llm={"store": {"url": "postgresql://user:s3cret@host/db"}})
    assert "s3cret" not in str(caught.value)


def test_a_role_takes_what_it_does_not_name_from_the_rest() -> None:
    settings = load_settings(llm={"model": "a", "max_output_tokens": 7, "judge": {"model": "b"}}).llm
    assert (settings.generator.model, settings.reviewer("verifier").model) == ("a", "a")
    assert (settings.reviewer("judge").model, settings.reviewer("judge").max_output_tokens) == ("b", 7)


@pytest.mark.parametrize(
    ("settings", "accepts"),
    [
        ({}, True),
        ({"llm": {"provider": "none"}}, True),
        ({"judging": {"accept_unjudged": False}}, False),
        ({"llm": {"provider": "gemini"}}, False),
        ({"llm": {"judge": {"provider": "openai"}}}, False),
        ({"llm": {"provider": "gemini"}, "judging": {"enabled": False}}, False),
        ({"llm": {"provider": "gemini"}, "judging": {"accept_unjudged": True}}, True),
        ({"profile": "hosted", "llm": {"provider": "extractive"}}, False),
    ],
)
def test_only_offline_are_pairs_accepted_that_nobody_judged_unless_the_settings_say_so(
    settings: dict[str, dict[str, object]], accepts: bool
) -> None:
    llm = {"budget": {"max_calls": 1}, **settings.get("llm", {})}
    assert load_settings(**{**settings, "llm": llm}).judging.accept_unjudged is accepts


@pytest.mark.parametrize(("private", "modes"), [(True, (0o600, 0o700)), (False, (0o644, 0o755))])
def test_new_files_are_the_owners_alone_unless_a_setting_says_otherwise(
    tmp_path: Path, private: bool, modes: tuple[int, int]
) -> None:
    earlier = os.umask(0o022)
    try:
        settings = load_settings(out=tmp_path / "out", private=private)
        layout = Layout(settings.out)
        write_bytes(layout.table("documents", "b"), b"x")
        cache = VectorCache(layout.vectors)
        cache.put_many(VectorSpace("m", "r", "fp32"), {"a": np.ones(1, np.float32)})
        assert {path.suffix for path in layout.vectors.parent.iterdir()} == {
            ".sqlite",
            ".sqlite-wal",
            ".sqlite-shm",
        }
        made = [*settings.out.rglob("*"), settings.out]
        found = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in made}
    finally:
        os.umask(earlier)
    assert found == {(False, modes[0]), (True, modes[1])}


def test_an_output_folder_on_a_store_needs_a_local_folder_for_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_OUT", "memory://bucket/data/")
    with pytest.raises(SettingsError, match="QA_PIPELINE_CACHE"):
        load_settings()
    with pytest.raises(SettingsError, match="setting cache"):
        load_settings(cache="s3://bucket/caches")
    monkeypatch.setenv("QA_PIPELINE_CACHE", "caches")
    settings = load_settings()
    assert (str(settings.out), settings.cache) == ("memory://bucket/data", Path("caches"))
