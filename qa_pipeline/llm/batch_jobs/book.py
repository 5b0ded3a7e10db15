"""The book of batch jobs: what was submitted, what is awaited, and what came of it.

A job and its requests are in the book before it is submitted, under a key that is also its name at the
provider. Any process that asks later sees that a request is in a job, and does not send it again.
"""

import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import TypeAdapter

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.budget.daily import DayReservation
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import KEYS_A_STATEMENT, PROVIDER_ITEMS, PROVIDER_JOBS, REPLIES
from qa_pipeline.records import CallRecord, Role, Usage

JobState = Literal["submitting", "submitted", "collected", "failed"]
ItemState = Literal["open", "answered", "free", "refused"]
"""The state of a request: `open` in a job that has not ended; `answered` where a run has to read the reply;
`free` without a reply, for a run to send again; `refused` with an error that no other try would change."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that is kept for a run, because it needs the request, such as one to be asked once more.

    Args:
        text: as it came.
        model: the model that says it replied.
        usage: tokens.
        reason: reason code, where the provider itself says that the reply cannot be used.
        detail: of that reason.
        call: the call that it took; None where nothing was charged.
    """

    text: str
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    reason: str | None = None
    detail: str | None = None
    call: CallRecord | None = None

    def written(self) -> str:
        """Return the answer as JSON in ASCII, which any database holds whatever the reply contains."""
        return json.dumps(asdict(self))

    @classmethod
    def restored(cls, text: str) -> "Answer":
        """Return the answer that `written` wrote."""
        parts: dict[str, Any] = json.loads(text)
        call = parts.pop("call")
        if call is not None:
            call = CallRecord(**(call | {"usage": Usage(**call["usage"])}))
        return cls(**(parts | {"usage": Usage(**parts["usage"]), "call": call}))


@dataclass(frozen=True, slots=True)
class Item:
    """A request in a job, or left over from one.

    Args:
        sent_key: of the request as it was sent, which may ask another one once more.
        request_key: of the one that was asked.
        job_key: of the latest job it was in.
        role: whom it is for.
        batch: the batch it is for.
        documents: ids of those it shows.
        reply_model: name of the class of its reply.
        state: see `ItemState`.
        position: in that job, from 0.
        attempts: how many jobs it was in.
        failure: why the latest one brought no reply.
        answer: the reply.
        prompt: only where the settings want prompts kept.
    """

    sent_key: str
    request_key: str
    job_key: str
    role: Role
    batch: str
    documents: tuple[str, ...]
    reply_model: str
    state: ItemState = "open"
    position: int = 0
    attempts: int = 1
    failure: str | None = None
    answer: Answer | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderJob:
    """A batch job.

    Args:
        job_key: drawn once; the job's display name at the provider.
        asked_model: name of the model.
        role: of all its requests.
        batch: of all its requests.
        run: that submitted it.
        state: see `JobState`.
        requests: how many.
        provider_name: what the provider calls it; None until that is known.
        created_at: Unix seconds.
        ended_at: when its end was seen.
        detail: why it failed.
        reservation: room it holds under the caps of a day.
    """

    job_key: str
    asked_model: str
    role: Role
    batch: str
    run: str
    state: JobState
    requests: int
    provider_name: str | None = None
    created_at: float = 0.0
    ended_at: float | None = None
    detail: str | None = None
    reservation: DayReservation | None = None


_LOCK = 7206137
"""Any number; that of the advisory lock under which jobs are opened."""
_RESERVATION = TypeAdapter(DayReservation)
_AWAITED = ("submitting", "submitted")


class JobBook:
    """The book in a database. Every method raises ReplyStoreError when that cannot be used."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def item(self, asked_model: str, sent_key: str) -> Item | None:
        """Return the record of a request."""
        condition = _is_item(asked_model, [sent_key])
        return self.database.read(lambda connection: next(iter(_items(connection, condition)), None))

    def open(
        self,
        asked_model: str,
        items: Sequence[Item],
        *,
        run: str,
        now: float,
        reservation: DayReservation | None,
    ) -> tuple[ProviderJob, list[Item]] | None:
        """Note a job of those items that are in no other and whose replies have not come meanwhile.

        Returns:
            The job and its items; None when there is nothing left to submit.
        """

        def work(connection: sa.Connection) -> tuple[ProviderJob, list[Item]] | None:
            if self.database.is_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            sent = _in_portions([item.sent_key for item in items])
            items_by_key = {
                sent_item.sent_key: sent_item
                for some in sent
                for sent_item in _items(connection, _is_item(asked_model, some))
            }
            of_model = sa.select(REPLIES.c.request_key).where(REPLIES.c.asked_model == asked_model)
            stored = {
                key
                for some in _in_portions([item.request_key for item in items])
                for key in connection.scalars(of_model.where(REPLIES.c.request_key.in_(some)))
            }
            chosen = []
            for item in items:
                earlier = items_by_key.get(item.sent_key)
                if item.request_key not in stored and (earlier is None or earlier.state == "free"):
                    chosen.append(replace(item, attempts=1 if earlier is None else earlier.attempts + 1))
            if not chosen:
                return None
            first, count = chosen[0], len(chosen)
            key = f"qa-pipeline-{first.role}-{uuid.uuid4().hex}"
            placed_items = [replace(item, job_key=key, position=n) for n, item in enumerate(chosen)]
            job = ProviderJob(key, asked_model, first.role, first.batch, run, "submitting", count)
            job = replace(job, created_at=now, reservation=reservation)
            _insert_items(connection, asked_model, placed_items)
            row = _columns(job)
            del row["reservation"]
            row["reserved"] = None if reservation is None else _RESERVATION.dump_json(reservation).decode()
            connection.execute(PROVIDER_JOBS.insert(), row)
            return job, placed_items

        return self.database.transact(work)

    def submitted(self, job: ProviderJob, provider_name: str) -> bool:
        """Note that the provider has a job; return False when the job was given up meanwhile."""
        noted = _update_awaited(job).values(state="submitted", provider_name=provider_name)
        return self.database.transact(lambda connection: connection.execute(noted).rowcount) > 0

    def give_up(self, job: ProviderJob) -> bool:
        """Erase a job that the provider never got; its requests may be submitted again.

        Returns:
            Whether it was there, and not submitted.
        """
        deletion = PROVIDER_JOBS.delete().where(
            PROVIDER_JOBS.c.job_key == job.job_key, PROVIDER_JOBS.c.state == "submitting"
        )

        def work(connection: sa.Connection) -> bool:
            if not connection.execute(deletion).rowcount:
                return False
            # they were in no job: the attempt does not count
            freed = {"state": "free", "attempts": PROVIDER_ITEMS.c.attempts - 1}
            connection.execute(
                PROVIDER_ITEMS.update().where(PROVIDER_ITEMS.c.job_key == job.job_key).values(freed)
            )
            return True

        return self.database.transact(work)

    def drop(self, asked_model: str, sent_key: str) -> None:
        """Erase a request whose outcome has been reported; asked again, it starts anew."""
        self.database.transact(lambda connection: _drop_items(connection, asked_model, [sent_key]))

    def jobs(self, *, awaited: bool = False) -> list[ProviderJob]:
        """Return all jobs, or the awaited ones; the oldest first."""
        chosen = sa.select(PROVIDER_JOBS).order_by(PROVIDER_JOBS.c.created_at, PROVIDER_JOBS.c.job_key)
        if awaited:
            chosen = chosen.where(PROVIDER_JOBS.c.state.in_(_AWAITED))
        return self.database.read(
            lambda connection: [_job(row) for row in connection.execute(chosen).mappings()]
        )

    def items(self, job: ProviderJob) -> list[Item]:
        """Return the requests of a job without a result yet."""
        condition = sa.and_(PROVIDER_ITEMS.c.job_key == job.job_key, PROVIDER_ITEMS.c.state == "open")
        return self.database.read(lambda connection: _items(connection, condition))

    def ended_since(self, moment: float) -> dict[str, str]:
        """Return batches with nothing awaited any more and something arrived, or failed, since a moment.

        Returns:
            The key of the job of each that ended last.
        """
        ended = sa.select(PROVIDER_JOBS.c.batch, PROVIDER_JOBS.c.job_key).where(
            PROVIDER_JOBS.c.ended_at >= moment
        )
        ordered = ended.order_by(PROVIDER_JOBS.c.ended_at, PROVIDER_JOBS.c.job_key)

        def work(connection: sa.Connection) -> dict[str, str]:
            waiting = _waiting(connection)
            latest = {row.batch: row.job_key for row in connection.execute(ordered)}
            return {batch: key for batch, key in latest.items() if batch not in waiting}

        return self.database.read(work)

    def waiting(self) -> set[str]:
        """Return the batches of which something is awaited."""
        return self.database.read(_waiting)

    def sweep(self) -> None:
        """Erase requests whose replies are stored: nobody asks for them again."""
        stored = sa.exists().where(
            REPLIES.c.asked_model == PROVIDER_ITEMS.c.asked_model,
            REPLIES.c.request_key == PROVIDER_ITEMS.c.request_key,
        )
        done = PROVIDER_ITEMS.delete().where(stored, PROVIDER_ITEMS.c.state != "open")
        self.database.transact(lambda connection: connection.execute(done).rowcount)


def _update_awaited(job: ProviderJob) -> sa.Update:
    return PROVIDER_JOBS.update().where(
        PROVIDER_JOBS.c.job_key == job.job_key, PROVIDER_JOBS.c.state.in_(_AWAITED)
    )


def end_job(connection: sa.Connection, job: ProviderJob) -> bool:
    """Note the end of an awaited job; return False when another process has done it."""
    values = {name: getattr(job, name) for name in ("state", "ended_at", "detail", "provider_name")}
    return connection.execute(_update_awaited(job).values(values)).rowcount > 0


def set_items(
    connection: sa.Connection, asked_model: str, items: Sequence[Item], finished_keys: Sequence[str]
) -> None:
    """Write what has become of requests, and erase those that are stored."""
    _drop_items(connection, asked_model, finished_keys)
    _insert_items(connection, asked_model, items)


def erase_documents(connection: sa.Connection, documents: Collection[str]) -> int:
    """Erase the requests that show any of the documents, though not from their jobs; return how many."""
    seen = [
        PROVIDER_ITEMS.c.documents.contains(json.dumps(document), autoescape=True) for document in documents
    ]
    if not seen:
        return 0
    return connection.execute(PROVIDER_ITEMS.delete().where(sa.or_(*seen))).rowcount


def _waiting(connection: sa.Connection) -> set[str]:
    awaited = sa.select(PROVIDER_JOBS.c.batch).where(PROVIDER_JOBS.c.state.in_(_AWAITED))
    return set(connection.scalars(awaited))


def _drop_items(connection: sa.Connection, asked_model: str, keys: Sequence[str]) -> None:
    for some in _in_portions(keys):
        connection.execute(PROVIDER_ITEMS.delete().where(_is_item(asked_model, some)))


def _in_portions(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[start : start + KEYS_A_STATEMENT] for start in range(0, len(keys), KEYS_A_STATEMENT))


def _is_item(asked_model: str, sent_keys: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.and_(PROVIDER_ITEMS.c.asked_model == asked_model, PROVIDER_ITEMS.c.sent_key.in_(sent_keys))


def _items(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[Item]:
    return [_item(row) for row in connection.execute(sa.select(PROVIDER_ITEMS).where(condition)).mappings()]


def _item(row: sa.RowMapping) -> Item:
    columns: dict[str, Any] = dict(row)
    del columns["asked_model"]
    answer = columns["answer"]
    read = {
        "documents": tuple(json.loads(columns["documents"])),
        "answer": None if answer is None else Answer.restored(answer),
    }
    return Item(**(columns | read))


def _insert_items(connection: sa.Connection, asked_model: str, items: Sequence[Item]) -> None:
    """Write items in place of what is there of them."""
    _drop_items(connection, asked_model, [item.sent_key for item in items])
    if not items:
        return
    rows = [
        _columns(item)
        | {
            "asked_model": asked_model,
            "documents": json.dumps(item.documents),
            "answer": None if item.answer is None else item.answer.written(),
        }
        for item in items
    ]
    connection.execute(PROVIDER_ITEMS.insert(), rows)


def _job(row: sa.RowMapping) -> ProviderJob:
    columns: dict[str, Any] = dict(row)
    reservation = columns.pop("reserved")
    return ProviderJob(
        reservation=None if reservation is None else _RESERVATION.validate_json(reservation), **columns
    )


def _columns(record: Item | ProviderJob) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


ItemResult = RawReply | ModelError
"""The result of one request: a reply, or the error as if it had been sent alone."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The state of a job.

    Args:
        ended: whether nothing changes any more.
        problem: why it ended without a reply to every request; None where it did not.
        results: by key of the sent request, or by its place in the job where a result names none; a request
            without one got none.
    """

    ended: bool
    problem: str | None = None
    results: Mapping[str | int, ItemResult] = field(default_factory=dict)
