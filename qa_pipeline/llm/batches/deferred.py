"""A model whose replies come in batch jobs: what it is asked waits in a basket and is submitted as a whole.

What belongs here: telling what has come and what is awaited, and what is put off. What does not: submitting
(`submitting.py`), collecting (`collecting.py`), reading replies (`HostedModel` reads them as any others).
"""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.calls import CallRecord
from qa_pipeline.errors import (
    BudgetExhaustedError,
    OversizedRequestError,
    PendingReplyError,
    PermanentModelError,
    RepliesPendingError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.batches.jobs import JobBook
from qa_pipeline.llm.batches.records import Answer
from qa_pipeline.llm.batches.submitting import PutOff, Submitter
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.llm.sending import shown

MOST_ATTEMPTS = 3
"""Jobs that a request is put into before it counts as failed, as tries count that are sent one by one."""
_NAMED_JOBS = 3


@dataclass
class _Basket:
    """What the calls of one loop put off, wait for by key of its job, and were told to have failed."""

    put_off: dict[str, PutOff] = field(default_factory=dict)
    awaited: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)


class DeferredModel:
    """A hosted model that delivers in batch jobs.

    `complete` gives what has come, and raises PendingReplyError for the rest; `submit` submits that.
    """

    def __init__(self, submitter: Submitter, book: JobBook) -> None:
        self._sender = _DeferredSender(submitter, book)
        self._hosted = HostedModel(self._sender)

    @property
    def name(self) -> str:
        """The provider's."""
        return self._hosted.name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """See `LanguageModel.complete`.

        Raises:
            PendingReplyError: the reply is awaited, or its request will be submitted.
        """
        return await self._hosted.complete(request)

    async def submit(self) -> None:
        """See `Defers.submit`.

        Raises:
            RepliesPendingError: a reply is awaited.
            BudgetExhaustedError: nothing is awaited, and nothing could be submitted under the caps.
            ModelError: the provider takes no job.
        """
        await self._sender.submit()

    async def aclose(self) -> None:
        """Close the connections of the running loop and forget what its calls put off."""
        await self._hosted.aclose()


class _DeferredSender:
    """Finds replies in the book of jobs where `Sender` would ask for them."""

    def __init__(self, submitter: Submitter, book: JobBook) -> None:
        self.name = submitter.name
        self._submitter = submitter
        self._book = book
        self._lock = threading.Lock()
        self._baskets: dict[asyncio.AbstractEventLoop, _Basket] = {}

    async def send(self, request: Request[Any], request_key: str, calls: list[CallRecord]) -> RawReply:
        found = await asyncio.to_thread(self._book.item, self.name, request.key)
        if found is not None and found.answer is not None:
            return _reply(request, found.answer, calls)
        if found is not None and found.state == "open":
            self._basket().awaited[request.key] = found.job_key
            raise PendingReplyError(f"the reply is awaited from job {found.job_key}")
        if found is not None and found.state == "refused":
            await asyncio.to_thread(self._book.drop, self.name, request.key)
            raise PermanentModelError(f"in a batch job: {found.failure}")
        if found is not None and found.attempts >= MOST_ATTEMPTS:
            self._basket().given_up.append(request.key)
            raise TransientModelError(
                f"{found.attempts} batch jobs brought no reply, the last one: {found.failure}"
            )
        self._basket().put_off[request.key] = PutOff(request, request_key)
        raise PendingReplyError("the request is put into the next job")

    async def submit(self) -> None:
        basket = self._basket()
        if not basket.put_off and not basket.awaited:
            # only now are they told as failed; a run that waits for others would ask for them all over again
            for key in basket.given_up:
                await asyncio.to_thread(self._book.drop, self.name, key)
            return
        submitted = await self._submitter.submit(list(basket.put_off.values()))
        awaited = basket.awaited | submitted.awaited
        self._forget()
        if not awaited and submitted.refusal is not None:
            raise submitted.refusal
        raise _pending(awaited, submitted.refusal)

    async def aclose(self) -> None:
        self._forget()
        await self._submitter.aclose()

    def _forget(self) -> None:
        with self._lock:
            self._baskets.pop(asyncio.get_running_loop(), None)

    def _basket(self) -> _Basket:
        loop = asyncio.get_running_loop()
        with self._lock:
            for ended in [known for known in self._baskets if known.is_closed()]:
                del self._baskets[ended]
            return self._baskets.setdefault(loop, _Basket())


def _reply(request: Request[Any], answer: Answer, calls: list[CallRecord]) -> RawReply:
    """What a provider would have returned, or raised."""
    if answer.call is not None:
        calls.append(answer.call)
    if answer.reason is None:
        return RawReply(answer.text, answer.model or "", answer.usage)
    detail = answer.detail or ""
    if answer.reason == OversizedRequestError("").reason:
        raise OversizedRequestError(f"{detail}; {shown(request)}")
    raise UnreadableReplyError(answer.reason, detail, raw=answer.text, model=answer.model, usage=answer.usage)


def _pending(awaited: dict[str, str], refusal: BudgetExhaustedError | None) -> RepliesPendingError:
    jobs = tuple(sorted(set(awaited.values())))
    named = ", ".join(jobs[:_NAMED_JOBS])
    more = f" and {len(jobs) - _NAMED_JOBS} more" if len(jobs) > _NAMED_JOBS else ""
    told = (
        f"replies awaited from batch jobs of the provider: {len(awaited)} ({named}{more}); run again when "
        "they have come, as `qa-pipeline jobs` tells"
    )
    if not awaited:
        told = "replies have come from batch jobs meanwhile; run again"
    if refusal is not None:
        told += f". Not all requests were submitted: {refusal}"
    return RepliesPendingError(told, jobs=jobs, requests=len(awaited))
