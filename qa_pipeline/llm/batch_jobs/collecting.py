"""Collecting the replies of batch jobs that have ended.

A reply is read like one that came at once, and stored with its outcome, so that no run pays for it again.
Two kinds of results need the request, which only a run has, and are kept for it as they came: a reply that
cannot be read, so that it is asked for once more, and the refusal of a request that was too long. All of a
job is written in one transaction, by whoever collects it first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from qa_pipeline.errors import (
    OversizedRequestError,
    ReplyStoreError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.batch_jobs.book import (
    Answer,
    Item,
    ItemState,
    JobBook,
    JobStatus,
    ProviderJob,
    end_job,
    set_items,
)
from qa_pipeline.llm.budget.amounts import Amount
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.hosted import REASKED
from qa_pipeline.llm.provider import Clock, RawReply
from qa_pipeline.llm.replies import read_reply
from qa_pipeline.llm.store.store import (
    Outcome,
    Paid,
    insert_calls,
    insert_paid,
    outcome_of_error,
    outcome_of_reply,
)
from qa_pipeline.records import CallRecord, ReplyModel

if TYPE_CHECKING:
    from qa_pipeline.llm.gemini.batch_api import GeminiBatches

DOUBT_SECONDS = 600.0
"""Age at which a job that the provider does not list was never submitted; no submission takes as long."""
NO_REPLY = "the job ended without a reply to this request"


@dataclass
class Collected:
    """The result of one look at the jobs.

    Args:
        jobs: those that ended.
        stored: replies that were stored, or kept for a run.
        freed: requests that got none.
        awaited: jobs that have not ended.
        problems: what a person should know, in words.
    """

    jobs: list[ProviderJob] = field(default_factory=list)
    stored: int = 0
    freed: int = 0
    awaited: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class _Ended:
    """The results of a job, sorted by what is done with them."""

    paid: list[Paid] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    took: Amount = field(default_factory=Amount)


class Collector:
    """A collector of the batch jobs of a deployment.

    Args:
        book: the jobs.
        providers: by the name of the model that is asked.
        budget: prices, and the caps of the day.
        clock: time; tests play it.
    """

    def __init__(
        self,
        book: JobBook,
        providers: Mapping[str, "GeminiBatches"],
        budget: Budget,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._book = book
        self._providers = providers
        self._budget = budget
        self._clock = clock or Clock()

    async def collect(self) -> Collected:
        """Check every awaited job once; doing so again changes nothing.

        Raises:
            KeyRejectedError: the provider refuses the key.
            ReplyStoreError: the store cannot be used.
        """
        self._book.sweep()
        collected = Collected()
        try:
            for job in self._book.jobs(awaited=True):
                await self._look_at(job, collected)
        finally:
            for provider in self._providers.values():
                await provider.aclose()
        return collected

    async def _look_at(self, job: ProviderJob, collected: Collected) -> None:
        provider = self._providers.get(job.asked_model)
        if provider is None:
            collected.awaited += 1
            collected.problems.append(
                f"job {job.job_key} was submitted to {job.asked_model}, which is no model of the present "
                "settings: it is collected by a run with the settings of then"
            )
            return
        try:
            await self._advance(provider, job, collected)
        except TransientModelError as error:  # another look, another time
            collected.awaited += 1
            collected.problems.append(f"job {job.job_key}: {error}")

    async def _advance(self, provider: "GeminiBatches", job: ProviderJob, collected: Collected) -> None:
        provider_name = job.provider_name or await provider.find(job.job_key)
        if provider_name is None:
            # a submission that was cut off may still be on its way
            lost = self._clock.now() - job.created_at >= DOUBT_SECONDS
            look = JobStatus(ended=lost, problem="it was never submitted")
        else:
            if job.provider_name is None:
                self._book.submitted(job, provider_name)
                job = replace(job, state="submitted", provider_name=provider_name)
            look = await provider.look(provider_name)
        if look.ended:
            self._end(job, look, collected, submitted=provider_name is not None)
        else:
            collected.awaited += 1

    def _end(self, job: ProviderJob, look: JobStatus, collected: Collected, *, submitted: bool) -> None:
        items = self._book.items(job)
        ended = _Ended()
        for item in items:
            self._sort_result(job, item, look, ended, submitted=submitted)
        came = len(ended.paid) + sum(item.state == "answered" for item in ended.items)
        state = replace(
            job, state="collected" if came else "failed", ended_at=self._clock.now(), detail=look.problem
        )

        def work(connection: sa.Connection) -> bool:
            if not end_job(connection, state):
                return False
            insert_paid(connection, ended.paid, self._clock.now())
            insert_calls(connection, ended.calls)
            set_items(connection, job.asked_model, ended.items, [paid.request_id[1] for paid in ended.paid])
            return True

        if not self._book.database.transact(work):
            return
        if job.reservation is not None:
            self._budget.settle_day(job.reservation, ended.took)
            self._budget.end()  # at once: a job is collected once, and nobody would count it again
        collected.jobs.append(state)
        collected.stored += came
        collected.freed += len(items) - came
        if look.problem is not None:
            collected.problems.append(f"job {job.job_key}: {look.problem}; what got no reply is free again")

    def _sort_result(
        self, job: ProviderJob, item: Item, look: JobStatus, ended: _Ended, *, submitted: bool
    ) -> None:
        result = look.results.get(item.sent_key, look.results.get(item.position))
        if result is None:
            attempts = item.attempts if submitted else item.attempts - 1
            message = look.problem or NO_REPLY
            ended.items.append(replace(item, state="free", attempts=attempts, failure=message))
        elif isinstance(result, OversizedRequestError):
            answer = Answer("", reason=result.reason, detail=result.detail)
            ended.items.append(replace(item, state="answered", answer=answer))
        elif isinstance(result, RawReply | UnreadableReplyError):
            self._sort_reply(job, item, result, ended)
        else:
            # free for another try, or refused for good, as the same error would be of a call
            state: ItemState = "free" if isinstance(result, TransientModelError) else "refused"
            ended.items.append(replace(item, state=state, failure=str(result)))

    def _sort_reply(
        self, job: ProviderJob, item: Item, result: RawReply | UnreadableReplyError, ended: _Ended
    ) -> None:
        outcome = _read_outcome(item, result)
        call = self._call_record(job, item, outcome)
        ended.calls.append(call)
        ended.took += self._amount_taken(job, call)
        if item.sent_key == item.request_key and outcome.outcome not in REASKED:
            request_id = (job.asked_model, item.request_key)
            ended.paid.append(Paid(request_id, item.role, item.batch, item.documents, outcome))
        else:
            is_unreadable = isinstance(result, UnreadableReplyError)
            reason, detail = (outcome.outcome, outcome.detail) if is_unreadable else (None, None)
            answer = Answer(outcome.raw, outcome.model, outcome.usage, reason, detail, call)
            ended.items.append(replace(item, state="answered", answer=answer))

    def _call_record(self, job: ProviderJob, item: Item, outcome: Outcome) -> CallRecord:
        cost = self._budget.cost(job.asked_model, outcome.usage, batched=True)
        return CallRecord(
            call_id=f"{job.job_key}-{item.position}",
            run=job.run,
            batch=item.batch,
            role=item.role,
            asked_model=job.asked_model,
            replied_model=outcome.model,
            request_key=item.request_key,
            started_at=job.created_at,
            seconds=self._clock.now() - job.created_at,
            tries=item.attempts,
            outcome=outcome.outcome,
            repair=outcome.repair,
            usage=outcome.usage,
            cost=None if cost is None else float(cost),
            currency=None if cost is None else self._budget.currency,
            prompt=item.prompt,
        )

    def _amount_taken(self, job: ProviderJob, call: CallRecord) -> Amount:
        """Return what a reply took of its job's room; its share where the provider does not report it."""
        if job.reservation is None:
            return Amount()
        reserved = job.reservation.amount
        share = Amount(1, reserved.tokens // job.requests, reserved.cost / job.requests)
        cost = self._budget.cost(job.asked_model, call.usage, batched=True)
        return self._budget.amount_taken(share, call.usage, cost)


def _read_outcome(item: Item, result: RawReply | UnreadableReplyError) -> Outcome:
    """Return the outcome of a result, read as if it had come at once."""
    if isinstance(result, UnreadableReplyError):
        return outcome_of_error(result)
    try:
        value, repair = read_reply(result.text, _reply_model(item.reply_model))
    except UnreadableReplyError as error:
        error.model, error.usage = result.model, result.usage
        return outcome_of_error(error)
    reasked = item.sent_key != item.request_key
    return outcome_of_reply(value, result.text, result.model, result.usage, "reasked" if reasked else repair)


def _reply_model(name: str) -> type[ReplyModel]:
    models = [*ReplyModel.__subclasses__()]
    for model in models:  # which grows by the kinds of each kind
        if model.__name__ == name:
            return model
        models += model.__subclasses__()
    raise ReplyStoreError(f"the store awaits a reply of a kind {name}: use the release that asked for it")
