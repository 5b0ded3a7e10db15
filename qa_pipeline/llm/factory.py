"""Build models from settings, with retries, limits, budget and stored replies, or from functions."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from qa_pipeline.errors import ModelError, OversizedRequestError, StorageError, UnreadableReplyError
from qa_pipeline.llm.base import (
    LanguageModel,
    Reply,
    ReplyT,
    Request,
    TransientModelError,
    close_connections,
    json_schema,
)
from qa_pipeline.llm.budget import MOST_OUTPUT, Budget, check_cost_cap
from qa_pipeline.llm.hosted import REPLIED, HostedModel
from qa_pipeline.llm.provider import Provider, Throttle
from qa_pipeline.llm.replies import read_reply
from qa_pipeline.llm.reply_store import Outcome, ReplyStore
from qa_pipeline.settings.llm import LLMSettings, ModelSettings


class CachedModel:
    """A model that answers from the store, and asks the wrapped model for missing replies.

    Equal requests in flight in a process share a call.
    """

    def __init__(self, model: LanguageModel, store: ReplyStore) -> None:
        self.name = model.name
        self._model = model
        self._store = store

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Return the stored reply, or ask and store.

        Raises a StorageError if the store, or the stored reply, cannot be read.
        """
        request_id = (self.name, request.key)
        while (flight := self._store.join_or_open(request_id)) is not None:  # an equal request is in flight
            # shielded, since a cancelled waiter must not cancel the shared future
            outcome = await asyncio.shield(asyncio.wrap_future(flight))
            if outcome is not None:  # otherwise the asking call was cancelled, so try again
                return self._stored_reply(request, outcome)
        # None: a flight was opened for this call, whose `land` gives its outcome or error to waiting calls
        try:
            reply, outcome = await self._find_or_ask(request)
        except UnreadableReplyError as error:
            self._store.land(request_id, _outcome_of(error))
            raise
        except Exception as error:
            self._store.land(request_id, error)
            raise
        except BaseException:  # cancelled
            self._store.land(request_id, None)
            raise
        self._store.land(request_id, outcome)
        return reply

    async def aclose(self) -> None:
        """Close the wrapped model. The store stays open, because it does not belong to an event loop."""
        await close_connections(self._model)

    async def _find_or_ask(self, request: Request[ReplyT]) -> tuple[Reply[ReplyT], Outcome]:
        """Find the reply, or ask for it and store it; return it with its stored outcome."""
        cached = await self._store.find(self.name, request)
        if cached is not None:
            return self._stored_reply(request, cached), cached
        try:
            reply = await self._model.complete(request)
        except UnreadableReplyError as error:
            await self._store.put(self.name, request, _outcome_of(error), error.calls)
            raise
        except ModelError as error:
            await self._store.note(self.name, request, error.calls)  # they may have been charged
            raise
        value = reply.value.model_dump_json()
        outcome = Outcome(
            REPLIED, reply.raw, value, replied_model=reply.model, repair=reply.repair, usage=reply.usage
        )
        stored = await self._store.put(self.name, request, outcome, reply.calls)
        # if another process was faster, its reply counts, so that a rerun gives the same result
        return (reply if stored == outcome else self._stored_reply(request, stored)), stored

    def _stored_reply(self, request: Request[ReplyT], outcome: Outcome) -> Reply[ReplyT]:
        """Return the reply of a stored outcome, or raise its failure."""
        if outcome.value is None:
            raise _failure(outcome)
        try:
            value = request.reply_model.model_validate_json(outcome.value)
        except ValidationError as error:
            raise StorageError(
                f"the reply {request.key} of {self.name} in {self._store.database.address} is damaged (it is "
                f"no {request.reply_model.__name__}): restore the store from a copy, or delete this row of "
                "table replies to ask again"
            ) from error
        return Reply(
            value, outcome.raw, outcome.replied_model or "", outcome.usage, cached=True, repair=outcome.repair
        )


def _outcome_of(error: UnreadableReplyError) -> Outcome:
    return Outcome(error.reason, error.raw, detail=error.detail, replied_model=error.model, usage=error.usage)


def _failure(outcome: Outcome) -> UnreadableReplyError:
    detail = outcome.detail or ""
    if outcome.outcome == OversizedRequestError("").reason:
        return OversizedRequestError(detail)
    return UnreadableReplyError(
        outcome.outcome, detail, raw=outcome.raw, model=outcome.replied_model, usage=outcome.usage
    )


class Models:
    """The models of the settings, each built at its first use.

    `address` is the SQLite file of replies if the settings do not name another store. `environ` has the keys.
    `run` is the id of the run, and `extractive` the rule-based model for the provider of that name.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        address: Path,
        environ: Mapping[str, str],
        run: str,
        extractive: LanguageModel | None = None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._environ = environ
        self._run = run
        self._extractive = extractive
        self._built: dict[ModelSettings, LanguageModel | None] = {}  # None for the provider "none"
        self._throttles: dict[str, Throttle] = {}

    def of(self, settings: ModelSettings) -> LanguageModel | None:
        """Return the model of a role, or None for the provider "none". Equal settings share a model.

        Raises a KeyRejectedError if the provider needs a key that is not set.
        """
        if settings not in self._built:
            model = self._provided(settings)
            self._built[settings] = None if model is None else CachedModel(model, self.replies)
        return self._built[settings]

    @cached_property
    def replies(self) -> ReplyStore:
        """Return the store of replies, shared by all runs of a deployment."""
        return ReplyStore(self._settings.store.url or self._address)

    @cached_property
    def budget(self) -> Budget:
        """Return the caps of the run.

        Raises a SettingsError if cost is capped and a model lacks a price.
        """
        check_cost_cap(self._settings)
        return Budget(self._settings.budget)

    def check(self, models: Iterable[ModelSettings]) -> None:
        """Build the budget and these models, without sending requests.

        Raises a SettingsError for an unusable model or cap, or a KeyRejectedError for a missing key.
        """
        _ = self.budget
        for settings in models:
            self.of(settings)

    def close(self) -> None:
        """Close the store. A later use opens it again."""
        self.replies.close()

    def _provided(self, settings: ModelSettings) -> LanguageModel | None:
        """Return a model that does not store its replies, or None for the provider "none"."""
        timeout = self._settings.seconds_for(settings)
        provider: Provider
        match settings.provider:
            case "none":
                return None
            case "extractive":
                return self._extractive
            case "gemini":
                from qa_pipeline.llm.gemini import GeminiProvider

                provider = GeminiProvider(settings, timeout, self._environ)
            case "openai":
                from qa_pipeline.llm.openai_compatible import OpenAIProvider

                provider = OpenAIProvider(settings, timeout, self._environ)
        # roles with different settings for a model share its limits
        throttle = self._throttles.setdefault(provider.name, Throttle(self._settings.requests_per_minute))
        most = settings.max_output_tokens or MOST_OUTPUT
        return HostedModel(provider, self._settings, throttle, self.budget, run=self._run, most_output=most)


Function = Callable[[str], str]
PATIENCE = 120.0  # seconds to wait for a function's reply, enough for a slow model on a CPU


@dataclass(frozen=True)
class FunctionModel:
    """Wrap a function as a language model.

    The function takes the prompt, which ends with the JSON schema of the reply, and returns the reply's text.
    """

    function: Function

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return f"function/{getattr(self.function, '__qualname__', type(self.function).__qualname__)}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Call the function in a new thread, which is abandoned on a timeout.

        Raises:
            TransientModelError: the function raises, times out, or returns something other than a string.
            UnreadableReplyError: its reply cannot be parsed.
        """
        schema = json.dumps(json_schema(request.reply_model))
        prompt = f"{request.system}\n\n{request.prompt}\n\nReply with JSON of this schema:\n{schema}"
        try:
            reply_or_error = await asyncio.wait_for(self._start(prompt), PATIENCE)
        except TimeoutError:
            reply_or_error = TimeoutError(f"no reply in {PATIENCE:g} s")
        if isinstance(reply_or_error, Exception):
            raise self._failure(f"raised {type(reply_or_error).__name__}: {reply_or_error}")
        if not isinstance(reply_or_error, str):
            raise self._failure(f"returned {reply_or_error!r:.80}")
        value, repair = read_reply(reply_or_error, request.reply_model)
        return Reply(value, reply_or_error, self.name, repair=repair)

    def _start(self, prompt: str) -> asyncio.Future[object]:
        """Start the function in a thread, and return the future of its reply, or of the error it raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()

        def settle(reply_or_error: object) -> None:
            if not future.done():  # a timeout has cancelled it
                future.set_result(reply_or_error)

        def call_function() -> None:
            try:
                reply_or_error: object = self.function(prompt)
            except Exception as error:  # noqa: BLE001 a caller's function may raise anything
                reply_or_error = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, reply_or_error)

        # at exit the interpreter would wait for a pool's thread, even if it hangs
        threading.Thread(target=call_function, daemon=True).start()
        return future

    def _failure(self, problem: str) -> TransientModelError:
        return TransientModelError(f"{self.name} {problem}; it should return a str", is_final=True)
