"""Replies of chat completions: what of them can be used, and why the others cannot.

What belongs here: reading the payload of a reply, of which nothing is certain. What does not: reading the
JSON of its text (`replies.py`), and error statuses (`openai_errors.py`).
"""

from collections.abc import Mapping
from typing import Any

from qa_pipeline.calls import Usage
from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.openai_compatible.errors import read_complaint, translate_status
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.llm.server_messages import one_line


def read_reply(payload: Any, headers: Mapping[str, str], key: str, model: str) -> RawReply:
    """The text of a finished reply.

    Raises:
        UnreadableReplyError: `refused`, `blocked_safety`, `truncated` or `empty`.
        ModelError: the payload is an error in spite of its status, as gateways send it.
    """
    whole = _object(payload)
    if isinstance(whole.get("error"), dict) and not whole.get("choices"):
        status = whole["error"].get("code")
        complaint = read_complaint(whole, "")
        raise translate_status(status if isinstance(status, int) else 500, complaint, headers, key, model)
    replied, usage = f"openai/{_name(whole.get('model')) or model}", _usage(whole.get("usage"))
    choice = _first(whole.get("choices"))
    message = _object(choice.get("message"))
    text = _text(message.get("content"))
    problem = _problem(choice, message, text)
    if problem:
        raw = text or _text(message.get("refusal"))
        raise UnreadableReplyError(*problem, raw=raw, model=replied, usage=usage)
    return RawReply(text, replied, usage)


def _problem(choice: dict[str, Any], message: dict[str, Any], text: str) -> tuple[str, str] | None:
    if message.get("refusal"):
        return "refused", "the model refuses to reply"
    match choice.get("finish_reason"):
        case "content_filter":
            return "blocked_safety", "reply: content_filter"
        case "length":
            return "truncated", "reply: length"
    return None if text.strip() else ("empty", "the reply has no text")


def _name(model: Any) -> str:
    return one_line(model, "") if isinstance(model, str) else ""


def _first(choices: Any) -> dict[str, Any]:
    return _object(choices[0]) if isinstance(choices, list) and choices else {}


def _object(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) else {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    def count(node: Any, name: str) -> int | None:
        value = _object(node).get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    whole = _object(usage)
    return Usage(
        input_tokens=count(whole, "prompt_tokens"),
        output_tokens=count(whole, "completion_tokens"),
        cached_tokens=count(whole.get("prompt_tokens_details"), "cached_tokens"),
        thought_tokens=count(whole.get("completion_tokens_details"), "reasoning_tokens"),
    )
