"""OpenTelemetry spans of generative AI as answered requests, one for each trace.

Reads OTLP as JSON lines, which the collector's file exporter writes. Texts are looked for where these put
them: the attributes `gen_ai.input.messages` and `gen_ai.output.messages` of the semantic conventions from
1.37 on, as JSON or structured, on spans, their events or log records; the events `gen_ai.user.message` and
`gen_ai.choice` of 1.36 and before; the numbered attributes of OpenInference and OpenLLMetry, such as
`llm.input_messages.0.message.content`; and OpenInference's `input.value` and `output.value`. Passages are
`gen_ai.retrieval.documents` and `retrieval.documents.N.document.*`.

A trace is one request. Its query is what the span that begins first was asked, its answer what the span that
ends last gave: that is the outermost one where it says anything, else the retrieval and the last model call.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Attributes = Mapping[str, Any]
_GENAI = ("gen_ai.", "openinference.", "llm.", "retrieval.documents")
_RETRIEVAL = ("gen_ai.retrieval.", "retrieval.documents")
_NUMBERED_INPUTS = ("llm.input_messages.", "gen_ai.prompt.")
_NUMBERED_OUTPUTS = ("llm.output_messages.", "gen_ai.completion.")
_DEEPEST = 20
"""Levels of nested values that are read; a hostile line has more than Python can recurse into."""
_MOST_DIGITS = 6
"""Digits of the number of a message; longer ones take long to read and count no messages."""
_TEXT_PARTS = ("text", "output_text", "input_text", None)


@dataclass(frozen=True, slots=True)
class Span:
    """The content of a span, or of a log record of one, about a request.

    Times are seconds since 1970; a log record begins and ends at its time.
    """

    trace: str
    begins: float
    ends: float
    query: str | None
    answer: str | None
    documents: Sequence[Mapping[str, Any]]
    failed: str | None
    model: str | None
    is_genai: bool


def is_otlp(line: Mapping[str, Any]) -> bool:
    """Return whether the object of a line holds spans or log records of OTLP."""
    return "resourceSpans" in line or "resourceLogs" in line


def read_spans(line: Mapping[str, Any]) -> Iterator[Span | str]:
    """Yield the spans and log records of one line, and why one cannot be read."""
    for record in _records(line, "resourceSpans", "scopeSpans", "spans"):
        events = [
            (str(event.get("name")), _attributes(event.get("attributes")))
            for event in _objects(record.get("events"))
        ]
        times = _seconds(record.get("startTimeUnixNano")), _seconds(record.get("endTimeUnixNano"))
        yield _span(record, times, _attributes(record.get("attributes")), events)
    for record in _records(line, "resourceLogs", "scopeLogs", "logRecords"):
        attributes, body = _attributes(record.get("attributes")), _value(record.get("body"))
        name = str(record.get("eventName") or attributes.get("event.name") or "")
        event = {**attributes, **(body if isinstance(body, dict) else {})}
        at = _seconds(record.get("timeUnixNano")) or _seconds(record.get("observedTimeUnixNano"))
        yield _span(record, (at, at), {}, [(name, event)])


def request_of(spans: Sequence[Span]) -> dict[str, Any] | None:
    """Return one request from the spans of a trace; None where none of them is of generative AI.

    Args:
        spans: of one trace, at least one.
    """
    model_spans = [span for span in spans if span.is_genai]
    if not model_spans:
        return None
    first = sorted(model_spans, key=lambda span: (span.begins, -span.ends))
    last = sorted(model_spans, key=lambda span: (-span.ends, span.begins))
    begins, ends = min(span.begins for span in spans), max(span.ends for span in spans)
    shown = (document for span in first for document in span.documents)
    documents = {str((document["document"], document["text"])): document for document in shown}
    return {
        "id": model_spans[0].trace,
        "time": begins,
        "query": next((span.query for span in first if span.query), None),
        "answer": next((span.answer for span in last if span.answer), None),
        "contexts": list(documents.values()),
        "seconds": ends - begins if ends > begins else None,
        "error": last[0].failed,
        "model": next((span.model for span in last if span.model), None),
    }


def _records(line: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [dict(line)]
    for name in names:
        records = [inner for record in records for inner in _objects(record.get(name))]
    return records


def _span(
    record: Mapping[str, Any],
    times: tuple[float | None, float | None],
    attributes: Attributes,
    events: Sequence[tuple[str, Attributes]],
) -> Span | str:
    trace, (begins, ends) = record.get("traceId"), times
    if not isinstance(trace, str) or not trace:
        return "a span or log record without a trace id"
    if begins is None or ends is None:
        return "a span or log record without its time"
    every = [attributes, *(event for _, event in events)]
    names = [*attributes, *(name for name, _ in events)]
    retrieves = any(name.startswith(_RETRIEVAL) for name in names)
    queries = [
        attributes.get("gen_ai.retrieval.query.text"),
        *(_last_asked(attribute_set.get("gen_ai.input.messages")) for attribute_set in every),
        *(_last_asked(_numbered(attributes, prefix)) for prefix in _NUMBERED_INPUTS),
        *(_last_asked(event) for name, event in events if name == "gen_ai.user.message"),
        _plain(attributes.get("input.value")),
    ]
    answers = [
        *(_first_said(attribute_set.get("gen_ai.output.messages")) for attribute_set in every),
        *(_first_said(_numbered(attributes, prefix)) for prefix in _NUMBERED_OUTPUTS),
        *(_first_said(event) for name, event in events if name == "gen_ai.choice"),
        None if retrieves else _plain(attributes.get("output.value")),
    ]
    model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    return Span(
        trace=trace,
        begins=begins,
        ends=max(begins, ends),
        query=next((text for text in queries if isinstance(text, str) and text), None),
        answer=next(filter(None, answers), None),
        documents=_documents(attributes),
        failed=_failure(record, attributes),
        model=model if isinstance(model, str) else None,
        is_genai=any(name.startswith(_GENAI) for name in names),
    )


def _failure(record: Mapping[str, Any], attributes: Attributes) -> str | None:
    match record.get("status"):
        case {"code": 2 | "STATUS_CODE_ERROR", **status}:
            return str(attributes.get("error.type") or status.get("message") or "error")
    error_type = attributes.get("error.type")
    return str(error_type) if error_type else None


def _documents(attributes: Attributes) -> list[dict[str, Any]]:
    """Return the passages, in the fields that evaluation reads and checks."""
    documents = _parsed(attributes.get("gen_ai.retrieval.documents"))
    listed = _objects(documents) or _numbered(attributes, "retrieval.documents.")
    return [
        {"text": document.get("content"), "document": document.get("id"), "score": document.get("score")}
        for document in listed
    ]


def _numbered(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """Return the objects written as one attribute a field: `PREFIX.0.message.content`."""
    numbered: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        place, _, field = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and place.isdecimal() and len(place) <= _MOST_DIGITS:
            numbered.setdefault(int(place), {})[field.rpartition(".")[2]] = value
    return [numbered[place] for place in sorted(numbered)]


def _last_asked(messages: Any) -> str | None:
    """Return the last message of a user, or of nobody named."""
    user_texts = [text for role, text in _messages(messages) if role in ("user", "") and text]
    return user_texts[-1] if user_texts else None


def _first_said(messages: Any) -> str | None:
    """Return the first candidate's text; a span says of no other that it was shown."""
    replies = (text for role, text in _messages(messages) if role in ("assistant", "model", "") and text)
    return next(replies, None)


def _messages(value: Any) -> list[tuple[str, str]]:
    """Return the roles and texts of messages, whether JSON, structured, or a bare text."""
    value = _parsed(value)
    if isinstance(value, str):
        return [("", value)]
    texts = []
    for message_value in value if isinstance(value, list) else [value]:
        if isinstance(message_value, dict):
            # an event of one message holds it under one of these names, or is the message itself
            inner = _parsed(message_value.get("gen_ai.event.content", message_value))
            inner = _parsed(inner.get("message", inner)) if isinstance(inner, dict) else inner
            message = inner if isinstance(inner, dict) else {"content": inner}
            texts.append((str(message.get("role") or ""), _text_of(message)))
    return texts


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message; its reasoning, tool calls and pictures are none."""
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, str):
        return parts
    of_text = (part for part in _objects(parts) if part.get("type") in _TEXT_PARTS)
    texts = [part.get("content", part.get("text")) for part in of_text]
    return "\n".join(text for text in texts if isinstance(text, str))


def _plain(value: Any) -> str | None:
    """Return OpenInference's value of a span; a JSON object there is arguments and no text."""
    return value if isinstance(value, str) and not value.lstrip().startswith(("{", "[")) else None


def _parsed(value: Any) -> Any:
    """Return the value of a text that is JSON of an object or a list; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _attributes(listed: Any, depth: int = 0) -> dict[str, Any]:
    """Return OTLP's list of keys and typed values as a mapping."""
    return {str(entry.get("key")): _value(entry.get("value"), depth) for entry in _objects(listed)}


def _value(typed: Any, depth: int = 0) -> Any:
    """Return the value in OTLP's AnyValue; None for one that is not known or nested too deeply.

    Whole numbers, which OTLP writes as texts, are none that a request is read from.
    """
    match typed:
        case {"stringValue": value} | {"boolValue": value} | {"doubleValue": value} | {"intValue": value}:
            return value
        case {"arrayValue": {"values": values}} if depth < _DEEPEST:
            return [_value(entry, depth + 1) for entry in _objects(values)]
        case {"kvlistValue": {"values": values}} if depth < _DEEPEST:
            return _attributes(values, depth + 1)
    return None


def _seconds(nanoseconds: Any) -> float | None:
    """Return a time of OTLP, whose 64-bit numbers are texts."""
    try:
        number = int(nanoseconds)
    except (ValueError, TypeError, OverflowError):
        return None
    return number / 1e9 if 0 < number < 2**63 else None
