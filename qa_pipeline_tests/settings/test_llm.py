import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.llm import SERVERS, RoleSettings, is_small
from qa_pipeline.settings.tree import Settings, load_settings


@pytest.mark.parametrize("server", sorted(SERVERS))
def test_the_name_of_a_server_stands_for_chat_completions_on_this_machine(server: str) -> None:
    llm = Settings(llm={"provider": server, "model": "m"}).llm
    assert llm.provider == "openai"
    assert llm.is_local
    assert llm.workers == SERVERS[server]["workers"]


def test_what_is_set_wins_over_what_the_name_of_a_server_stands_for() -> None:
    address = "http://127.0.0.1:9/v1"
    llm = Settings(llm={"provider": "vllm", "model": "m", "base_url": address, "workers": 3}).llm
    assert (llm.base_url, llm.workers) == (address, 3)


def test_a_role_may_be_on_a_server_of_its_own() -> None:
    judge = Settings(llm={"provider": "vllm", "model": "m", "judge": {"provider": "ollama"}}).llm.judge
    assert judge == RoleSettings(provider="openai", base_url=SERVERS["ollama"]["base_url"])


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"extractive, gemini, llama\.cpp, none, ollama, openai, vllm"):
        load_settings(llm={"provider": "olama"})


@pytest.mark.parametrize(
    "model", ["qwen2.5:1.5b", "Llama-3.2-3B-Instruct", "SmolLM2-360M", "a/qwen3-0.6b.gguf"]
)
def test_a_model_that_calls_itself_small_gets_the_small_profile(model: str) -> None:
    settings = Settings(llm={"provider": "ollama", "model": model})
    assert (settings.llm.profile, settings.retrieval.top_k) == ("small", 3)
    assert (
        Settings(llm={"provider": "ollama", "model": model, "profile": "standard"}).llm.profile == "standard"
    )


@pytest.mark.parametrize(
    "model", ["gemma-3-4b-it", "mixtral-8x7b", "gpt-5-mini", "Qwen2.5-14B", "phi3.5", "v2beta"]
)
def test_other_models_do_not(model: str) -> None:
    assert not is_small(model)
