"""Cache model replies, so that each is paid for once.

A reply is stored before it is returned. Unusable replies are stored too, since they were paid for. Other
errors are not.
"""

import asyncio

from pydantic import ValidationError

from qa_pipeline.errors import (
    ModelError,
    OversizedRequestError,
    ReplyStoreError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections
from qa_pipeline.llm.store.store import REPLIED, Outcome, ReplyStore


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

        Raises:
            ReplyStoreError: the store, or the stored reply, cannot be read.
        """
        request_id = (self.name, request.key)
        while (before := self._store.join(request_id)) is not None:
            # shielded, since a cancelled waiter must not cancel the shared future
            outcome = await asyncio.shield(asyncio.wrap_future(before))
            if outcome is not None:
                return self._hit(request, outcome)
        end: Outcome | Exception | None = None  # if cancelled, the next waiter asks
        try:
            reply, end = await self._first(request)
        except UnreadableReplyError as error:
            end = _outcome_of(error)
            raise
        except Exception as error:
            end = error
            raise
        finally:
            self._store.land(request_id, end)
        return reply

    async def aclose(self) -> None:
        """Close the wrapped model. The store stays open, because it does not belong to an event loop."""
        await close_connections(self._model)

    async def _first(self, request: Request[ReplyT]) -> tuple[Reply[ReplyT], Outcome]:
        """Find the reply, or ask for it and store it."""
        found = await self._store.find(self.name, request)
        if found is not None:
            return self._hit(request, found), found
        try:
            reply = await self._model.complete(request)
        except UnreadableReplyError as error:
            await self._store.put(self.name, request, _outcome_of(error), error.calls)
            raise
        except ModelError as error:
            await self._store.note(self.name, request, error.calls)
            raise
        value = reply.value.model_dump_json()
        paid = Outcome(
            REPLIED, reply.raw, value, replied_model=reply.model, repair=reply.repair, usage=reply.usage
        )
        stored = await self._store.put(self.name, request, paid, reply.calls)
        # if another process was faster, its reply counts, so that a rerun gives the same result
        return (reply if stored == paid else self._hit(request, stored)), stored

    def _hit(self, request: Request[ReplyT], outcome: Outcome) -> Reply[ReplyT]:
        if outcome.value is None:
            raise _failure(outcome)
        try:
            value = request.reply_model.model_validate_json(outcome.value)
        except ValidationError as error:
            raise ReplyStoreError(
                f"the reply {request.key} of {self.name} in {self._store.database.place} is damaged (it is "
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
