"""From the text of a reply to its reply model.

What belongs here: reading a reply's JSON, and saying what is wrong with one that cannot be read. What does
not: asking again (`hosted.py`), what a provider's finish reasons mean.
"""

from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.base import ReplyT

_NAMED_BREACHES = 3


def parse_reply(raw: str, reply_model: type[ReplyT]) -> ReplyT:
    """Read the JSON text of a reply.

    Raises:
        UnreadableReplyError: `empty`, `not_json` or `schema_breach`. The detail names places and kinds of
            the breach and never repeats the reply, which is untrusted text.
    """
    if not raw.strip():
        raise UnreadableReplyError("empty", "the reply has no text")
    try:
        return reply_model.model_validate_json(raw)
    except ValidationError as error:
        breaches = error.errors(include_url=False, include_context=False, include_input=False)
    if breaches[0]["type"] == "json_invalid":
        raise UnreadableReplyError("not_json", f"the reply of {len(raw)} characters is not one JSON value")
    raise UnreadableReplyError("schema_breach", f"{reply_model.__name__}: {_describe(breaches)}")


def _describe(breaches: Sequence[ErrorDetails]) -> str:
    # the name of an unknown field is the reply's own text, so only known kinds of places are named
    named = [
        "unknown field" if breach["type"] == "extra_forbidden" else f"{_place(breach)} {breach['type']}"
        for breach in breaches[:_NAMED_BREACHES]
    ]
    rest = len(breaches) - len(named)
    return ", ".join(named) + (f" and {rest} more" if rest else "")


def _place(breach: ErrorDetails) -> str:
    return ".".join(str(part) for part in breach["loc"]) or "reply"
