"""Gemini over google-genai: one request sent once, with an API key or through Vertex AI."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.gemini.wire import KEY_ADVICE, VERTEX_ADVICE, read_response, request_config, translate
from qa_pipeline.llm.provider import (
    MOST_REPLY_BYTES,
    PerLoop,
    RawReply,
    capped_responses,
    place_of,
    read_key,
)
from qa_pipeline.settings.llm import ModelSettings

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from google.auth.credentials import Credentials
    from google.genai import Client

Done = TypeVar("Done")
KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_GOOGLE = "https://generativelanguage.googleapis.com/"
_VERTEX_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_FIXED = ("max_output_tokens", "thinking_budget", "thinking_level", "safety")
"""Settings that change replies and are no part of a request."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A client and its session, which belong to one event loop."""

    client: "Client"
    session: "ClientSession"


class GeminiProvider:
    """A hosted Gemini model.

    Sessions belong to an event loop, so each loop gets its own; `aclose` ends the running loop's.

    Args:
        settings: model, server, thinking and safety.
        timeout_seconds: of one try.
        environ: where the key is, in GEMINI_API_KEY or else GOOGLE_API_KEY; it appears in no name, error or
            log. Vertex AI takes the machine's credentials instead.
        credentials: others, for Vertex AI.

    Raises:
        KeyRejectedError: there is no key, or it can be none; or there are no credentials.
    """

    _most_bytes = MOST_REPLY_BYTES

    def __init__(
        self,
        settings: ModelSettings,
        timeout_seconds: float,
        environ: Mapping[str, str],
        *,
        credentials: "Credentials | None" = None,
    ) -> None:
        on_vertex = settings.vertex_project is not None
        self._key = SecretStr("" if on_vertex else read_key(environ, KEY_NAMES, KEY_ADVICE))
        if not on_vertex and not self._key:
            raise KeyRejectedError(f"the provider is gemini and no key is set; {KEY_ADVICE}")
        self._credentials = (credentials or _machine_credentials()) if on_vertex else None
        self._settings = settings
        self.name = gemini_name(settings)
        self._timeout_seconds = timeout_seconds
        self._lines = PerLoop(self._connect)

    def __repr__(self) -> str:
        return f"GeminiProvider({self.name!r})"

    async def send(self, request: Request[Any]) -> RawReply:
        """Send once; see `Provider.send`."""
        response = self.client().aio.models.generate_content(
            model=self._settings.model,
            contents=request.prompt,
            config=request_config(request, self._settings),
        )
        return read_response(await self.call(response), self._settings.model, self.secret)

    async def call(self, response: Awaitable[Done]) -> Done:
        """Return the client's response; its errors are raised as this package's, without the key.

        Raises:
            ModelError: see `Provider.send`.
        """
        from aiohttp import ClientError
        from google.auth.exceptions import GoogleAuthError
        from google.genai.errors import APIError

        try:
            return await response
        except (APIError, ClientError, TimeoutError, ValueError) as error:
            failure = translate(error, self.secret, self._settings.model)
        except GoogleAuthError:
            failure = KeyRejectedError(f"Google's credentials are refused; {VERTEX_ADVICE}")
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    @property
    def secret(self) -> str:
        """Return the key or the access token that requests are sent with; empty before the first."""
        if self._credentials is not None:
            return self._credentials.token or ""
        return self._key.get_secret_value()

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        line = self._lines.pop()
        if line is not None:
            await line.session.close()
            await line.client.aio.aclose()
            line.client.close()

    def client(self) -> "Client":
        """Return the running loop's client."""
        return self._lines.get().client

    def _connect(self) -> _Line:
        from aiohttp import ClientSession, TCPConnector
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        settings = self._settings
        on_vertex = settings.vertex_project is not None
        # the session is ours to close, and without a limit of its own: callers bound what is in flight
        session = ClientSession(
            response_class=capped_responses(self._most_bytes), connector=TCPConnector(limit=0), trust_env=True
        )
        options = HttpOptions(
            base_url=settings.base_url or (_vertex_url(settings.vertex_location) if on_vertex else _GOOGLE),
            timeout=round(self._timeout_seconds * 1000),
            # given, so that the client does not add a retry of its own after a lost connection
            retry_options=HttpRetryOptions(attempts=1),
            # the key is a header, and a redirect would carry it to another host
            async_client_args={"allow_redirects": False},
            aiohttp_client=session,
        )
        # vertexai and base_url are always given: no stray environment variable may send documents elsewhere
        if on_vertex:
            client = Client(
                vertexai=True,
                project=settings.vertex_project,
                location=settings.vertex_location,
                credentials=self._credentials,
                http_options=options,
            )
        else:
            client = Client(vertexai=False, api_key=self._key.get_secret_value(), http_options=options)
        return _Line(client, session)


def gemini_name(settings: ModelSettings) -> str:
    """Return the name of the provider of these settings; it needs no key."""
    fixed = {name: getattr(settings, name) for name in _FIXED}
    chosen = {name: value for name, value in fixed.items() if value is not None}
    options = f"?{urlencode(chosen)}" if chosen else ""
    if settings.vertex_project is None:
        return f"gemini/{settings.model}{place_of(settings.base_url)}{options}"
    place = place_of(settings.base_url or _vertex_url(settings.vertex_location))
    return f"gemini/{settings.model}{place}/{settings.vertex_project}{options}"


def _vertex_url(location: str) -> str:
    host = "aiplatform" if location == "global" else f"{location}-aiplatform"
    return f"https://{host}.googleapis.com/"


def _machine_credentials() -> "Credentials":
    """Return the credentials that Google's own tools leave on a machine.

    Raises:
        KeyRejectedError: there are none.
    """
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=[_VERTEX_SCOPE])
    except DefaultCredentialsError:
        summary = f"llm.vertex_project is set and no credentials are found; {VERTEX_ADVICE}"
        raise KeyRejectedError(summary) from None
    return credentials
