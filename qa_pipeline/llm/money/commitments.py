"""Room for a batch job, which holds it longer than any process lives.

What belongs here: taking room for as many requests as fit, and giving the rest of it back when the job has
ended. What does not: caps (`budget.py`, `day_tables.py`), jobs (`llm.batches`).

All requests of a job are in flight at once, so the worst case of each is taken, at the batch price. For the
caps of the run that submits, it counts as spent when the job is submitted: nobody can wait for the end. For
the caps of the day it is held as `Held`, which is kept with the job; what the replies did not take is given
back to that day when they are collected, in whatever process.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.money.amounts import Amount
from qa_pipeline.llm.money.budget import Budget, Reservation
from qa_pipeline.llm.money.day_tables import Held, Settled


@dataclass(frozen=True, slots=True)
class Commitment:
    """Room for the first `count` requests of those asked for; one of the two methods is called."""

    budget: Budget
    reservations: Sequence[Reservation]
    held: Held | None

    @property
    def count(self) -> int:
        """How many requests have room."""
        return len(self.reservations)

    def spend(self) -> None:
        """They were submitted, or may have been."""
        for reservation in self.reservations:
            reservation.spend()

    def cancel(self) -> None:
        """They were not submitted."""
        for reservation in self.reservations:
            reservation.cancel()
        if self.held is not None:
            give_back(self.budget, self.held, Amount())


async def commit(budget: Budget, wants: Sequence[Amount], asked_model: str, told: str) -> Commitment:
    """Take room for as many requests as fit, the first ones first.

    Raises:
        BudgetExhaustedError: not even the first one fits.
        SettingsError: cost is capped and the model has no price.
        ReplyStoreError: the caps of the day cannot be read.
    """
    reservations: list[Reservation] = []
    for want in wants:
        try:
            reservations.append(budget.take_now(want, asked_model, told))
        except BudgetExhaustedError:
            if not reservations:
                raise
            break
    try:
        return await _of_day(budget, reservations, told)
    except BaseException:
        for reservation in reservations:
            reservation.cancel()
        raise


async def _of_day(budget: Budget, reservations: list[Reservation], told: str) -> Commitment:
    """Halve what the day has no room for until it fits."""
    if budget.days is None:
        return Commitment(budget, tuple(reservations), None)
    while True:
        want = sum((reservation.held for reservation in reservations), Amount())
        try:
            return Commitment(budget, tuple(reservations), await budget.days.take_now(want, told))
        except BudgetExhaustedError:
            if len(reservations) == 1:
                raise
        half = len(reservations) // 2
        for reservation in reservations[half:]:
            reservation.cancel()
        del reservations[half:]


def give_back(budget: Budget, held: Held, took: Amount) -> None:
    """Count what a job took on the day it was submitted, in place of what it held.

    It is written when this returns: a job is collected once, and nobody would count it again.

    Raises:
        ReplyStoreError: it cannot be written.
    """
    if budget.days is not None:
        budget.days.settle(Settled(held, took))
        budget.end()


def written(held: Held | None) -> str | None:
    """As JSON, exactly."""
    if held is None:
        return None
    amount = held.amount
    room = {"calls": amount.calls, "tokens": amount.tokens, "cost": str(amount.cost)}
    named = {"reservation_id": held.reservation_id, "expires_at": held.expires_at}
    return json.dumps({"day": held.day} | named | room)


def restored(text: str | None) -> Held | None:
    """What `written` wrote."""
    if text is None:
        return None
    parts = json.loads(text)
    amount = Amount(parts["calls"], parts["tokens"], Decimal(parts["cost"]))
    return Held(parts["day"], amount, parts["expires_at"], parts["reservation_id"])
