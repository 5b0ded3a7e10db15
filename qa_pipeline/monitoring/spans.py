"""OpenTelemetry spans of generative AI as answered requests, one for each trace.

Reads OTLP as JSON lines, which the collector's file exporter writes. Texts are looked for where these put
them: the attributes `gen_ai.input.messages` and `gen_ai.output.messages` of the semantic conventions from
1.37 on, as JSON or structured, on spans, their events or log records; the events `gen_ai.user.message` and
`gen_ai.choice` of 1.36 and before; `gen_ai.content.prompt` and `gen_ai.content.completion` before those; the
numbered attributes of OpenInference and OpenLLMetry. Passages are `gen_ai.retrieval.documents` and
OpenInference's `retrieval.documents.N.document.*`.

A trace is one request. Its query is what the span that begins first was asked, its answer what the span that
ends last gave: that is the outermost one where it says anything, else the retrieval and the last model call.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Attributes = Mapping[str, Any]
_GENAI = ("gen_ai.", "openinference.", "llm.", "retrieval.documents")
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.content.prompt")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.content.completion")
_USER_EVENTS = ("gen_ai.user.message", "gen_ai.content.prompt")
_ANSWER_EVENTS = ("gen_ai.choice", "gen_ai.content.completion")
_NUMBERED_INPUT = re.compile(
    r"(?:llm\.input_messages|gen_ai\.prompt)\.(\d{1,6})\.(?:message\.)?(role|content)"
)
_NUMBERED_OUTPUT = re.compile(
    r"(?:llm\.output_messages|gen_ai\.completion)\.(\d{1,6})\.(?:message\.)?(role|content)"
)
_NUMBERED_DOCUMENT = re.compile(r"retrieval\.documents\.(\d{1,6})\.document\.(content|id|score)")
_ERROR_STATUS = (2, "STATUS_CODE_ERROR")
_DEEPEST = 20
_TEXT_PARTS = ("text", "output_text", "input_text", None)


@dataclass(frozen=True, slots=True)
class Span:
    """What a span, or a log record of one, says of a request.

    Times are nanoseconds since 1970; a log record begins and ends at its time.
    """

    trace: str
    begins: int
    ends: int
    query: str | None
    answer: str | None
    documents: tuple[Mapping[str, Any], ...]
    failed: str | None
    model: str | None
    is_genai: bool


def is_otlp(line: object) -> bool:
    """Whether the value of a line holds spans or log records of OTLP."""
    return isinstance(line, dict) and ("resourceSpans" in line or "resourceLogs" in line)


def read_spans(line: Mapping[str, Any]) -> Iterator[Span | str]:
    """The spans and log records of one line, and why one cannot be read."""
    for record in _records(line, "resourceSpans", "scopeSpans", "spans"):
        yield _span(record)
    for record in _records(line, "resourceLogs", "scopeLogs", "logRecords"):
        yield _log_record(record)


def request_of(spans: Sequence[Span]) -> dict[str, Any] | None:
    """One row from the spans of a trace; None where none of them has texts or has failed.

    Args:
        spans: of one trace, at least one.
    """
    told = [one for one in spans if one.is_genai]
    if not told:
        return None
    first = sorted(told, key=lambda one: (one.begins, -one.ends))
    last = sorted(told, key=lambda one: (one.ends, -one.begins))
    query = next((one.query for one in first if one.query), None)
    answer = next((one.answer for one in reversed(last) if one.answer), None)
    failed = last[-1].failed
    if query is None and answer is None and failed is None:
        return None
    begins, ends = min(one.begins for one in spans), max(one.ends for one in spans)
    documents = {
        (found.get("document"), found.get("text")): found for one in first for found in one.documents
    }
    return {
        "id": told[0].trace,
        "time": begins,
        "query": query,
        "answer": answer,
        "contexts": list(documents.values()),
        "seconds": (ends - begins) / 1e9 if ends > begins else None,
        "error": failed,
        "model": next((one.model for one in reversed(last) if one.model), None),
    }


def _records(line: Mapping[str, Any], *names: str) -> Iterator[Any]:
    found: list[Any] = [line]
    for name in names:
        below = [one.get(name) for one in found if isinstance(one, dict)]
        found = [one for group in below if isinstance(group, list) for one in group]
    yield from found


def _span(record: Any) -> Span | str:
    if not isinstance(record, dict) or not isinstance(record.get("traceId"), str) or not record["traceId"]:
        return "a span without a trace id"
    begins, ends = _nanoseconds(record.get("startTimeUnixNano")), _nanoseconds(record.get("endTimeUnixNano"))
    if begins is None or ends is None:
        return "a span without its times"
    attributes = _attributes(record.get("attributes"))
    events = _objects(record.get("events"))
    heard = [(str(one.get("name")), _attributes(one.get("attributes"))) for one in events]
    return _request_of(record["traceId"], (begins, ends), attributes, heard, _failure(record, attributes))


def _log_record(record: Any) -> Span | str:
    """A log record of a trace, whose body and attributes are those of an event."""
    if not isinstance(record, dict) or not isinstance(record.get("traceId"), str) or not record["traceId"]:
        return "a log record without a trace id"
    at = _nanoseconds(record.get("timeUnixNano")) or _nanoseconds(record.get("observedTimeUnixNano"))
    if at is None:
        return "a log record without its time"
    attributes = _attributes(record.get("attributes"))
    body = _value(record.get("body"))
    name = str(record.get("eventName") or attributes.get("event.name") or "")
    event = {**attributes, **(body if isinstance(body, dict) else {})}
    return _request_of(record["traceId"], (at, at), {}, [(name, event)], None)


def _request_of(
    trace: str,
    times: tuple[int, int],
    attributes: Attributes,
    events: Sequence[tuple[str, Attributes]],
    failed: str | None,
) -> Span:
    every = [attributes, *(event for _, event in events)]
    query = attributes.get("gen_ai.retrieval.query.text")
    inputs = [
        *(_user_text(one.get(name)) for one in every for name in _INPUTS),
        _user_text(_numbered(attributes, _NUMBERED_INPUT)),
        *(_event_text(event) for name, event in events if name in _USER_EVENTS),
        _plain(attributes.get("input.value")),
    ]
    outputs = [
        *(_answer_text(one.get(name)) for one in every for name in _OUTPUTS),
        _answer_text(_numbered(attributes, _NUMBERED_OUTPUT)),
        *(_event_text(event) for name, event in events if name in _ANSWER_EVENTS),
        _plain(attributes.get("output.value")),
    ]
    names = [*attributes, *(name for name, _ in events)]
    retrieves = any(name.startswith(("gen_ai.retrieval.", "retrieval.documents")) for name in names)
    model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    return Span(
        trace=trace,
        begins=times[0],
        ends=max(times),
        query=query if isinstance(query, str) and query else next(filter(None, inputs), None),
        answer=None if retrieves else next(filter(None, outputs), None),
        documents=tuple(_documents(attributes)),
        failed=failed,
        model=model if isinstance(model, str) else None,
        is_genai=any(name.startswith(_GENAI) for name in names),
    )


def _failure(record: Mapping[str, Any], attributes: Attributes) -> str | None:
    status = record.get("status")
    named = attributes.get("error.type")
    if isinstance(status, dict) and status.get("code") in _ERROR_STATUS:
        return str(named or status.get("message") or "error")
    return str(named) if named else None


def _documents(attributes: Attributes) -> Iterator[dict[str, Any]]:
    given = _parsed(attributes.get("gen_ai.retrieval.documents"))
    listed = given if isinstance(given, list) else _numbered(attributes, _NUMBERED_DOCUMENT)
    for one in listed:
        if isinstance(one, dict):
            text = one.get("content", one.get("text"))
            yield {
                "text": text if isinstance(text, str) else None,
                "document": one.get("id", one.get("source_id")),
                "score": one.get("score"),
            }


def _numbered(attributes: Attributes, pattern: re.Pattern[str]) -> list[dict[str, Any]]:
    """Objects written as one attribute a field: `NAME.0.content`."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if matched := pattern.fullmatch(name):
            found.setdefault(int(matched[1]), {})[matched[2]] = value
    return [found[place] for place in sorted(found)]


def _user_text(messages: Any) -> str | None:
    """The last message of a user, else the last one without a role."""
    read = _messages(messages)
    for wanted in ("user", ""):
        of_role = [text for role, text in read if role == wanted and text]
        if of_role:
            return of_role[-1]
    return None


def _answer_text(messages: Any) -> str | None:
    """The first candidate's text; further ones were not shown to anybody as far as a span says."""
    return next(
        (text for role, text in _messages(messages) if text and role in ("assistant", "model", "")), None
    )


def _messages(value: Any) -> list[tuple[str, str]]:
    """Roles and texts of messages, whether JSON, structured, or a bare text."""
    value = _parsed(value)
    if isinstance(value, str):
        return [("", value)]
    listed = value if isinstance(value, list) else [value]
    return [(str(one.get("role") or ""), _text_of(one)) for one in listed if isinstance(one, dict)]


def _text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; its reasoning, tool calls and pictures are none."""
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, str):
        return parts
    texts = [
        one if isinstance(one, str) else one.get("content", one.get("text"))
        for one in (parts if isinstance(parts, list) else ())
        if isinstance(one, str) or (isinstance(one, dict) and one.get("type") in _TEXT_PARTS)
    ]
    return "\n".join(one for one in texts if isinstance(one, str))


def _event_text(event: Attributes) -> str | None:
    """The text of an event of one message, under any of the names that were used."""
    for name in ("content", "message", "gen_ai.event.content"):
        value = _parsed(event.get(name))
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict):
            inner = value.get("message")
            return _text_of(inner if isinstance(inner, dict) else value) or None
    return None


def _plain(value: Any) -> str | None:
    """OpenInference's value of a span; a JSON object there is arguments and no text."""
    return value if isinstance(value, str) and value and not value.lstrip().startswith(("{", "[")) else None


def _parsed(value: Any) -> Any:
    """The value of a text that is JSON of an object or a list; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _attributes(listed: Any) -> dict[str, Any]:
    """OTLP's list of keys and typed values as a mapping."""
    return {str(one.get("key")): _value(one.get("value")) for one in _objects(listed)}


def _value(typed: Any, depth: int = 0) -> Any:
    """The value in OTLP's AnyValue; None for one that is not known or nested too deeply."""
    if not isinstance(typed, dict) or depth > _DEEPEST:
        return None
    for name, held in typed.items():
        if name in ("stringValue", "boolValue", "doubleValue"):
            return held
        if name == "intValue":
            return _nanoseconds(held)
        if name in ("arrayValue", "kvlistValue"):
            listed = held.get("values") if isinstance(held, dict) else None
            values = (
                [one for one in listed or () if isinstance(one, dict)] if isinstance(listed, list) else []
            )
            if name == "arrayValue":
                return [_value(one, depth + 1) for one in values]
            return {str(one.get("key")): _value(one.get("value"), depth + 1) for one in values}
    return None


def _nanoseconds(value: Any) -> int | None:
    """A 64-bit number, which OTLP writes as text."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if abs(number) < 2**63 else None
