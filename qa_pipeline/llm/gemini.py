"""Gemini over google-genai: one request, one reply that fills its model, or one typed error.

What belongs here: building the call, retrying it, and telling a usable reply from a blocked, cut or
malformed one. What does not: caps, storing, prompts, and reading the environment beyond `from_environment`.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import tenacity
from pydantic import SecretStr

from qa_pipeline.calls import Usage
from qa_pipeline.errors import KeyRejectedError, UnreadableReplyError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.gemini_errors import KEY_ADVICE, asked_wait, is_passing, translate
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import ReplyModel
from qa_pipeline.settings.models import LLMSettings

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from google.genai import Client
    from google.genai.types import Candidate, GenerateContentConfig, GenerateContentResponse

KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
LONGEST_WAIT = 120.0
"""Seconds. A server that asks for more (a daily quota) ends the call: waiting would stall the run unseen."""

_GOOGLE = "https://generativelanguage.googleapis.com/"
_LONGEST_BACKOFF = 60.0
_FINISHED = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_CUT = frozenset({"MAX_TOKENS", "CONTINUATION"})
# Keywords Gemini's schema subset lacks; the reply is checked against the whole model in any case.
_UNSUPPORTED = frozenset({"$defs", "minLength", "maxLength", "pattern", "default"})


@dataclass(frozen=True, slots=True)
class _Line:
    """A client and its session, which belong to one event loop."""

    client: "Client"
    session: "ClientSession"


class GeminiModel:
    """A hosted Gemini model.

    Sessions belong to an event loop, so each loop gets its own; `aclose` ends the running loop's.

    Args:
        key: API key; it appears in no name, error or log.
        settings: model, time limit, tries and base_url.
        sleep: waits between tries; tests pass one that does not wait.
    """

    def __init__(
        self,
        key: str,
        settings: LLMSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._key = SecretStr(_checked(key))
        self._settings = settings
        self._sleep = sleep
        self._lock = threading.Lock()
        self._lines: dict[asyncio.AbstractEventLoop, _Line] = {}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], settings: LLMSettings) -> "GeminiModel":
        """Take the key from GEMINI_API_KEY, or else GOOGLE_API_KEY.

        Raises:
            KeyRejectedError: neither is set.
        """
        keys = [environ[name] for name in KEY_NAMES if environ.get(name, "").strip()]
        if not keys:
            raise KeyRejectedError(f"llm.provider is gemini and no key is set; {KEY_ADVICE}")
        return cls(keys[0], settings)

    def __repr__(self) -> str:
        return f"GeminiModel({self.name!r})"

    @property
    def name(self) -> str:
        """Provider and model, and the server where it is not Google's."""
        return f"gemini/{self._settings.model}{_place(self._settings.base_url)}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask, and ask again at rate limits, server faults and lost connections."""
        from aiohttp import ClientError
        from google.genai.errors import APIError

        try:
            response: GenerateContentResponse = await self._retrying()(self._ask, request)
        except (APIError, ClientError, TimeoutError, JSONDecodeError) as error:
            failure = translate(error, self._key.get_secret_value())
        else:
            return self._read(response, request.reply_model)
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        with self._lock:
            line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            await line.session.close()
            await line.client.aio.aclose()
            line.client.close()

    def _retrying(self) -> tenacity.AsyncRetrying:
        return tenacity.AsyncRetrying(
            sleep=self._sleep,
            stop=tenacity.stop_after_attempt(self._settings.max_tries),
            retry=tenacity.retry_if_exception(_worth_waiting),
            wait=_wait,
            reraise=True,
        )

    async def _ask(self, request: Request[Any]) -> "GenerateContentResponse":
        return await self._client().aio.models.generate_content(
            model=self._settings.model, contents=request.prompt, config=_config(request)
        )

    def _client(self) -> "Client":
        loop = asyncio.get_running_loop()
        with self._lock:
            for ended in [known for known in self._lines if known.is_closed()]:
                del self._lines[ended]
            line = self._lines.get(loop)
            if line is None:
                line = self._lines[loop] = self._connect()
        return line.client

    def _connect(self) -> _Line:
        from aiohttp import ClientSession, TCPConnector
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        # the session is ours to close, and without a limit of its own: callers bound what is in flight
        session = ClientSession(connector=TCPConnector(limit=0), trust_env=True)
        options = HttpOptions(
            base_url=self._settings.base_url or _GOOGLE,
            timeout=round(self._settings.timeout_seconds * 1000),
            # given, so that the client does not add a retry of its own after a lost connection
            retry_options=HttpRetryOptions(attempts=1),
            # the key is a header, and a redirect would carry it to another host
            async_client_args={"allow_redirects": False},
            aiohttp_client=session,
        )
        # vertexai=False, like the base_url: no stray environment variable may send documents elsewhere
        client = Client(vertexai=False, api_key=self._key.get_secret_value(), http_options=options)
        return _Line(client, session)

    def _read(self, response: "GenerateContentResponse", reply_model: type[ReplyT]) -> Reply[ReplyT]:
        raw = _text(response)
        return Reply(
            value=parse_reply(raw, reply_model),
            raw=raw,
            model=f"gemini/{response.model_version or self._settings.model}",
            usage=_usage(response),
        )


def response_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the reply model's JSON schema in the subset Gemini reads: references inlined, no $defs.

    Fields keep the model's order, so reasoning is written before what it leads to.
    """
    schema = reply_model.model_json_schema()
    definitions = schema.get("$defs", {})

    def simplify(node: Any) -> Any:
        if isinstance(node, list):
            return [simplify(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            beside = {name: value for name, value in node.items() if name != "$ref"}
            return simplify(definitions[node["$ref"].rpartition("/")[2]] | beside)
        return {name: simplify(value) for name, value in node.items() if name not in _UNSUPPORTED}

    simplified: dict[str, Any] = simplify(schema)
    return simplified


def _config(request: Request[Any]) -> "GenerateContentConfig":
    from google.genai.types import GenerateContentConfig

    return GenerateContentConfig(
        system_instruction=request.system,
        temperature=request.temperature,
        seed=request.seed,
        response_mime_type="application/json",
        response_json_schema=response_schema(request.reply_model),
    )


def _worth_waiting(error: BaseException) -> bool:
    return is_passing(error) and asked_wait(error) <= LONGEST_WAIT


def _wait(state: tenacity.RetryCallState) -> float:
    """Full jitter over a doubling bound (Brooker 2015), and never less than the server asks for."""
    error = state.outcome.exception() if state.outcome else None
    backoff = tenacity.wait_random_exponential(multiplier=1, max=_LONGEST_BACKOFF)(state)
    return max(backoff, asked_wait(error) + tenacity.wait_random(0, 1)(state))


def _text(response: "GenerateContentResponse") -> str:
    """The reply's text.

    Raises:
        UnreadableReplyError: `blocked`, `truncated` or `empty`.
    """
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        raise UnreadableReplyError("blocked", f"prompt: {feedback.block_reason.name}")
    if not response.candidates:
        raise UnreadableReplyError("empty", "no candidate")
    candidate = response.candidates[0]
    reason = candidate.finish_reason.name if candidate.finish_reason else "FINISH_REASON_UNSPECIFIED"
    if reason in _CUT:
        raise UnreadableReplyError("truncated", f"reply: {reason}")
    if reason not in _FINISHED:
        raise UnreadableReplyError("blocked", f"reply: {reason}")
    return _joined(candidate)


def _joined(candidate: "Candidate") -> str:
    parts = (candidate.content.parts if candidate.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def _usage(response: "GenerateContentResponse") -> Usage:
    usage = response.usage_metadata
    if usage is None:
        return Usage()
    # thoughts are written, and paid for, like the reply itself
    written = [n for n in (usage.candidates_token_count, usage.thoughts_token_count) if n is not None]
    return Usage(usage.prompt_token_count, sum(written) if written else None)


def _checked(key: str) -> str:
    stripped = key.strip()
    if not stripped:
        raise KeyRejectedError(f"the Gemini key is empty; {KEY_ADVICE}")
    # also: a key with a line break inside would otherwise be quoted by the HTTP library's error
    if not (stripped.isascii() and stripped.isprintable()) or " " in stripped:
        raise KeyRejectedError(f"the Gemini key holds characters no key has; {KEY_ADVICE}")
    return stripped


def _place(base_url: str | None) -> str:
    if base_url is None:
        return ""
    parts = urlsplit(base_url)  # a URL may hold a password; host and path tell servers apart
    port = f":{parts.port}" if parts.port else ""
    return f"@{parts.hostname}{port}{parts.path.rstrip('/')}"
