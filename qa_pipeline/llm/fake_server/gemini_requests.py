"""What Gemini takes as a request, and how it complains about anything else.

What belongs here: the fields of generateContent and countTokens that Google documents, and its rules about
their values. What does not: keys, models and quotas (`service.py`), schemas of replies (`schemas.py`).
"""

from functools import cache
from typing import Any

from qa_pipeline.llm.fake_server.gemini_plays import fails, refuses_field
from qa_pipeline.llm.fake_server.play import ServerPlay
from qa_pipeline.llm.fake_server.schemas import gemini_complaint

_PARTS = (
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult thought "
    "thoughtSignature videoMetadata partMetadata mediaResolution"
)
_GENERATION = (
    "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount "
    "maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs "
    "enableEnhancedCivicAnswers speechConfig imageConfig mediaResolution"
)
_TOP = "tools toolConfig cachedContent model serviceTier store labels"


def _any(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split())


_CONTENT = {"role": None, "parts": _any(_PARTS)}
_REPEATED = frozenset({"contents", "parts", "safetySettings", "requests"})
_NO_TURN = {"parts": [{"text": ""}]}
_THINKING = _any("includeThoughts thinkingBudget thinkingLevel")
_FIELDS: dict[str, Any] = {
    **_any(_TOP),
    "contents": _CONTENT,
    "systemInstruction": _CONTENT,
    "safetySettings": _any("category threshold method"),
    "generationConfig": {**_any(_GENERATION), "thinkingConfig": _THINKING},
}
"""Names Google knows; what stands below a name is None where this server does not look further."""

_COUNTED: dict[str, Any] = {
    "contents": _CONTENT,
    "generateContentRequest": _FIELDS,
    "model": None,
    "systemInstruction": _CONTENT,  # Vertex AI only
    "generationConfig": _FIELDS["generationConfig"],
    "tools": None,
}
_RANGES = (("temperature", 0.0, 2.0), ("topP", 0.0, 1.0), ("maxOutputTokens", 1, 2**31 - 1))


def generate_complaint(body: Any) -> ServerPlay | None:
    """What Google would say of a body of generateContent; None if it takes it."""
    return _unknown_field(body, _FIELDS) or _content_complaint(body) or _config_complaint(body)


def count_complaint(body: Any) -> ServerPlay | None:
    """What Google would say of a body of countTokens; None if it takes it."""
    unknown = _unknown_field(body, _COUNTED)
    return unknown or _content_complaint(body.get("generateContentRequest") or body)


def batch_complaint(body: Any) -> ServerPlay | None:
    """What Google would say of a body of batchGenerateContent; its inlined requests fail one by one."""
    requests = {"requests": {"request": None, "metadata": None}}
    config = {"requests": requests, "fileName": None}
    fields = {"batch": {"inputConfig": config, **_any("displayName priority model name webhookConfig")}}
    unknown = _unknown_field(body, fields)
    if unknown:
        return unknown
    given = _below(body, "batch", "inputConfig", "requests", "requests")
    if not isinstance(given, list) or not given:
        return fails(400, "* BatchGenerateContentRequest.batch.input_config: not specified")
    if not all(isinstance(one.get("request"), dict) for one in given):
        return fails(400, "* BatchGenerateContentRequest.batch.input_config.requests: request not specified")
    return None


def _below(body: Any, *names: str) -> Any:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _unknown_field(body: Any, fields: dict[str, Any], at: str = "") -> ServerPlay | None:
    if not isinstance(body, dict):
        return refuses_field("Invalid JSON payload received. Expected an object.", at)
    for name, value in body.items():
        camel = camel_case(name)
        if camel not in fields:
            where = f" at '{at}'" if at else ""
            message = f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'
            return refuses_field(message, at)
        below = fields[camel]
        if below is None:
            continue
        place = f"{at}.{_snake(camel)}" if at else _snake(camel)
        if isinstance(value, list) and camel not in _REPEATED:
            return refuses_field("Proto field is not repeating, cannot start list.", place)
        found = _unknown_below(value, below, place)
        if found:
            return found
    return None


def _unknown_below(value: Any, fields: dict[str, Any], place: str) -> ServerPlay | None:
    if not isinstance(value, list):
        return _unknown_field(value, fields, place)
    found = (_unknown_field(item, fields, f"{place}[{n}]") for n, item in enumerate(value))
    return next((one for one in found if one), None)


def _content_complaint(body: dict[str, Any]) -> ServerPlay | None:
    contents = body.get("contents")
    if not contents or not isinstance(contents, list):
        return fails(400, "* GenerateContentRequest.contents: contents is not specified\n")
    for number, turn in enumerate([*contents, body.get("systemInstruction") or _NO_TURN]):
        if not _are_parts(turn.get("parts")):
            place = f"contents[{number}].parts"
            return fails(400, f"* GenerateContentRequest.{place}: contents.parts must not be empty.\n")
        if turn.get("role") not in (None, "user", "model"):
            return fails(400, "Please use a valid role: user, model.")
    return None


def _are_parts(parts: Any) -> bool:
    return isinstance(parts, list) and bool(parts) and all(isinstance(p.get("text", ""), str) for p in parts)


def _config_complaint(body: dict[str, Any]) -> ServerPlay | None:
    config = body.get("generationConfig", {})
    complaint = _range_complaint(config) or _format_complaint(config) or _thinking_complaint(config)
    return fails(400, complaint) if complaint else None


def _range_complaint(config: dict[str, Any]) -> str | None:
    for name, least, most in _RANGES:
        value = config.get(name)
        if value is not None and not isinstance(value, (int, float)):
            return f"Invalid value at 'generation_config.{_snake(name)}' (TYPE_FLOAT), {value!r}"
        if value is not None and not least <= value <= most:
            place = f"* GenerateContentRequest.generation_config.{_snake(name)}"
            return f"{place}: {_snake(name)} must be in the range [{least}, {most}]."
    return None


def _format_complaint(config: dict[str, Any]) -> str | None:
    schemas = [config[name] for name in ("responseSchema", "responseJsonSchema") if name in config]
    if not schemas:
        return None
    if config.get("responseMimeType") not in ("application/json", "text/x.enum"):
        return "A response schema needs response_mime_type application/json."
    if len(schemas) > 1:
        return "Only one of response_schema and response_json_schema may be set."
    complaint = gemini_complaint(schemas[0])
    return f"Invalid value at 'generation_config.response_json_schema': {complaint}" if complaint else None


def _thinking_complaint(config: dict[str, Any]) -> str | None:
    thinking = {camel_case(name) for name in config.get("thinkingConfig", {})}
    if {"thinkingBudget", "thinkingLevel"} <= thinking:
        return "You can only set only one of thinking budget and thinking level."
    return None


def camel_cased(body: Any) -> Any:
    """A body whose own names, and those of its generationConfig, are in the one spelling that is read."""
    if not isinstance(body, dict):
        return body
    spelled = {camel_case(name): value for name, value in body.items()}
    config = spelled.get("generationConfig")
    if isinstance(config, dict):
        spelled["generationConfig"] = {camel_case(name): value for name, value in config.items()}
    return spelled


@cache
def camel_case(name: str) -> str:
    """Google reads both spellings of a field, and google-genai sends both."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
