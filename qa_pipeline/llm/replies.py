"""From the text of a reply to its reply model, strictly first and then by the smallest repair that works.

What belongs here: reading a reply's JSON, and saying what is wrong with one that cannot be read. What does
not: asking again (`hosted.py`), answers without any JSON (`recovery.py`), a provider's finish reasons.

A repair may change marks, never words: a reply whose JSON is mended must keep every word it had, and one that
was cut off is not mended at all, since closing it would make half an answer look whole.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from qa_pipeline.calls import Repair
from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.base import ReplyT

LONGEST_MENDED = 200_000
"""Characters; a longer reply is not mended, since the time it takes grows with the damage."""
_NAMED_BREACHES = 3
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPED_MARK = re.compile(r"\\.")
_REFUSALS = re.compile(
    r"""\A\W* (?:
        i['’]?m\ (?:sorry|not\ able|unable) | i\ am\ (?:sorry|not\ able|unable) | sorry\b
        | i\ can(?:no|['’])t | as\ an\ ai\b
        | tyvärr | förlåt | jag\ kan\ (?:inte|tyvärr)
        | (?:es\ )?tut\ mir\ leid | leider\ kann\ ich | ich\ kann\ (?:das\ |dies\ |ihnen\ )?(?:leider\ )?nicht
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def read_reply(raw: str, reply_model: type[ReplyT]) -> tuple[ReplyT, Repair]:
    """Read a reply, and say what it took.

    Raises:
        UnreadableReplyError: `empty`, `refused`, `not_json` or `schema_breach`; the text is on the error.
    """
    try:
        return parse_reply(raw, reply_model), "none"
    except UnreadableReplyError as error:
        first = error
    if first.reason == "not_json":
        for repair, attempt in _attempts(raw):
            try:
                return parse_reply(attempt, reply_model), repair
            except UnreadableReplyError as error:
                first = error if error.reason == "schema_breach" else first
    if first.reason == "not_json" and "{" not in raw and _REFUSALS.match(raw):
        first = UnreadableReplyError("refused", "the model replied that it will not answer")
    first.raw = raw
    raise first


def parse_reply(raw: str, reply_model: type[ReplyT]) -> ReplyT:
    """Read the JSON text of a reply as it stands.

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


def _attempts(raw: str) -> Iterator[tuple[Repair, str]]:
    """Texts that may be the reply's JSON, the least changed first."""
    text = _THOUGHTS.sub("", raw)
    found = _objects(text)
    if len(found) == 1:
        yield "stripped", found[0]
    if not found and (mended := _mended(text)) is not None:
        yield "mended", mended


def _objects(text: str) -> list[str]:
    """The outermost JSON objects in a text, each different one once: two would leave the reply open."""
    decoder = json.JSONDecoder()
    found: dict[str, None] = {}
    start = text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # an object that cannot be read may hold others that can; those are parts, not the reply
            return []
        found[text[start:end]] = None
        start = text.find("{", end)
    return list(found)


def _mended(text: str) -> str | None:
    """JSON mended by json_repair, if that cost no word and the text was not cut off."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or len(text) > LONGEST_MENDED:
        return None
    if any(mark in text[end + 1 :] for mark in '"{['):
        return None
    from json_repair import repair_json

    broken = text[start : end + 1]
    mended = repair_json(broken, ensure_ascii=False)
    kept = isinstance(mended, str) and _words(mended) == _words(broken)
    return mended if kept and isinstance(mended, str) else None


def _words(text: str) -> Counter[str]:
    plain = _ESCAPED_MARK.sub(" ", _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text))
    return Counter(re.findall(r"\w+", plain.lower()))


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
