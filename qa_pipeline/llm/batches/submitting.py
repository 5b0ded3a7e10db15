"""Submitting requests in batch jobs, each once.

What belongs here: forming jobs, room in the budget, and the order in which book and provider are told. What
does not: the book (`jobs.py`), the wire, which requests are put off (`deferred.py`).

The book is written first. A process that dies after that leaves a job in the state `submitting`, which stands
at the provider under its key or not at all; `collecting.py` finds out which. So does this module where the
line broke while the job was created.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from qa_pipeline.errors import BudgetExhaustedError, ModelError, TransientModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.batches.jobs import JobBook
from qa_pipeline.llm.batches.provider import BatchProvider
from qa_pipeline.llm.batches.records import Item, ProviderJob
from qa_pipeline.llm.clock import Clock
from qa_pipeline.llm.money.budget import Budget
from qa_pipeline.llm.money.commitments import commit
from qa_pipeline.llm.money.tokens import most_request_tokens
from qa_pipeline.settings.models import LLMSettings

MOST_REQUESTS = 10_000
"""Requests of a job; the replies to as many are read in one piece."""
MOST_BYTES = 16 * 2**20
"""Bytes of a job; Gemini takes 20 MB with the requests inside it."""
_FIRST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class PutOff:
    """A request to be sent, and the key of what was asked, which differs where this asks once more."""

    request: Request[Any]
    request_key: str


@dataclass
class Submitted:
    """What submitting came to.

    Args:
        awaited: key of the job, by that of each request in one.
        refusal: why some found no room under the caps.
    """

    awaited: dict[str, str] = field(default_factory=dict)
    refusal: BudgetExhaustedError | None = None


class Submitter:
    """Submits requests to one provider.

    Args:
        provider: takes jobs.
        book: of all jobs.
        budget: prices and caps.
        settings: tries, waits, and whether prompts are kept.
        run: name of the run.
        most_output: tokens of the longest reply, thoughts included.
        clock: time and waiting.
    """

    def __init__(
        self,
        provider: BatchProvider,
        book: JobBook,
        budget: Budget,
        settings: LLMSettings,
        *,
        run: str,
        most_output: int,
        clock: Clock | None = None,
    ) -> None:
        self.name = provider.name
        self._provider = provider
        self._book = book
        self._budget = budget
        self._settings = settings
        self._run = run
        self._most_output = most_output
        self._clock = clock or Clock()

    async def submit(self, put_off: Sequence[PutOff]) -> Submitted:
        """Submit requests as far as the caps leave room; those that are in a job already stay there.

        Raises:
            ModelError: the provider takes no job; what was submitted before stands.
            ReplyStoreError: the book cannot be written.
        """
        done = Submitted()
        for some in self._formed(put_off):
            left = some
            while left and done.refusal is None:
                left = await self._submit_what_fits(left, done)
        return done

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._provider.aclose()

    def _formed(self, put_off: Sequence[PutOff]) -> Iterator[list[PutOff]]:
        """Requests in the order of asking, no more together than a job takes, of one role and batch."""
        some: list[PutOff] = []
        size = 0
        for one in put_off:
            more = self._provider.size(one.request)
            full = len(some) == MOST_REQUESTS or size + more > MOST_BYTES
            if some and (full or _kind(one) != _kind(some[0])):
                yield some
                some, size = [], 0
            some.append(one)
            size += more
        if some:
            yield some

    async def _submit_what_fits(self, some: list[PutOff], done: Submitted) -> list[PutOff]:
        """Submit the first ones, as far as there is room; returns the others."""
        wants = [
            self._budget.most(self.name, most_request_tokens(one.request), self._most_output, batched=True)
            for one in some
        ]
        told = f"{some[0].request.role}, {self.name}, in a batch job"
        try:
            room = await commit(self._budget, wants, self.name, told)
        except BudgetExhaustedError as error:
            done.refusal = error
            return some
        chosen = some[: room.count]
        items = [self._item(one) for one in chosen]
        try:
            opened = self._book.open(self.name, items, run=self._run, now=self._clock.now(), held=room.held)
        except BaseException:
            room.cancel()
            raise
        if opened is None:
            room.cancel()
        else:
            job, mine = opened
            try:
                await self._create(job, {one.request.key: one.request for one in chosen}, mine)
            except ModelError:
                self._book.give_up(job)
                room.cancel()
                raise
            room.spend()
            done.awaited |= {item.sent_key: job.job_key for item in mine}
        self._note_others(chosen, done)
        return some[room.count :]

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
                longest = self._settings.limits.longest_wait_seconds
                if tried == self._settings.max_tries or error.wait_seconds > longest:
                    raise
                pause = max(wait, error.wait_seconds)
            else:
                if not self._book.submitted(job, name):
                    await self._provider.cancel(name)  # given up as lost meanwhile: its requests are free
                return
            await self._clock.sleep(pause)
            wait *= 2

    def _item(self, one: PutOff) -> Item:
        request = one.request
        return Item(
            sent_key=request.key,
            request_key=one.request_key,
            job_key="",
            role=request.role,
            batch=request.batch,
            documents=request.documents,
            reply_model=request.reply_model.__name__,
            prompt=request.prompt if self._settings.store.keep_prompts else None,
        )

    def _note_others(self, chosen: Sequence[PutOff], done: Submitted) -> None:
        """What another process has put into a job meanwhile is awaited all the same."""
        for key in {one.request.key for one in chosen} - done.awaited.keys():
            found = self._book.item(self.name, key)
            if found is not None and found.state == "open":
                done.awaited[key] = found.job_key


def _kind(one: PutOff) -> tuple[str, str]:
    return one.request.role, one.request.batch
