"""Lines as the collector's file exporter writes them."""

import json
from typing import Any


def typed(value: Any) -> dict[str, Any]:
    """A value as OTLP's AnyValue."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [typed(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
    return {"stringValue": str(value)}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP lists them."""
    return [{"key": name, "value": typed(value)} for name, value in values.items()]


def span(
    values: dict[str, Any], begins: float = 0, ends: float = 1, trace: str = "t1", **more: Any
) -> dict[str, Any]:
    """A span; times are seconds after noon of 1 March 2026."""
    noon = 1_772_366_400
    events = [
        {"name": name, "timeUnixNano": "0", "attributes": attributes(event)}
        for name, event in more.pop("events", ())
    ]
    return {
        "traceId": trace,
        "spanId": "0000000000000001",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": str(int((noon + begins) * 1e9)),
        "endTimeUnixNano": str(int((noon + ends) * 1e9)),
        "attributes": attributes(values),
        "events": events,
        "status": {},
        **more,
    }


def line(*spans: dict[str, Any]) -> str:
    """One line of traces."""
    scope = {"scope": {"name": "s"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]})


def log_line(*records: dict[str, Any]) -> str:
    """One line of log records."""
    scope = {"scope": {"name": "s"}, "logRecords": list(records)}
    return json.dumps({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]})


def messages(role: str, *texts: str) -> list[dict[str, Any]]:
    """Messages of the present conventions."""
    return [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]
