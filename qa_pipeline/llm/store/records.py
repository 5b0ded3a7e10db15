"""What a store of replies holds and what it is asked: the protocol, and the records that cross it.

What belongs here: shapes. What does not: SQL (`sql.py`), event loops (`front.py`).

A store is a map from a request to its outcome in which nothing is ever replaced. Beside it stand claims: who
is asking for what at present, so that nobody else asks for the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from qa_pipeline.calls import CallRecord, Repair, Usage

RequestId = tuple[str, str]
"""Name of the asked model, and `Request.key`."""
REPLIED = "replied"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What asking came to: a reply, or a failure that was paid for.

    Args:
        outcome: `replied`, or the reason code of a failure.
        raw: the text as it came.
        value: the reply as JSON of its model; None for a failure.
        detail: of a failure.
        model: the model that says it replied.
        repair: how the reply became readable.
        usage: tokens.
    """

    outcome: str
    raw: str
    value: str | None = None
    detail: str | None = None
    model: str | None = None
    repair: Repair = "none"
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Paid:
    """An outcome to store, whom it was asked for, and the calls that it took."""

    request_id: RequestId
    role: str
    batch: str
    documents: tuple[str, ...]
    outcome: Outcome
    calls: tuple[CallRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """Everything that is written in one transaction, in this order.

    Args:
        paid: outcomes to store; their claims are given up.
        released: claims to give up of which nothing came.
        calls: those that nothing came of.
        seen: documents that requests show, of those calls and of replies that are stored already.
        wanted: requests to claim.
    """

    paid: Sequence[Paid] = ()
    released: Sequence[RequestId] = ()
    calls: Sequence[CallRecord] = ()
    seen: Sequence[tuple[RequestId, str]] = ()
    wanted: Collection[RequestId] = ()

    def __bool__(self) -> bool:
        return bool(self.paid or self.released or self.calls or self.seen or self.wanted)


@dataclass(frozen=True, slots=True)
class Written:
    """What a round came to.

    Args:
        stored: what is in the store now, of all that was paid, and of what was wanted as far as it is there;
        an
            outcome that another process stored before stays.
        claimed: what this owner is to ask.
    """

    stored: dict[RequestId, Outcome]
    claimed: frozenset[RequestId]


class ReplyStore(Protocol):
    """A store of replies, asked for many requests at once. One thread at a time uses it.

    Every method raises ReplyStoreError when the store cannot be used.
    """

    @property
    def place(self) -> str:
        """The file or address, for messages."""
        ...

    @property
    def beat_seconds(self) -> float | None:
        """How often `beat` must be called while anything is claimed; None where claims need no beat."""
        ...

    def find(self, wanted: Collection[RequestId]) -> dict[RequestId, Outcome]:
        """What is stored, of all that is wanted; waits for nobody."""
        ...

    def unseen(self, shown: Mapping[RequestId, Collection[str]]) -> list[tuple[RequestId, str]]:
        """Which documents are not noted yet, of those that requests show."""
        ...

    def write(self, round_: Round) -> Written:
        """Store, release and claim in one transaction, durable when this returns."""
        ...

    def beat(self) -> None:
        """Say that this owner is alive."""
        ...

    def close(self) -> None:
        """Give up what is claimed and close; a later use opens it again."""
        ...
