"""The server answers in both protocols, and takes its own key only."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

MESSAGE = {"role": "user", "content": "hej"}


def ask(url: str, body: object, **headers: str) -> Any:
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)


def test_gemini_is_answered() -> None:
    with GeminiServer() as server:
        path = f"{server.url}/v1/models/m:generateContent"
        reply = ask(path, {"contents": [{"parts": [{"text": "hej"}]}]}, **{"x-goog-api-key": LOOPBACK_KEY})
    assert reply["candidates"][0]["content"]["parts"][0]["text"]


def test_chat_completions_are_answered() -> None:
    with ChatServer() as server:
        body = {"model": "m", "messages": [MESSAGE]}
        reply = ask(f"{server.url}/chat/completions", body, Authorization=f"Bearer {LOOPBACK_KEY}")
        assert reply["choices"][0]["message"]["content"]
        with pytest.raises(HTTPError, match="401"):
            ask(f"{server.url}/chat/completions", body, Authorization="Bearer another")
