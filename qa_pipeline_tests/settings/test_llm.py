import pytest

from qa_pipeline.settings.llm import SERVERS, RoleSettings
from qa_pipeline.settings.tree import Settings


@pytest.mark.parametrize("server", sorted(SERVERS))
def test_the_name_of_a_server_stands_for_chat_completions_on_this_machine(server: str) -> None:
    llm = Settings(llm={"provider": server, "model": "m"}).llm
    assert llm.provider == "openai"
    assert llm.is_local
    assert llm.workers == SERVERS[server]["workers"]


def test_a_role_may_be_on_a_server_of_its_own() -> None:
    judge = Settings(llm={"provider": "vllm", "model": "m", "judge": {"provider": "ollama"}}).llm.judge
    assert judge == RoleSettings(provider="openai", base_url=SERVERS["ollama"]["base_url"])
