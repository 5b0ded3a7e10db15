"""Replies and errors in the wire form of generateContent and of Google's errors."""

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from qa_pipeline.records import ReplyModel
from qa_pipeline.testing.fake_server.plan import BatchEnd
from qa_pipeline.testing.fake_server.replies import gemini_complaint
from qa_pipeline.testing.fake_server.responses import ServerPlay

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}
"""What a scripted reply says it took."""

_TYPE = "type.googleapis.com/google.rpc."
_SERVICE = {"service": "generativelanguage.googleapis.com"}
_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def says(
    reply: ReplyModel | str,
    *,
    finish: str = "STOP",
    model: str = "gemini-loopback",
    usage: Mapping[str, int] | None = None,
) -> ServerPlay:
    """Reply with a model's value, or with any text."""
    text = reply if isinstance(reply, str) else reply.model_dump_json()
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish, "index": 0}
    return _ok([candidate], USAGE if usage is None else usage, model)


def stops(finish: str, *, usage: Mapping[str, int] | None = None) -> ServerPlay:
    """Reply without text, for a finish reason such as SAFETY or RECITATION."""
    return _ok([{"finishReason": finish, "index": 0}], usage)


def blocks_prompt(reason: str = "SAFETY", *, usage: Mapping[str, int] | None = None) -> ServerPlay:
    """Refuse to read the prompt."""
    body: dict[str, Any] = {"promptFeedback": {"blockReason": reason}}
    return ServerPlay(200, _json(body | ({"usageMetadata": usage} if usage else {})))


def no_candidates() -> ServerPlay:
    """Reply with nothing in it."""
    return _ok([], None)


def fails(
    status: int,
    message: str = "scripted fault",
    *,
    name: str | None = None,
    details: Sequence[Mapping[str, Any]] = (),
    headers: tuple[tuple[str, str], ...] = (),
) -> ServerPlay:
    """Reply with an error status."""
    error = {
        "code": status,
        "message": message,
        "status": name or _NAMES.get(status, "UNAVAILABLE"),
        "details": list(details),
    }
    return ServerPlay(status, _json({"error": error}), headers)


def lacks_key() -> ServerPlay:
    """Reply as to a request without a key."""
    return fails(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please use API "
        "Key or other form of API consumer identity to call this API.",
    )


def rejects_key() -> ServerPlay:
    """Reply as to a wrong key, which is a plain 400 told apart by its details."""
    info = {
        "@type": f"{_TYPE}ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": _SERVICE,
    }
    return fails(400, "API key not valid. Please pass a valid API key.", details=[info])


def rejects_token() -> ServerPlay:
    """Reply as Vertex AI does to a missing or wrong access token."""
    info = {
        "@type": f"{_TYPE}ErrorInfo",
        "reason": "ACCESS_TOKEN_TYPE_UNSUPPORTED",
        "domain": "googleapis.com",
        "metadata": {"service": "aiplatform.googleapis.com"},
    }
    message = (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
        "other valid authentication credential."
    )
    return fails(401, message, details=[info])


def refuses_field(message: str, field: str) -> ServerPlay:
    """Reply as to a request that holds something Google does not know."""
    violation = {"field": field, "description": message} if field else {"description": message}
    return fails(400, message, details=[{"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]}])


def limits_rate(seconds: float, *, as_header: bool = False) -> ServerPlay:
    """Ask to wait, in the error's details or in a Retry-After header."""
    if as_header:
        return fails(429, "Quota exceeded.", headers=(("Retry-After", f"{seconds:g}"),))
    return fails(429, "Quota exceeded.", details=[_retry_info(seconds)])


def exceeds_quota(seconds: float) -> ServerPlay:
    """Refuse a request over the quota, and say when the next would be let in."""
    failure = {"@type": f"{_TYPE}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinute"}]}
    message = "You exceeded your current quota, please check your plan and billing details."
    return fails(429, message, details=[failure, _retry_info(seconds)])


def _retry_info(seconds: float) -> dict[str, str]:
    return {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{math.ceil(seconds * 1000) / 1000:g}s"}


def _ok(
    candidates: list[dict[str, Any]], usage: Mapping[str, int] | None, model: str | None = None
) -> ServerPlay:
    body: dict[str, Any] = {"candidates": candidates}
    if usage:
        body["usageMetadata"] = usage
    if model:
        body["modelVersion"] = model
    return ServerPlay(200, _json(body))


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


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


Answer = Callable[[str, Any], ServerPlay]
"""(model, body of generateContent) -> the reply it would get on its own."""

_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
_BATCHES_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
_CODES = {400: 3, 404: 5, 429: 8, 500: 13, 503: 14}
"""google.rpc.Code of an HTTP status; 2 (UNKNOWN) for any other."""


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Job:
    """One batch job; `state` is without the prefix BATCH_STATE_."""

    name: str
    model: str
    display_name: str
    requests: list[dict[str, Any]]
    state: str = "PENDING"
    polls: int = 0
    created: str = field(default_factory=_now)
    updated: str = field(default_factory=_now)
    responses: list[dict[str, Any]] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.state in _ENDED

    def moves(self, state: str) -> None:
        """Enter a state."""
        self.state, self.updated = state, _now()

    def as_dict(self) -> dict[str, Any]:
        """The job as an operation of Google's."""
        metadata: dict[str, Any] = {
            "@type": _BATCHES_TYPE,
            "name": self.name,
            "model": f"models/{self.model}",
            "displayName": self.display_name,
            "createTime": self.created,
            "updateTime": self.updated,
            "batchStats": self._counts(),
            "state": f"BATCH_STATE_{self.state}",
        }
        whole: dict[str, Any] = {"name": self.name, "metadata": metadata, "done": self.ended}
        if self.ended:
            metadata["endTime"] = self.updated
        if self.responses is not None:
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": self.responses}}
            whole["response"] = metadata["output"]
        if self.state == "FAILED":
            whole["error"] = {"code": 13, "message": "The batch failed."}
        return whole

    def _counts(self) -> dict[str, str]:
        done = self.responses or []
        failed = sum("error" in one for one in done)
        counts = {"requestCount": len(self.requests), "successfulRequestCount": len(done) - failed}
        return {name: str(n) for name, n in (counts | {"failedRequestCount": failed}).items()}


class BatchJobs:
    """All jobs of a server.

    Args:
        answer: replies to one request of a job.
        polls: how often a job is looked at before it ends.
        ends: how jobs end.
    """

    def __init__(self, answer: Answer, polls: int, ends: BatchEnd) -> None:
        self._answer = answer
        self._polls = polls
        self._ends = ends
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def create(self, model: str, body: dict[str, Any]) -> ServerPlay:
        """Submit a job."""
        batch = body["batch"]
        requests = batch["inputConfig"]["requests"]["requests"]
        name = f"batches/{next(self._numbers):012d}"
        self._jobs[name] = job = Job(name, model, batch.get("displayName", ""), requests)
        return _batches_ok(job.as_dict())

    def act(self, method: str, name: str, action: str | None) -> ServerPlay:
        """Get, cancel or delete a job."""
        job = self._jobs.get(name)
        if job is None:
            return fails(404, "Requested entity was not found.")
        if method == "DELETE":
            del self._jobs[name]
            return _batches_ok({})
        if action == "cancel":
            return self._cancel(job)
        self._look(job)
        return _batches_ok(job.as_dict())

    def listed(self, page_size: int, token: str) -> ServerPlay:
        """A page of jobs, newest first."""
        jobs = [job.as_dict() for job in reversed(self._jobs.values())]
        start = int(token or 0)
        page: dict[str, Any] = {"operations": jobs[start : start + page_size]}
        following = {"nextPageToken": str(start + page_size)} if start + page_size < len(jobs) else {}
        return _batches_ok(page | following)

    def _look(self, job: Job) -> None:
        if job.ended:
            return
        job.polls += 1
        if job.polls <= self._polls:
            job.moves("RUNNING")
            return
        if self._ends == "succeeded":
            job.responses = [self._response(job.model, item) for item in job.requests]
        job.moves(self._ends.upper())

    def _response(self, model: str, item: dict[str, Any]) -> dict[str, Any]:
        kept = {"metadata": item["metadata"]} if "metadata" in item else {}
        play = self._answer(model, item["request"])
        body = json.loads(play.body or b"{}")
        if play.status == 200:
            return {**kept, "response": body}
        error = {"code": _CODES.get(play.status, 2), "message": body["error"]["message"]}
        return {**kept, "error": error}

    def _cancel(self, job: Job) -> ServerPlay:
        if job.ended:
            return fails(400, "The batch has ended.", name="FAILED_PRECONDITION")
        job.moves("CANCELLED")
        return _batches_ok({})


def _batches_ok(body: dict[str, Any]) -> ServerPlay:
    return ServerPlay(200, json.dumps(body).encode())
