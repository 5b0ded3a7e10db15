"""Chat completions over the openai library: OpenAI, vLLM, llama.cpp, Ollama and whatever speaks the same."""

import asyncio
import ipaddress
import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.openai_compatible.wire import (
    KEY_ADVICE,
    JsonMode,
    Way,
    complaint_of,
    lesser_way,
    parameters,
    read_reply,
    translate,
)
from qa_pipeline.llm.provider import PerLoop, RawReply, looks_like_key, place_of
from qa_pipeline.settings.llm import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

KEY_NAME = "OPENAI_API_KEY"
OPENAI = "https://api.openai.com/v1"

_NO_KEY = "none"  # what a local server without keys is sent, since the client sends something
_REFUSED_STATUSES = frozenset({400, 422})
_SENT = frozenset({"host", "content-type", "content-length", "accept", "accept-encoding", "user-agent"})
_log = logging.getLogger(__name__)


class OpenAIProvider:
    """A model behind chat completions.

    Connections belong to an event loop, so each loop gets its own; `aclose` ends the running loop's. What a
    server turns out not to take (a JSON schema, temperature) is not sent to it again.

    Args:
        settings: model, base_url, json_mode and what is fixed about how it is asked.
        timeout_seconds: from sending to the last byte.
        environ: where OPENAI_API_KEY is, and nothing else is read.

    Raises:
        SettingsError: the openai library is missing, or base_url is no address.
        KeyRejectedError: no key is set, and the server is not on this machine; or it can be no key.
    """

    def __init__(self, settings: ModelSettings, timeout_seconds: float, environ: Mapping[str, str]) -> None:
        _check(settings)
        self._settings = settings
        self._timeout = timeout_seconds
        self._url = settings.base_url or OPENAI
        self._key = SecretStr(_key(environ, self._url))
        self._way = Way("schema" if settings.json_mode == "auto" else settings.json_mode)
        self._clients = PerLoop(self._connect)

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.name!r})"

    @property
    def name(self) -> str:
        """Provider, model, the server where it is not OpenAI's, and what is fixed about how it is asked.

        It does not tell what a server turned out to lack, so that stored replies are found again.
        """
        return openai_name(self._settings)

    @property
    def json_mode_used(self) -> JsonMode:
        """How JSON is asked for now: what the settings say, or what the server has turned out to take."""
        return self._way.mode

    @property
    def left_out(self) -> frozenset[str]:
        """Parameters that the server has turned out not to take, and that it is asked without."""
        return self._way.left_out

    async def send(self, request: Request[Any]) -> RawReply:
        """Ask once; once more without what the server says it does not take, which costs nothing."""
        from aiohttp import ClientError
        from openai import APIStatusError, OpenAIError

        key, model = self._key.get_secret_value(), self._settings.model
        while True:
            way = self._way
            try:
                payload, headers = await self._post(request, way)
            except APIStatusError as error:
                lesser = self._without(way, error)
                failure = None if lesser else translate(error, key, model)
            except (OpenAIError, ClientError, TimeoutError, ValueError, RecursionError) as error:
                lesser, failure = None, translate(error, key, model)
            else:
                return read_reply(payload, headers, key, model)
            # raised out here, where the client's error, whose frames hold the key, is no longer its context
            if failure is not None:
                raise failure
            if lesser is not None and self._way == way:
                self._tell(way, lesser)
                self._way = lesser

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        client = self._clients.pop()
        if client is not None:
            await client.close()

    async def _post(self, request: Request[Any], way: Way) -> tuple[Any, Mapping[str, str]]:
        import httpx2

        body = parameters(request, self._settings, way)
        async with asyncio.timeout(self._timeout):  # the client's own starts anew with every byte
            # not chat.completions.create, which believes every shape that a reply has
            response = await self._clients.get().post("/chat/completions", body=body, cast_to=httpx2.Response)
        return json.loads(response.content), response.headers

    def _without(self, way: Way, error: "APIStatusError") -> Way | None:
        if error.status_code not in _REFUSED_STATUSES:
            return None
        return lesser_way(way, complaint_of(error), may_change_mode=self._settings.json_mode == "auto")

    def _tell(self, way: Way, lesser: Way) -> None:
        lacks = sorted(lesser.left_out - way.left_out) or [way.cap if way.mode == lesser.mode else way.mode]
        _log.warning("%s does not take %s and is asked without", self.name, lacks[0])

    def _connect(self) -> "AsyncOpenAI":
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        key = self._key.get_secret_value()

        async def only_ours(request: httpx2.Request) -> None:
            # OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID and others would add headers, another key among them
            for name in [name for name in request.headers if name.lower() not in _SENT]:
                del request.headers[name]
            request.headers["Authorization"] = f"Bearer {key}"

        line = DefaultAioHttpClient(
            limits=httpx2.Limits(max_connections=0),  # none: callers bound what is in flight
            follow_redirects=False,  # a redirect would carry key and documents to another host
            trust_env=not _is_local(self._url),
            event_hooks={"request": [only_ours]},
        )
        return AsyncOpenAI(
            api_key=key, base_url=self._url, max_retries=0, timeout=self._timeout, http_client=line
        )


def openai_name(settings: ModelSettings) -> str:
    """The name of the provider of these settings; it needs no key."""
    fixed = {
        "thinking_level": settings.thinking_level,
        "max_output_tokens": settings.max_output_tokens,
        "json_mode": None if settings.json_mode == "auto" else settings.json_mode,
    }
    options = "&".join(f"{name}={value}" for name, value in fixed.items() if value is not None)
    return f"openai/{settings.model}{place_of(settings.base_url)}{f'?{options}' if options else ''}"


def _check(settings: ModelSettings) -> None:
    try:
        import openai  # noqa: F401 - asked for here, so that its absence is reported before a run starts
    except ImportError as error:
        raise SettingsError(
            'llm.provider openai needs the openai library: pip install "qa-pipeline[openai]"'
        ) from error
    parts = urlsplit(settings.base_url or OPENAI)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("llm.base_url has to be an address as http://127.0.0.1:8000/v1")


def _key(environ: Mapping[str, str], url: str) -> str:
    key = environ.get(KEY_NAME, "").strip()
    if not key and _is_local(url):
        return _NO_KEY
    if not key:
        raise KeyRejectedError(f"llm.provider is openai and no key is set; {KEY_ADVICE}")
    if not looks_like_key(key):
        raise KeyRejectedError(f"{KEY_NAME} holds characters no key has; {KEY_ADVICE}")
    return key


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
