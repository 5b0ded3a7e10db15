"""How much was used or may be used: calls, tokens, cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.settings.base import PREFIX
from qa_pipeline.settings.llm import BudgetSettings

UNITS = ("calls", "tokens", "cost")


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, tokens of prompts and replies, and cost in the currency of the prices."""

    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(frozen=True, slots=True)
class NoRoom:
    """The reason why there is no room under a cap.

    Args:
        unit: of which there is none.
        spent: by all calls that have ended.
        hopeless: whether there is none even if all calls in flight come to nothing.
        day: of the cap; empty for that of a run.
    """

    unit: str
    spent: Amount
    hopeless: bool
    day: str = ""


@dataclass(frozen=True, slots=True)
class Caps:
    """The most calls, tokens and cost; None is no cap. `suffix` ends the names of their settings."""

    calls: int | None
    tokens: int | None
    cost: Decimal | None
    suffix: str = ""

    @classmethod
    def of_run(cls, budget: BudgetSettings) -> "Caps":
        """Return the caps of a run."""
        return cls(budget.max_calls, budget.max_tokens, _exact(budget.max_cost))

    @classmethod
    def of_day(cls, budget: BudgetSettings) -> "Caps":
        """Return the caps of a UTC day."""
        a_day = (budget.max_calls_a_day, budget.max_tokens_a_day, _exact(budget.max_cost_a_day))
        return cls(*a_day, suffix="_a_day")

    @property
    def any(self) -> bool:
        """Return whether anything is capped."""
        return any(getattr(self, unit) is not None for unit in UNITS)

    def broken_by(self, amount: Amount) -> str | None:
        """Return the first unit of which the amount is too much; None when it fits."""
        caps = {unit: getattr(self, unit) for unit in UNITS}
        return next((u for u, cap in caps.items() if cap is not None and getattr(amount, u) > cap), None)

    def room(
        self, spent: Amount, reserved: Amount, wants: Sequence[Amount], day: str = ""
    ) -> Amount | NoRoom:
        """Return room for as many calls as fit, the first ones first; else the reason for none."""
        room = Amount()
        for want in wants:
            unit = self.broken_by(spent + reserved + room + want)
            if unit is not None and not room.calls:
                beyond = self.broken_by(spent + want)
                return NoRoom(beyond or unit, spent, beyond is not None, day)
            if unit is not None:
                break
            room += want
        return room

    def setting(self, unit: str) -> str:
        """Return the setting that caps a unit."""
        return f"llm.budget.max_{unit}{self.suffix}"

    def refusal(
        self, shortage: NoRoom, want: Amount, next_call: str, currency: str, today: str
    ) -> BudgetExhaustedError:
        """Return the error of a reached cap: of this run, or, with a day, of all runs together."""
        unit, spent, day = shortage.unit, shortage.spent, shortage.day
        name, most = self.setting(unit), _count(getattr(self, unit), unit, currency)
        variable = f"{PREFIX}{name.upper().replace('.', '__')} ({name})"
        used, one_more = (_count(getattr(amount, unit), unit, currency) for amount in (spent, want))
        if unit == "calls":
            state = f"{used} are spent, {spent.tokens} tokens in all, and one more ({next_call}) is asked for"
            hint = ""
        else:
            state = f"{used} are spent in {spent.calls} calls, and another ({next_call}) may take {one_more}"
            hint = "" if spent.calls else ", for not even one call fits"
            hint += "; a lower llm.max_output_tokens leaves room for more calls at once"
        go_on = "Every reply received is stored: run again to go on from here"
        if not day:
            return BudgetExhaustedError(
                f"{name}: the cap of this run is {most}; {state}. {go_on}, with a higher {variable} if one "
                f"run shall get further{hint}"
            )
        if day > today:
            hint += (
                f". This machine's clock says {today}, but calls of {day} were counted before: set the clock "
                "right, or, if that day never was, delete its row in table spent of the reply store"
            )
        return BudgetExhaustedError(
            f"{name}: the cap of the UTC day {day} is {most} for all runs; {state}. {go_on} on another day, "
            f"or with a higher {variable}{hint}"
        )


def _exact(cost: float | None) -> Decimal | None:
    """Return a cost as it was written: 0.1 is a tenth."""
    return None if cost is None else Decimal(repr(cost))


def _count(number: int | Decimal, unit: str, currency: str) -> str:
    if unit != "cost":
        return f"{number} {unit}"
    written = f"{number:f}"
    plain = written.rstrip("0").rstrip(".") if "." in written else written
    return f"{plain} {currency}"
