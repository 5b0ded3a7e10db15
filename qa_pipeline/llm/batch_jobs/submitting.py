"""Submitting requests in batch jobs, each once.

The book is written first. A process that dies after that leaves a job in the state `submitting`, which stands
at the provider under its key or not at all; `collecting.py` finds out which. So does this module where the
line broke while the job was created.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import (
    BudgetExhaustedError,
    ModelError,
    OversizedRequestError,
    PendingReplyError,
    PermanentModelError,
    RepliesPendingError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.batch_jobs.book import Answer, Item, JobBook, ProviderJob
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.budget.tokens import most_request_tokens
from qa_pipeline.llm.hosted import LONGEST_WAIT, ReadingModel, described
from qa_pipeline.llm.provider import PerLoop, RawReply
from qa_pipeline.records import CallRecord
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.text.rendering import first_names

if TYPE_CHECKING:
    from qa_pipeline.llm.gemini.batch_api import GeminiBatches

MOST_REQUESTS = 10_000
"""Requests of a job; the replies to as many are read in one piece."""
MOST_BYTES = 16 * 2**20
"""Bytes of a job; Gemini takes 20 MB with the requests inside it."""
_FIRST_WAIT = 1.0  # seconds, doubled each time: a job is created rarely, and nothing waits for it at once


@dataclass(frozen=True, slots=True)
class PutOff:
    """A request for the next job, and the key of the original where this is the second try of another."""

    request: Request[Any]
    request_key: str


MOST_ATTEMPTS = 3
"""Jobs that a request is put into before it counts as failed, as tries count that are sent one by one."""
_NAMED_JOBS = 3  # the message stays one line; `qa-pipeline jobs` lists them all


@dataclass
class Basket:
    """The calls that one loop put off, waits for by key of job, and reported as failed.

    `refusal` says why some found no room under the caps.
    """

    put_off: dict[str, PutOff] = field(default_factory=dict)
    awaited: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    refusal: BudgetExhaustedError | None = None


class DeferredModel(ReadingModel):
    """A hosted model that delivers in batch jobs.

    `complete` gives what has come, and raises PendingReplyError for the rest; `submit` submits that.

    Args:
        provider: takes jobs.
        book: of all jobs.
        budget: prices and caps.
        settings: tries, and whether prompts are kept.
        run: name of the run.
        most_output: tokens of the longest reply, thoughts included.
    """

    def __init__(
        self,
        provider: "GeminiBatches",
        book: JobBook,
        budget: Budget,
        settings: LLMSettings,
        *,
        run: str,
        most_output: int,
    ) -> None:
        self.name = provider.name
        self._provider = provider
        self._book = book
        self._budget = budget
        self._settings = settings
        self._run = run
        self._most_output = most_output
        self._baskets = PerLoop(Basket)

    async def send(self, request: Request[Any], request_key: str, calls: list[CallRecord]) -> RawReply:
        """Find the reply in the book of jobs.

        Raises:
            PendingReplyError: the reply is awaited, or its request will be submitted.
        """
        item = await asyncio.to_thread(self._book.item, self.name, request.key)
        basket = self._baskets.get()
        if item is not None and item.answer is not None:
            return _reply(request, item.answer, calls)
        if item is not None and item.state == "open":
            basket.awaited[request.key] = item.job_key
            raise PendingReplyError(f"the reply is awaited from job {item.job_key}")
        if item is not None and item.state == "refused":
            await asyncio.to_thread(self._book.drop, self.name, request.key)
            raise PermanentModelError(f"in a batch job: {item.failure}")
        if item is not None and item.attempts >= MOST_ATTEMPTS:
            basket.given_up.append(request.key)
            raise TransientModelError(
                f"{item.attempts} batch jobs brought no reply, the last one: {item.failure}"
            )
        basket.put_off[request.key] = PutOff(request, request_key)
        raise PendingReplyError("the request is put into the next job")

    async def submit(self) -> None:
        """Submit what calls of the running loop put off.

        Raises:
            RepliesPendingError: a reply is awaited.
            BudgetExhaustedError: nothing is awaited, and nothing could be submitted under the caps.
            ModelError: the provider takes no job; what was submitted before stands.
            ReplyStoreError: the book cannot be written.
        """
        basket = self._baskets.get()
        if not basket.put_off and not basket.awaited:
            # only now, as failed; a run that waits for others would ask for them all over again
            for key in basket.given_up:
                await asyncio.to_thread(self._book.drop, self.name, key)
            return
        await self.submit_all(basket)
        self._baskets.pop()
        if not basket.awaited and basket.refusal is not None:
            raise basket.refusal
        raise _pending(basket)

    async def aclose(self) -> None:
        """Close the connections of the running loop and drop what its calls put off."""
        self._baskets.pop()
        await self._provider.aclose()

    async def submit_all(self, basket: Basket) -> None:
        """Submit as far as the caps leave room; what is in a job already stays there."""
        for job in self._split_into_jobs(basket.put_off.values()):
            rest = job
            while rest and basket.refusal is None:
                rest = await self._submit_what_fits(rest, basket)

    def _split_into_jobs(self, put_off: Iterable[PutOff]) -> Iterator[list[PutOff]]:
        """Yield requests in the order of asking, at most a job's size, of one role and batch."""
        for _, group in groupby(put_off, _role_and_batch):
            job: list[PutOff] = []
            size = 0
            for request in group:
                more = self._provider.size(request.request)
                if job and (len(job) == MOST_REQUESTS or size + more > MOST_BYTES):
                    yield job
                    job, size = [], 0
                job.append(request)
                size += more
            yield job

    async def _submit_what_fits(self, put_off: list[PutOff], basket: Basket) -> list[PutOff]:
        """Submit the first requests, as far as there is room, and return the others."""
        wants = [
            self._budget.worst_case(
                self.name, most_request_tokens(request.request), self._most_output, batched=True
            )
            for request in put_off
        ]
        message = f"{put_off[0].request.role}, {self.name}, in a batch job"
        try:
            room = await self._budget.commit(wants, self.name, message)
        except BudgetExhaustedError as error:
            basket.refusal = error
            return put_off
        chosen = put_off[: room.amount.calls]
        items = [self._item(request) for request in chosen]
        try:
            opened = self._book.open(self.name, items, run=self._run, now=time.time(), reservation=room.day)
        except BaseException:
            room.cancel()
            raise
        if opened is None:
            room.cancel()
        else:
            job, mine = opened
            try:
                await self._create(job, {request.request.key: request.request for request in chosen}, mine)
            except ModelError:
                self._book.give_up(job)
                room.cancel()
                raise
            room.spend()
            basket.awaited |= {item.sent_key: job.job_key for item in mine}
        self._note_others(chosen, basket)
        return put_off[room.amount.calls :]

    async def _create(self, job: ProviderJob, requests: dict[str, Request[Any]], items: list[Item]) -> None:
        """Create a job at the provider.

        Raises:
            ModelError: it was not created.
        """
        sent = {item.sent_key: requests[item.sent_key] for item in items}
        wait = _FIRST_WAIT
        for tried in range(1, self._settings.max_tries + 1):
            try:
                name = await self._provider.create(job.job_key, sent)
            except TransientModelError as error:
                if error.maybe_charged:
                    return  # in doubt: collecting looks for it, and nothing of it is sent again before
                if tried == self._settings.max_tries or error.wait_seconds > LONGEST_WAIT:
                    raise
                pause = max(wait, error.wait_seconds)
            else:
                if not self._book.submitted(job, name):
                    await self._provider.cancel(name)  # given up as lost meanwhile: its requests are free
                return
            await asyncio.sleep(pause)
            wait *= 2

    def _item(self, put_off: PutOff) -> Item:
        request = put_off.request
        return Item(
            sent_key=request.key,
            request_key=put_off.request_key,
            job_key="",
            role=request.role,
            batch=request.batch,
            documents=request.documents,
            reply_model=request.reply_model.__name__,
            prompt=request.prompt if self._settings.store.keep_prompts else None,
        )

    def _note_others(self, chosen: Sequence[PutOff], basket: Basket) -> None:
        """Note as awaited what another process has put into a job meanwhile."""
        for key in {request.request.key for request in chosen} - basket.awaited.keys():
            item = self._book.item(self.name, key)
            if item is not None and item.state == "open":
                basket.awaited[key] = item.job_key


def _role_and_batch(put_off: PutOff) -> tuple[str, str]:
    return put_off.request.role, put_off.request.batch


def _reply(request: Request[Any], answer: Answer, calls: list[CallRecord]) -> RawReply:
    """Return the reply that a provider would have returned, or raise its error."""
    if answer.call is not None:
        calls.append(answer.call)
    if answer.reason is None:
        return RawReply(answer.text, answer.model or "", answer.usage)
    detail = answer.detail or ""
    if answer.reason == OversizedRequestError("").reason:
        raise OversizedRequestError(f"{detail}; {described(request)}")
    raise UnreadableReplyError(answer.reason, detail, raw=answer.text, model=answer.model, usage=answer.usage)


def _pending(basket: Basket) -> RepliesPendingError:
    awaited, refusal = basket.awaited, basket.refusal
    jobs = tuple(sorted(set(awaited.values())))
    message = (
        f"replies awaited from batch jobs of the provider: {len(awaited)} "
        f"({first_names(jobs, _NAMED_JOBS)}); run again when they have come, as `qa-pipeline jobs` tells"
    )
    if not awaited:
        message = "replies have come from batch jobs meanwhile; run again"
    if refusal is not None:
        message += f". Not all requests were submitted: {refusal}"
    return RepliesPendingError(message, jobs=jobs, requests=len(awaited))
