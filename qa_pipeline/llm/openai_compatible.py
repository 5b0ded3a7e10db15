"""Use chat completions of OpenAI, vLLM, llama.cpp, Ollama and compatible servers.

Servers support different subsets of OpenAI's parameters. A parameter that a server rejects is not sent again.
"""

import asyncio
import json
import logging
import re
from collections.abc import Collection, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError, UnreadableReplyError
from qa_pipeline.llm import provider
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget import plausible
from qa_pipeline.llm.replies import sent_schema
from qa_pipeline.records import ReplyModel, Role, Usage
from qa_pipeline.settings.llm import ModelSettings, is_loopback

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

KEY_NAME = "OPENAI_API_KEY"
KEY_ADVICE = "set OPENAI_API_KEY to a key that the server of llm.base_url takes"
OPENAI = "https://api.openai.com/v1"
_LOCAL_CAP, _LOCAL_CAP_OF_LISTS = 1024, 2048
"""Maximum tokens of a reply of a local server, several times the longest useful reply.

Without a cap a small model that repeats itself runs until the call times out."""
_ROLES_WITH_LISTS = frozenset[Role]({"questions", "split", "verify", "compare", "evaluate"})
_NO_KEY = "none"  # sent to a local server without keys
_INVALID_REQUEST = frozenset({400, 422})  # HTTP statuses
_SERVER_FAULT = frozenset({500, 501})
"""Statuses of some servers for a schema that they cannot convert into a grammar."""
# complaints of vLLM, llama.cpp, Ollama, LM Studio and gateways about a schema or grammar
_JSON_COMPLAINT = re.compile(
    r"response_format|json[ _]?(?:schema|object|mode)|structured output|guided|grammar"
    r"|not supported|unsupported",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(r"system[ _-]?(?:role|message|prompt|instruction)|role.{0,20}\bsystem", re.IGNORECASE)
_PARAMETERS = ("temperature", "seed", "max_completion_tokens")
_COMPLAINTS = {
    **{name: re.compile(rf"'{name}'|: {name}") for name in _PARAMETERS},
    "system": _NO_SYSTEM,
    "schema": _JSON_COMPLAINT,
    "object": _JSON_COMPLAINT,
}
"""Complaints of servers that reject a parameter, in the order of leaving it out.

The system message and the format of the reply, a JSON `schema` or any `object`, count as parameters. Without
`system` its text precedes the prompt. Without `schema` JSON mode is used, and without `object` only words ask
for JSON. Older servers know `max_completion_tokens` as `max_tokens`."""
_JSON_FORMATS = ("schema", "object")
_LEFT_OUT_BY_MODE = {"auto": (), "schema": (), "object": ("schema",), "text": ("schema", "object")}
"""Ways to request JSON that are left out for each `llm.json_mode`."""
_IN_WORDS = "Reply with one JSON object and nothing around it. It has to fit this JSON schema:"
_log = logging.getLogger(__name__)


class OpenAIProvider(provider.Provider):
    """A model behind chat completions.

    Args:
        settings: model, base_url, json_mode and fixed parameters.
        timeout_seconds: limit from sending to the last byte.
        environ: environment with OPENAI_API_KEY. Other variables are ignored.

    Attributes:
        left_out: keys of `_COMPLAINTS` that the server rejects or `json_mode` excludes. They are not part of
            the name, so stored replies are still found.

    Raises:
        SettingsError: base_url is not an address.
        KeyRejectedError: the key is malformed, or is missing and the server is not local.
    """

    def __init__(self, settings: ModelSettings, timeout_seconds: float, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._timeout = timeout_seconds
        self._url = _checked(settings.base_url or OPENAI)
        key = provider.read_key(environ, [KEY_NAME], KEY_ADVICE)
        if not key and not is_loopback(self._url):
            raise KeyRejectedError(f"llm.provider is openai, but its key is missing; {KEY_ADVICE}")
        self._key = SecretStr(key or _NO_KEY)
        self.name = _name(settings)
        self.left_out = frozenset[str](_LEFT_OUT_BY_MODE[settings.json_mode])
        self._clients = provider.PerLoop(self._connect)

    async def send(self, request: Request[Any]) -> provider.RawReply:
        """Send the request, and again without each parameter that the server rejects; rejections are free."""
        may_change_mode = self._settings.json_mode == "auto"
        while True:
            left_out = self.left_out
            status, headers, payload = await self._post(request, left_out)
            if 200 <= status < 300:
                body = _object_or_empty(payload)
                error = _object_or_empty(body.get("error"))
                if not error or body.get("choices"):
                    return read_reply(payload, self._key.get_secret_value(), self._settings.model)
                # a gateway passes on an error of the model's server: {"error": {"code": 503, "message": …}}
                status = error["code"] if isinstance(error.get("code"), int) else 500
            code, complaint = read_complaint(payload)
            rejected = None
            is_schema_fault = status in _SERVER_FAULT and _JSON_COMPLAINT.search(complaint)
            if status in _INVALID_REQUEST or is_schema_fault:
                rejected = rejected_parameter(complaint, left_out, may_change_mode=may_change_mode)
            if rejected is None:
                raise self._refusal(status, headers, code, complaint)
            if self.left_out == left_out:  # another call may have changed it meanwhile
                self.left_out = left_out | {rejected}  # from now on
                advice = ""
                if rejected in _JSON_FORMATS:  # with this setting, the next run begins without the format
                    advice = f"; llm.json_mode={mode_without(self.left_out)} asks so at once"
                _log.warning("%s does not take %s and is asked without%s", self.name, rejected, advice)

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        if client := self._clients.pop():
            await client.close()

    async def _post(
        self, request: Request[Any], left_out: Collection[str]
    ) -> tuple[int, Mapping[str, str], Any]:
        """Return status, headers and JSON of the response, or its text if it is an error without JSON.

        Raises a ModelError if the connection failed, or if the reply is too large or not JSON.
        """
        from httpx2 import Response
        from openai import APIStatusError, OpenAIError

        body = call_body(request, self._settings, left_out)
        try:
            try:
                async with asyncio.timeout(self._timeout):
                    client = self._clients.get()
                    response = await client.post("/chat/completions", cast_to=Response, body=body)
            except APIStatusError as refusal:
                response = refusal.response
            return response.status_code, response.headers, _payload(response)
        except (OpenAIError, TimeoutError, ValueError, RecursionError) as error:  # last two: unreadable JSON
            failure = provider.connection_error(
                error, self._key.get_secret_value(), is_local=self._settings.is_local
            )
        # raised outside the except block, so that its context excludes the client's error with the key
        raise failure

    def _refusal(self, status: int, headers: Mapping[str, str], code: str, complaint: str) -> ModelError:
        """Return the error for a refusal by the server."""
        return provider.server_error(
            status,
            complaint,
            code=code,
            wait_seconds=retry_after(headers),
            model=self._settings.model,
            key=self._key.get_secret_value(),
            key_advice=KEY_ADVICE,
        )

    def _connect(self) -> "AsyncOpenAI":
        """Return a new client without retries or redirects that sends only needed headers."""
        from httpx2 import Headers, Limits
        from httpx2 import Request as HttpRequest
        from openai import AsyncOpenAI, DefaultAioHttpClient

        async def set_headers(sent: HttpRequest) -> None:
            # other headers of the client come from the environment or describe this machine
            headers = {name: sent.headers[name] for name in ("host", "content-type", "content-length")}
            authorization = f"Bearer {self._key.get_secret_value()}"
            sent.headers = Headers(headers | {"authorization": authorization, "accept-encoding": "identity"})

        http_client = DefaultAioHttpClient(
            event_hooks={"request": [set_headers], "response": [_cap_response]},
            follow_redirects=False,  # a redirect would send key and documents to another host
            limits=Limits(max_connections=0),  # unlimited, since callers limit the requests in flight
            timeout=None,  # `_post` limits the whole call
            trust_env=not is_loopback(self._url),  # proxies of the environment, except for this machine
        )
        # without the key, which `set_headers` adds to each request
        return AsyncOpenAI(base_url=self._url, api_key=_NO_KEY, max_retries=0, http_client=http_client)


async def _cap_response(response: "Response") -> None:
    """Read the body up to a maximum size. It is not decompressed, as it could then exceed the maximum.

    Requests ask for uncompressed replies, so a compressed body counts as unreadable.
    """
    from httpx2 import AsyncByteStream, ByteStream

    stream = response.stream
    if not isinstance(stream, AsyncByteStream):  # impossible in an asynchronous client
        return
    async with aclosing(stream):
        content = await provider.read_capped(aiter(stream))
    response.headers.pop("content-encoding", None)  # otherwise the client would decompress it
    response.stream = ByteStream(content)


def _payload(response: "Response") -> Any:
    """Return the JSON of a response, or the text of an error that is not JSON."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        if response.is_success:
            raise
        return response.content.decode(errors="replace")


def _name(settings: ModelSettings) -> str:
    """Return a name such as `openai/MODEL@HOST/v1?json_mode=text`."""
    fixed = {
        "thinking_level": settings.thinking_level,
        "max_output_tokens": settings.max_output_tokens,
        "json_mode": None if settings.json_mode == "auto" else settings.json_mode,
    }
    options = "&".join(f"{name}={value}" for name, value in fixed.items() if value is not None)
    server = provider.server_suffix(settings.base_url)
    return f"openai/{settings.model}{server}{f'?{options}' if options else ''}"


def _checked(url: str) -> str:
    """Return the address without a user name, since the key identifies the caller."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("llm.base_url must be an address such as http://127.0.0.1:8000/v1")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")


def call_body(request: Request[Any], settings: ModelSettings, left_out: Collection[str]) -> dict[str, Any]:
    """Return the body of a call, without the parameters in `left_out`, which are keys of `_COMPLAINTS`."""
    reply_model: type[ReplyModel] = request.reply_model
    schema = sent_schema(reply_model)
    mode, system = mode_without(left_out), request.system
    response_format: dict[str, Any] | None = None
    if mode == "schema":
        json_schema = {"name": reply_model.__name__, "strict": True, "schema": schema}
        response_format = {"type": "json_schema", "json_schema": json_schema}
    else:
        # json_object needs the word "json" in the messages, which _IN_WORDS contains
        system = f"{system}\n\n{_IN_WORDS}\n{json.dumps(schema, ensure_ascii=False)}"
        if mode == "object":
            response_format = {"type": "json_object"}
    messages = [{"role": "system", "content": system}, {"role": "user", "content": request.prompt}]
    if "system" in left_out:
        messages = [{"role": "user", "content": f"{system}\n\n{request.prompt}"}]
    cap_name = "max_tokens" if "max_completion_tokens" in left_out else "max_completion_tokens"
    local_cap = _LOCAL_CAP_OF_LISTS if request.role in _ROLES_WITH_LISTS else _LOCAL_CAP
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": messages,
        "temperature": request.temperature,
        "seed": request.seed,
        "reasoning_effort": settings.thinking_level,
        cap_name: settings.max_output_tokens or (local_cap if settings.is_local else None),
        "response_format": response_format,
    }
    return {name: value for name, value in body.items() if value is not None and name not in left_out}


def mode_without(left_out: Collection[str]) -> str:
    """Return the best mode (`llm.json_mode`) whose format is not left out: `schema`, `object` or `text`."""
    return next((mode for mode in _JSON_FORMATS if mode not in left_out), "text")


def rejected_parameter(complaint: str, left_out: Collection[str], *, may_change_mode: bool) -> str | None:
    """Return the parameter that a complaint is about, such as `seed`, if it can still be left out.

    Without `may_change_mode` the settings fix the way to request JSON, so `schema` and `object` are kept.
    """
    excluded = left_out if may_change_mode else {*left_out, *_JSON_FORMATS}
    for name, pattern in _COMPLAINTS.items():
        if name not in excluded and pattern.search(complaint):
            return name
    return None


def read_complaint(body: object) -> tuple[str, str]:
    """Return the code and message of an error's body; a parameter precedes the message: `'seed': unknown`.

    Formats are `{"error": {"message": …, "code": …, "type": …, "param": …}}` of OpenAI, the same without
    `error`, `{"detail": …}` of FastAPI, `{"error": "…"}` of Ollama, and plain text of proxies.
    """
    payload = _object_or_empty(body)
    error = _object_or_empty(payload.get("error")) or payload
    # a code that is a number only repeats the status
    code = error.get("code") if isinstance(error.get("code"), str) else error.get("type")
    plain = next((text for text in (body, payload.get("error")) if isinstance(text, str)), "")
    message = str(error.get("message") or error.get("detail") or plain)
    parameter = error.get("param")
    return str(code or ""), f"'{parameter}': {message}" if parameter else message


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds in `retry-after-ms` or `Retry-After`, or 0 without either."""
    # a number without a unit, which is milliseconds here
    milliseconds = provider.seconds_in(headers.get("retry-after-ms", ""))
    return milliseconds / 1000 if milliseconds else provider.seconds_in(headers.get("retry-after", ""))


def read_reply(payload: Any, key: str, asked_model: str) -> provider.RawReply:
    """Return the text of a finished reply, with the key masked.

    Raises:
        UnreadableReplyError: `refused`, `blocked_safety`, `truncated` or `empty`.
    """
    reply = _object_or_empty(payload)
    name = reply.get("model")
    replied_name = provider.one_line(name, key) if isinstance(name, str) else ""
    replied_model = f"openai/{replied_name or asked_model}"
    choices = reply.get("choices")
    choice = _object_or_empty(choices[0]) if isinstance(choices, list) and choices else {}
    message = _object_or_empty(choice.get("message"))
    text = provider.mask_key(_text(message.get("content")), key)
    refusal = provider.mask_key(_text(message.get("refusal")), key)
    usage, finish = _usage(reply.get("usage")), choice.get("finish_reason")
    problem = None
    if refusal:
        problem = "refused", "the model refuses to reply"
    elif finish == "content_filter":
        problem = "blocked_safety", "reply: content_filter"
    elif finish == "length":
        problem = "truncated", f"reply: length; {provider.CAP_ADVICE}"
    elif not text.strip():
        problem = "empty", "the reply has no text"
    if problem:
        raise UnreadableReplyError(*problem, raw=text or refusal, model=replied_model, usage=usage)
    return provider.RawReply(text, replied_model, usage)


def _object_or_empty(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) else {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(reported: Any) -> Usage:
    """Return the tokens of a reply, as far as the server reports plausible numbers."""
    counts = _object_or_empty(reported)
    return plausible(
        Usage(
            input_tokens=counts.get("prompt_tokens"),
            output_tokens=counts.get("completion_tokens"),
            cached_tokens=_object_or_empty(counts.get("prompt_tokens_details")).get("cached_tokens"),
            thought_tokens=_object_or_empty(counts.get("completion_tokens_details")).get("reasoning_tokens"),
        )
    )
