"""Send single requests to Gemini with google-genai, with an API key or through Vertex AI."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pydantic import SecretStr

from qa_pipeline.errors import KeyRejectedError, ModelError, UnreadableReplyError
from qa_pipeline.llm import provider
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget import plausible
from qa_pipeline.llm.replies import sent_schema
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import ModelSettings

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from google.auth.credentials import Credentials
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Candidate, GenerateContentConfig, GenerateContentResponse

KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
KEY_ADVICE = (
    "set GEMINI_API_KEY (or GOOGLE_API_KEY) to a key from https://aistudio.google.com/apikey, "
    "or use llm.provider=extractive, which needs none"
)
VERTEX_ADVICE = (
    "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a service "
    "account that may use Vertex AI"
)
_GOOGLE = "https://generativelanguage.googleapis.com/"
_VERTEX_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_FIXED = ("max_output_tokens", "thinking_level")  # settings that change replies, but are not in a request
_DELAY = re.compile(r"'retryDelay': '([^']*)'")  # such as '30s', in the details of an error as text
_FINISHED = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_REASONS = {
    "MAX_TOKENS": "truncated",
    "CONTINUATION": "truncated",
    "SAFETY": "blocked_safety",
    "PROHIBITED_CONTENT": "blocked_safety",
    "BLOCKLIST": "blocked_safety",
    "SPII": "blocked_safety",
    "MODEL_ARMOR": "blocked_safety",
    "RECITATION": "blocked_recitation",
}
"""Reason codes of finish and block reasons. Other reasons are `blocked`, with the name in the detail."""


class GeminiProvider(provider.Provider):
    """A hosted Gemini model.

    Args:
        settings: model, server, Vertex project and fixed parameters.
        timeout_seconds: limit for a single try.
        environ: environment with the key in GEMINI_API_KEY or else GOOGLE_API_KEY. The key never appears in a
            name, error or log. Vertex AI uses the machine's credentials instead.
        credentials: other credentials for Vertex AI.

    Raises a KeyRejectedError if key or credentials are missing or malformed.
    """

    def __init__(
        self,
        settings: ModelSettings,
        timeout_seconds: float,
        environ: Mapping[str, str],
        *,
        credentials: "Credentials | None" = None,
    ) -> None:
        self._on_vertex = settings.vertex_project is not None
        self._credentials: Credentials | None = None
        if self._on_vertex:
            key, server = "", _vertex_url(settings.vertex_location)
            self._credentials = credentials or _machine_credentials()
        else:
            key, server = provider.read_key(environ, KEY_NAMES, KEY_ADVICE), _GOOGLE
            if not key:
                raise KeyRejectedError(f"the provider is gemini, but its key is missing; {KEY_ADVICE}")
        self._key = SecretStr(key)
        self._settings = settings
        self._url = settings.base_url or server
        self.name = _name(settings)
        self._timeout_seconds = timeout_seconds
        self._connections = provider.PerLoop(self._connect)

    async def send(self, request: Request[Any]) -> provider.RawReply:
        """Send the request once. See `Provider.send`."""
        from aiohttp import ClientError
        from google.auth.exceptions import GoogleAuthError
        from google.genai.errors import APIError

        failure: ModelError
        try:
            client, _session = self._connections.get()
            response = await client.aio.models.generate_content(
                model=self._settings.model,
                contents=request.prompt,
                config=request_config(request, self._settings),
            )
            return read_response(response, self._settings.model, self._secret)
        except APIError as error:
            failure = self._refusal(error)
        except (ClientError, TimeoutError, ValueError, RecursionError) as error:  # last two: unreadable JSON
            failure = provider.connection_error(error, self._secret, is_local=self._settings.is_local)
        except GoogleAuthError:
            failure = KeyRejectedError(f"Google's credentials are refused; {VERTEX_ADVICE}")
        # raised outside the except block, so that its context excludes the client's error with the key
        raise failure

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        if connection := self._connections.pop():
            client, session = connection
            await session.close()
            await client.aio.aclose()
            client.close()

    @property
    def _secret(self) -> str:
        """Return the key or access token of requests, or "" before the first."""
        if self._credentials is not None:
            return self._credentials.token or ""
        return self._key.get_secret_value()

    def _refusal(self, error: "APIError") -> ModelError:
        """Return the error for a refusal by the server."""
        # a wrong key is a plain 400, and only a reason such as API_KEY_INVALID in the details shows it
        details = str(error.details)
        header = getattr(error.response, "headers", {}).get("Retry-After", "")
        return provider.server_error(
            error.code,
            str(error.message or error.status or ""),
            code="API_KEY_INVALID" if "'reason': 'API_KEY_" in details else "",
            wait_seconds=max(map(provider.seconds_in, (header, *_DELAY.findall(details)))),
            model=self._settings.model,
            key=self._secret,
            key_advice=KEY_ADVICE,
        )

    def _connect(self) -> "tuple[Client, ClientSession]":
        """Return a new client without retries or redirects, and its session."""
        from aiohttp import ClientSession, TCPConnector
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        # we close the session; it has no limit, since callers limit the requests in flight
        session = ClientSession(
            response_class=_capped_responses(), connector=TCPConnector(limit=0), trust_env=True
        )
        options = HttpOptions(
            base_url=self._url,
            timeout=round(self._timeout_seconds * 1000),
            # set explicitly, so that the client does not retry after a lost connection
            retry_options=HttpRetryOptions(attempts=1),
            # the key is a header, and a redirect would carry it to another host
            async_client_args={"allow_redirects": False},
            aiohttp_client=session,
        )
        # always pass vertexai and base_url, so that environment variables cannot redirect documents
        client = Client(
            vertexai=self._on_vertex,
            api_key=self._key.get_secret_value() or None,
            project=self._settings.vertex_project,
            location=self._settings.vertex_location if self._on_vertex else None,
            credentials=self._credentials,
            http_options=options,
        )
        return client, session


def _capped_responses() -> "type[ClientResponse]":
    """Return a response class for aiohttp that limits the size of a body as it is decompressed."""
    from aiohttp import ClientResponse

    class CappedResponse(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:  # aiohttp keeps the body of an earlier call here
                try:
                    self._body = await provider.read_capped(self.content.iter_any())
                except BaseException:
                    self.close()
                    raise
            return await super().read()

    return CappedResponse


def _name(settings: ModelSettings) -> str:
    """Return a name such as `gemini/MODEL@HOST/PROJECT?thinking_level=low`."""
    fixed = {name: getattr(settings, name) for name in _FIXED}
    chosen = {name: value for name, value in fixed.items() if value is not None}
    options = f"?{urlencode(chosen)}" if chosen else ""
    if settings.vertex_project is None:
        return f"gemini/{settings.model}{provider.server_suffix(settings.base_url)}{options}"
    address = provider.server_suffix(settings.base_url or _vertex_url(settings.vertex_location))
    return f"gemini/{settings.model}{address}/{settings.vertex_project}{options}"


def _vertex_url(location: str) -> str:
    host = "aiplatform" if location == "global" else f"{location}-aiplatform"
    return f"https://{host}.googleapis.com/"


def _machine_credentials() -> "Credentials":
    """Return the credentials that Google's tools store on the machine."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=[_VERTEX_SCOPE])
    except DefaultCredentialsError:
        summary = f"llm.vertex_project is set and no credentials are found; {VERTEX_ADVICE}"
        raise KeyRejectedError(summary) from None
    return credentials


def request_config(request: Request[Any], settings: ModelSettings) -> "GenerateContentConfig":
    """Return all parts of a request except its prompt."""
    from google.genai.types import GenerateContentConfig

    level = settings.thinking_level
    return GenerateContentConfig.model_validate(
        {
            "system_instruction": request.system,
            "temperature": request.temperature,
            "seed": request.seed,
            "max_output_tokens": settings.max_output_tokens,
            "response_mime_type": "application/json",
            "response_json_schema": sent_schema(request.reply_model),  # type: ignore[arg-type]
            # None uses the defaults of model and provider
            "thinking_config": {"thinking_level": level} if level else None,
            "automatic_function_calling": {"disable": True},
            # otherwise the client would silently pay to continue a truncated reply
            "automatic_continuation": False,
        }
    )


def read_response(response: "GenerateContentResponse", asked_model: str, key: str) -> provider.RawReply:
    """Return the text of a finished reply, with the key masked.

    Raises:
        UnreadableReplyError: `truncated`, `blocked…` or `empty`, with the received text and the used tokens.
    """
    version = response.model_version
    model = f"gemini/{provider.one_line(version, key) if version else asked_model}"
    usage = read_usage(response)
    candidate = response.candidates[0] if response.candidates else None
    parts = (candidate.content.parts if candidate and candidate.content else None) or []
    text = provider.mask_key("".join(part.text for part in parts if part.text and not part.thought), key)
    problem = _problem(response, candidate, text)
    if problem is not None:
        raise UnreadableReplyError(*problem, raw=text, model=model, usage=usage)
    return provider.RawReply(text, model, usage)


def read_usage(response: "GenerateContentResponse") -> Usage:
    """Return the tokens of a reply. Thoughts count as output, since they are paid for too."""
    usage = response.usage_metadata
    if usage is None:
        return Usage()
    thoughts = usage.thoughts_token_count
    written = [count for count in (usage.candidates_token_count, thoughts) if count is not None]
    output = sum(written) if written else None
    return plausible(Usage(usage.prompt_token_count, output, usage.cached_content_token_count, thoughts))


def _problem(
    response: "GenerateContentResponse", candidate: "Candidate | None", text: str
) -> tuple[str, str] | None:
    """Return reason and detail if a reply cannot be used."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        name = feedback.block_reason.name
        return _REASONS.get(name, "blocked"), f"prompt: {name}"
    finish = candidate.finish_reason.name if candidate and candidate.finish_reason else "STOP"
    if finish not in _FINISHED:
        reason = _REASONS.get(finish, "blocked")
        return reason, f"reply: {finish}" + (f"; {provider.CAP_ADVICE}" if reason == "truncated" else "")
    if text.strip():
        return None
    return "empty", ("the reply has no text" if candidate else "no candidate")
