"""Chat completions: OpenAI, vLLM, llama.cpp, Ollama and whatever speaks the same."""

import asyncio
import json
import logging
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener
from urllib.request import Request as HttpRequest

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError, SettingsError, UnreadableReplyError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.openai_compatible.wire import (
    KEY_ADVICE,
    Way,
    blames_json_mode,
    lesser_way,
    parameters,
    read_complaint,
    read_reply,
    translate_line,
    translate_status,
)
from qa_pipeline.llm.provider import MOST_REPLY_BYTES, PerLoop, RawReply, place_of, read_key
from qa_pipeline.llm.replies import mask_key
from qa_pipeline.settings.llm import ModelSettings, is_loopback

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

KEY_NAME = "OPENAI_API_KEY"
OPENAI = "https://api.openai.com/v1"

_NO_KEY = "none"  # what a local server without keys is sent
_LIST_SECONDS, _LIST_BYTES = 5.0, 1_000_000
_REFUSED_STATUSES = frozenset({400, 422})
_FAULTS = frozenset({500, 501})
"""Statuses with which some servers refuse a schema that they cannot turn into a grammar."""
_log = logging.getLogger(__name__)


class OpenAIProvider:
    """A model behind chat completions.

    Connections belong to an event loop, so each loop gets its own; `aclose` ends the running loop's. What a
    server turns out not to take (a JSON schema, temperature) is not sent to it again; `way` tells how it
    is asked now.

    Args:
        settings: model, base_url, json_mode and what is fixed about how it is asked.
        timeout_seconds: from sending to the last byte.
        environ: where OPENAI_API_KEY is, and nothing else is read.

    Raises:
        SettingsError: base_url is no address.
        KeyRejectedError: no key is set, and the server is not on this machine; or it can be no key.
    """

    def __init__(self, settings: ModelSettings, timeout_seconds: float, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._timeout = timeout_seconds
        self._url = _checked(settings.base_url or OPENAI)
        key = read_key(environ, [KEY_NAME], KEY_ADVICE)
        if not key and not is_loopback(self._url):
            raise KeyRejectedError(f"llm.provider is openai and no key is set; {KEY_ADVICE}")
        self._key = SecretStr(key or _NO_KEY)
        self.way = Way("schema" if settings.json_mode == "auto" else settings.json_mode)
        self._clients = PerLoop(self._connect)

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.name!r})"

    @property
    def name(self) -> str:
        """Return provider, model, server where not OpenAI's, and the fixed parameters of calls.

        It does not tell what a server turned out to lack, so that stored replies are found again.
        """
        return openai_name(self._settings)

    async def send(self, request: Request[Any]) -> RawReply:
        """Ask once; once more without what the server says it does not take, which costs nothing."""
        key, model = self._key.get_secret_value(), self._settings.model
        while True:
            way = self.way
            status, headers, payload = await self._post(request, way)
            if 200 <= status < 300:
                return read_reply(payload, headers, key, model)
            complaint = read_complaint(payload)
            lesser = None
            if status in _REFUSED_STATUSES or (status in _FAULTS and blames_json_mode(complaint)):
                auto = self._settings.json_mode == "auto"
                lesser = lesser_way(way, complaint, may_change_mode=auto)
            if lesser is None:
                raise translate_status(status, complaint, headers, key, model)
            if self.way == way:
                self._log_lesser_way(way, lesser)
                self.way = lesser

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        client = self._clients.pop()
        if client is not None:
            await client.close()

    async def _post(self, request: Request[Any], way: Way) -> tuple[int, Mapping[str, str], Any]:
        """Return status, headers and JSON; for an error without JSON, its text.

        Raises:
            ModelError: the line failed, or the reply is too large or not JSON.
        """
        from httpx2 import Response
        from openai import APIStatusError, OpenAIError

        body, key = parameters(request, self._settings, way), self._key.get_secret_value()
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    asked = self._clients.get().post("/chat/completions", cast_to=Response, body=body)
                    response = await asked
                except APIStatusError as refusal:
                    response = refusal.response
            payload = mask_key(_parsed(response.status_code, response.content), key)
        except (OpenAIError, TimeoutError, ValueError, RecursionError) as error:
            failure = translate_line(error, key, is_local=is_loopback(self._url))
        else:
            return response.status_code, response.headers, payload
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    def _log_lesser_way(self, way: Way, lesser: Way) -> None:
        if way.mode != lesser.mode:
            _log.warning(
                "%s does not take JSON by %s and is asked by %s; llm.json_mode=%s asks so at once",
                *(self.name, way.mode, lesser.mode, lesser.mode),
            )
            return
        lacks = (lesser.left_out - way.left_out) or {way.cap}
        _log.warning("%s does not take %s and is asked without", self.name, *lacks)

    def _connect(self) -> "AsyncOpenAI":
        from httpx2 import Headers, Limits
        from httpx2 import Request as Sent
        from openai import AsyncOpenAI, DefaultAioHttpClient

        async def with_key(sent: Sent) -> None:
            # the client's other headers come from the environment, or tell of this machine
            kept = {name: sent.headers[name] for name in ("host", "content-type", "content-length")}
            authorization = f"Bearer {self._key.get_secret_value()}"
            sent.headers = Headers(kept | {"authorization": authorization, "accept-encoding": "gzip"})

        http_client = DefaultAioHttpClient(
            event_hooks={"request": [with_key], "response": [cap_response]},
            follow_redirects=False,  # one would carry key and documents to another host
            limits=Limits(max_connections=0),  # none: callers bound what is in flight
            timeout=None,  # of the whole call, not of each read
            trust_env=not is_loopback(self._url),
        )
        return AsyncOpenAI(base_url=self._url, api_key=_NO_KEY, max_retries=0, http_client=http_client)


async def cap_response(response: "Response") -> None:
    """Read a body up to a size, as sent and as decompressed.

    Raises:
        UnreadableReplyError: `truncated`; the body is larger.
    """
    from httpx2 import AsyncByteStream, ByteStream

    content = bytearray()
    stream = response.stream
    if not isinstance(stream, AsyncByteStream):
        return
    async for part in stream:
        content += part
        if len(content) > MOST_REPLY_BYTES:
            break
    await stream.aclose()
    body = bytes(content)
    if response.headers.pop("content-encoding", "identity") == "gzip":
        with suppress(zlib.error):
            body = zlib.decompressobj(wbits=31).decompress(body, MOST_REPLY_BYTES + 1)
    if max(len(content), len(body)) > MOST_REPLY_BYTES:
        raise UnreadableReplyError("truncated", f"the reply is larger than {MOST_REPLY_BYTES // 2**20} MiB")
    response.stream = ByteStream(body)


def served_models(base_url: str, environ: Mapping[str, str]) -> list[str]:
    """Return the names of the models that a server of this machine lists.

    Raises:
        SettingsError: no server of chat completions replies there.
    """
    key = read_key(environ, [KEY_NAME], KEY_ADVICE) or _NO_KEY
    request = HttpRequest(f"{_checked(base_url)}/models", headers={"Authorization": f"Bearer {key}"})  # noqa: S310 - checked
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=_LIST_SECONDS) as response:
            listed = json.loads(response.read(_LIST_BYTES))["data"]
        return [str(model["id"]) for model in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise SettingsError(
            f"no server of chat completions replies at {base_url}: start it, or name another address with "
            "--set llm.base_url=URL"
        ) from None


def openai_name(settings: ModelSettings) -> str:
    """Return the name of the provider of these settings; it needs no key."""
    fixed = {
        "thinking_level": settings.thinking_level,
        "max_output_tokens": settings.max_output_tokens,
        "json_mode": None if settings.json_mode == "auto" else settings.json_mode,
    }
    options = "&".join(f"{name}={value}" for name, value in fixed.items() if value is not None)
    return f"openai/{settings.model}{place_of(settings.base_url)}{f'?{options}' if options else ''}"


def _checked(url: str) -> str:
    """Return the address without a user: the key identifies the caller."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("llm.base_url has to be an address as http://127.0.0.1:8000/v1")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")


def _parsed(status: int, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        if 200 <= status < 300:
            raise
        return content.decode(errors="replace")
