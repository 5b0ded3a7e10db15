"""A provider of chat completions against a loopback server."""

import asyncio
from collections.abc import Mapping
from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.openai_compatible.provider import OpenAIProvider
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import claim
from qa_pipeline_tests.support.servers import ChatServer

KEY = {"OPENAI_API_KEY": LOOPBACK_KEY}


def provider_for(
    server: ChatServer, *, environ: Mapping[str, str] = KEY, timeout: float = 600, **changes: Any
) -> OpenAIProvider:
    """The real provider, pointed at the server."""
    settings = ModelSettings(provider="openai", base_url=server.url, **({"model": "m"} | changes))
    return OpenAIProvider(settings, timeout, environ)


def send(provider: OpenAIProvider, *requests: Request[Any]) -> list[RawReply]:
    """What comes back to requests that are sent one after the other; the first error is raised."""

    async def run() -> list[RawReply]:
        try:
            return [await provider.send(request) for request in requests or (claim(),)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def reply_to(*plays: ServerResponse, **changes: Any) -> RawReply:
    """What one request comes to when the server plays these."""
    with ChatServer(plays) as server:
        return send(provider_for(server, **changes))[0]


def error_of(*plays: ServerResponse, **changes: Any) -> ModelError:
    """The error that one request comes to."""
    try:
        reply = reply_to(*plays, **changes)
    except ModelError as error:
        return error
    raise AssertionError(f"no error but {reply}")
