"""The real clients of both protocols, pointed at a loopback server and closed behind every call."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientSession
from google.genai import Client
from google.genai.types import GenerateContentConfig, GenerateContentResponse, HttpOptions, HttpRetryOptions
from google.oauth2.credentials import Credentials
from openai import AsyncOpenAI

from qa_pipeline.llm.gemini.wire import response_schema
from qa_pipeline.prompts.loading import delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage, VerifyReply
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

MODEL = "gemini-x"
PASSAGE = Passage("c1", "Manual", ("Filling",), "Open the lower valve. Wait 10 minutes.", "en")
CLAIM = "Wait 10 minutes."


def prompt(claim: str = CLAIM) -> str:
    """Return what a verifier is asked."""
    return load_prompt("en", "verify").fill(
        passages=render_passages([PASSAGE]), claims=delimit_all([claim], "claim")
    )


def config(**changes: Any) -> GenerateContentConfig:
    """Return how a verifier is asked."""
    fields: dict[str, Any] = {
        "system_instruction": load_prompt("en", "verify").system,
        "temperature": 0.0,
        "response_mime_type": "application/json",
        "response_json_schema": response_schema(VerifyReply),
    }
    return GenerateContentConfig(**(fields | changes))


def with_gemini(
    server: GeminiServer, use: Callable[[Client], Awaitable[Any]], *, key: str = LOOPBACK_KEY
) -> Any:
    """Return what `use` makes of a client of the Gemini API."""
    return _used(server, use, vertexai=False, api_key=key)


def with_vertex(
    server: GeminiServer, use: Callable[[Client], Awaitable[Any]], *, token: str = LOOPBACK_KEY
) -> Any:
    """Return what `use` makes of a client of Vertex AI."""
    credentials = Credentials(token)  # type: ignore[no-untyped-call]
    place = {"project": "p", "location": "europe-north1"}
    return _used(server, use, vertexai=True, credentials=credentials, **place)


def with_chat(
    server: ChatServer, use: Callable[[AsyncOpenAI], Awaitable[Any]], *, key: str = LOOPBACK_KEY
) -> Any:
    """Return what `use` makes of a client of chat completions."""

    async def run() -> Any:
        async with AsyncOpenAI(api_key=key, base_url=server.url, max_retries=0, timeout=600) as client:
            return await use(client)

    return asyncio.run(run())


def generate(server: GeminiServer, text: str | None = None, **changes: Any) -> GenerateContentResponse:
    """Return one reply of Gemini's."""

    async def use(client: Client) -> GenerateContentResponse:
        return await client.aio.models.generate_content(
            model=MODEL, contents=prompt() if text is None else text, config=config(**changes)
        )

    reply: GenerateContentResponse = with_gemini(server, use)
    return reply


def _used(server: GeminiServer, use: Callable[[Client], Awaitable[Any]], **account: Any) -> Any:
    async def run() -> Any:
        async with (
            ClientSession() as session
        ):  # one that the client makes itself warns, and warnings are errors
            options = HttpOptions(
                base_url=server.url,
                timeout=600_000,
                retry_options=HttpRetryOptions(attempts=1),
                aiohttp_client=session,
            )
            client = Client(http_options=options, **account)
            try:
                return await use(client)
            finally:
                client.close()

    return asyncio.run(run())
