"""A batch job and its items as they stand in the store.

What belongs here: the records, and an answer's form as JSON. What does not: SQL (`jobs.py`).
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from qa_pipeline.calls import CallRecord, Role, Usage
from qa_pipeline.llm.money.day_tables import Held

JobState = Literal["submitting", "submitted", "collected", "failed"]
ItemState = Literal["open", "answered", "free", "refused"]
"""In a job that has not ended; replied to, for a run to read; without a reply, for a run to send again; with
an error that no other try would change, for a run to tell."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that only a run can make something of, such as one that is to be asked once more.

    Args:
        text: as it came.
        model: the model that says it replied.
        usage: tokens.
        reason: of a reply that the provider itself says cannot be used.
        detail: of the same.
        call: the call that it took; None where nothing was charged.
    """

    text: str
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    reason: str | None = None
    detail: str | None = None
    call: CallRecord | None = None

    def written(self) -> str:
        """As JSON in ASCII, which any database holds whatever the reply is made of."""
        return json.dumps(asdict(self))

    @classmethod
    def restored(cls, text: str) -> "Answer":
        """What `written` wrote."""
        parts: dict[str, Any] = json.loads(text)
        call = parts.pop("call")
        if call is not None:
            call = CallRecord(**(call | {"usage": Usage(**call["usage"])}))
        return cls(**(parts | {"usage": Usage(**parts["usage"]), "call": call}))


@dataclass(frozen=True, slots=True)
class Item:
    """One request in a job, or left over from one.

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
    """One batch job.

    Args:
        job_key: drawn once; the job's display name at the provider.
        asked_model: name of the model.
        role: of all its requests.
        batch: of all its requests.
        run: that submitted it.
        state: how it stands.
        requests: how many.
        provider_name: what the provider calls it; None until that is known.
        created_at: Unix seconds.
        ended_at: when its end was seen.
        detail: why it failed.
        held: room it holds under the caps of a day.
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
    held: Held | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing is awaited from it."""
        return self.state in ("collected", "failed")
