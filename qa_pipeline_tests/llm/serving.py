"""The real providers against a loopback server, without waits between tries."""

import asyncio
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget import Budget
from qa_pipeline.llm.gemini import GeminiProvider
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.openai_compatible import OpenAIProvider
from qa_pipeline.llm.provider import Provider, RawReply, Throttle
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings, ModelSettings
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import claim
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

Served = GeminiServer | ChatServer


def chat_provider(server: ChatServer, *, key: str = LOOPBACK_KEY, **changes: Any) -> OpenAIProvider:
    """A provider of chat completions, pointed at the server."""
    settings = ModelSettings(provider="openai", base_url=server.url, **({"model": "m"} | changes))
    return OpenAIProvider(settings, 600, {"OPENAI_API_KEY": key})


def provider_for(
    server: Served, *, key: str = LOOPBACK_KEY, timeout: float = 600, **changes: Any
) -> Provider:
    """The provider of the server's protocol, pointed at it."""
    is_chat = isinstance(server, ChatServer)
    fields = {"provider": "openai" if is_chat else "gemini", "base_url": server.url, "model": "m"}
    settings = ModelSettings(**(fields | changes))
    environ = {"OPENAI_API_KEY": key, "GEMINI_API_KEY": key}
    return (OpenAIProvider if is_chat else GeminiProvider)(settings, timeout, environ)


def model_for(server: Served) -> HostedModel:
    """A model of few tries behind the server's provider."""
    settings = LLMSettings(max_tries=3, wait_minutes=0)
    budget = Budget(BudgetSettings())
    return HostedModel(provider_for(server), settings, Throttle(), budget, run="run", most_output=1000)


def send(provider: Provider, *requests: Request[Any]) -> list[RawReply]:
    """What comes back to requests that are sent one after the other; the first error is raised."""

    async def run() -> list[RawReply]:
        try:
            return [await provider.send(request) for request in requests or (claim(),)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def reply_to(server: type[Served], play: ServerResponse, **changes: Any) -> RawReply:
    """What one request comes to when the server plays this."""
    with server([play]) as served:
        return send(provider_for(served, **changes))[0]


def error_of(server: type[Served], play: ServerResponse, **changes: Any) -> ModelError:
    """The error that one request comes to."""
    try:
        reply = reply_to(server, play, **changes)
    except ModelError as error:
        return error
    raise AssertionError(f"no error but {reply}")
