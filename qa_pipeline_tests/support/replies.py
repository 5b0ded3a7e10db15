"""Replies and faults that tests script, beside those that the loopback server gives by itself."""

from collections.abc import Mapping
from typing import Any

from qa_pipeline_tests.fake_server import chat
from qa_pipeline_tests.fake_server.responses import ServerResponse, json_response


def stops(finish: str) -> ServerResponse:
    """Reply without text, for a finish reason such as SAFETY or RECITATION."""
    return json_response({"candidates": [{"finishReason": finish, "index": 0}]})


def blocks_prompt(reason: str = "SAFETY", *, usage: Mapping[str, int] | None = None) -> ServerResponse:
    """Refuse to read the prompt."""
    body: dict[str, Any] = {"promptFeedback": {"blockReason": reason}}
    return json_response(body | ({"usageMetadata": usage} if usage else {}))


def no_candidates() -> ServerResponse:
    """Reply with nothing in it."""
    return json_response({"candidates": []})


def refuses(text: str) -> ServerResponse:
    """Reply with a refusal in place of the answer."""
    return chat.says(None, refusal=text)


def lacks_credit() -> ServerResponse:
    """Reply as to an account without money, for which waiting does not help."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return chat.fails(429, message, code="insufficient_quota", kind="insufficient_quota")


def html_page(status: int = 200) -> ServerResponse:
    """Reply with a page that is not JSON at all, as a proxy may."""
    return ServerResponse(status, b"<html>gateway</html>")
