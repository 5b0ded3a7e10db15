"""Chat completions: OpenAI, vLLM, llama.cpp, Ollama and whatever speaks the same."""

import ipaddress
import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.openai_compatible.wire import (
    KEY_ADVICE,
    Way,
    lesser_way,
    parameters,
    read_complaint,
    read_reply,
    translate_line,
    translate_status,
)
from qa_pipeline.llm.provider import PerLoop, RawReply, looks_like_key, place_of
from qa_pipeline.settings.llm import ModelSettings

if TYPE_CHECKING:
    from aiohttp import ClientSession

KEY_NAME = "OPENAI_API_KEY"
OPENAI = "https://api.openai.com/v1"

MOST_BYTES = 8 * 2**20
"""Of a body: 65,536 tokens, all of them escaped, and as many thoughts, come to some 5 MB."""
_NO_KEY = "none"  # what a local server without keys is sent
_REFUSED_STATUSES = frozenset({400, 422, 500, 501})
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
        self._key = SecretStr(_key(environ, self._url))
        self.way = Way("schema" if settings.json_mode == "auto" else settings.json_mode)
        self._sessions = PerLoop(self._connect)

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.name!r})"

    @property
    def name(self) -> str:
        """Provider, model, the server where it is not OpenAI's, and what is fixed about how it is asked.

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
            if status in _REFUSED_STATUSES:
                auto = self._settings.json_mode == "auto"
                lesser = lesser_way(way, complaint, may_change_mode=auto)
            if lesser is None:
                raise translate_status(status, complaint, headers, key, model)
            if self.way == way:
                self._tell(way, lesser)
                self.way = lesser

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    async def _post(self, request: Request[Any], way: Way) -> tuple[int, Mapping[str, str], Any]:
        """Status, headers and JSON; the text of an error that is none.

        Raises:
            TransientModelError: the line failed, or the reply is not JSON.
            UnreadableReplyError: the reply is longer than `MOST_BYTES`.
        """
        from aiohttp import ClientError

        body = parameters(request, self._settings, way)
        try:
            # a redirect would carry key and documents to another host
            posting = self._sessions.get().post(
                f"{self._url}/chat/completions", json=body, allow_redirects=False
            )
            async with posting as response:
                content = await response.read()
                return response.status, response.headers, _parsed(response.status, content)
        except (ClientError, TimeoutError, ValueError, RecursionError) as error:
            key = self._key.get_secret_value()
            failure: ModelError = translate_line(error, key, is_local=_is_local(self._url))
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    def _tell(self, way: Way, lesser: Way) -> None:
        lacks = sorted(lesser.left_out - way.left_out)
        if way.mode == lesser.mode:
            _log.warning("%s does not take %s and is asked without", self.name, (lacks or [way.cap])[0])
        else:
            _log.warning(
                "%s does not take llm.json_mode=%s and is asked without, by %s, for the rest of the run; "
                "set llm.json_mode=%s to save the call that finds this out",
                self.name, way.mode, lesser.mode, lesser.mode,
            )  # fmt: skip

    def _connect(self) -> "ClientSession":
        from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, ClientTimeout

        from qa_pipeline.llm.connections import open_session

        async def with_key(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
            # here, so that what a .netrc file says of the host does not go before it
            request.headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
            return await send(request)

        return open_session(
            MOST_BYTES,
            middlewares=[with_key],
            timeout=ClientTimeout(total=self._timeout),
            trust_env=not _is_local(self._url),
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


def _checked(url: str) -> str:
    """The address without a user: the key tells who asks."""
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
