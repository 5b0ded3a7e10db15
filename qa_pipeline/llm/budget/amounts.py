"""How much was used or may be used: calls, tokens, cost."""

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
    """

    unit: str
    spent: Amount
    hopeless: bool


@dataclass(frozen=True, slots=True)
class Caps:
    """The most calls, tokens and cost of a run; None is no cap."""

    calls: int | None
    tokens: int | None
    cost: Decimal | None

    @classmethod
    def of_run(cls, budget: BudgetSettings) -> "Caps":
        """Return the caps of a run."""
        return cls(budget.max_calls, budget.max_tokens, _exact(budget.max_cost))

    def broken_by(self, amount: Amount) -> str | None:
        """Return the first unit of which the amount is too much; None when it fits."""
        caps = {unit: getattr(self, unit) for unit in UNITS}
        return next((u for u, cap in caps.items() if cap is not None and getattr(amount, u) > cap), None)

    def room(self, spent: Amount, reserved: Amount, want: Amount) -> NoRoom | None:
        """Return the reason why there is no room for a call; None where there is."""
        unit = self.broken_by(spent + reserved + want)
        if unit is None:
            return None
        beyond = self.broken_by(spent + want)
        return NoRoom(beyond or unit, spent, beyond is not None)

    def refusal(self, shortage: NoRoom, want: Amount, next_call: str, currency: str) -> BudgetExhaustedError:
        """Return the error of a reached cap."""
        unit, spent = shortage.unit, shortage.spent
        name, most = f"llm.budget.max_{unit}", _count(getattr(self, unit), unit, currency)
        variable = f"{PREFIX}{name.upper().replace('.', '__')} ({name})"
        used, one_more = (_count(getattr(amount, unit), unit, currency) for amount in (spent, want))
        if unit == "calls":
            state = f"{used} are spent, {spent.tokens} tokens in all, and one more ({next_call}) is asked for"
            hint = ""
        else:
            state = f"{used} are spent in {spent.calls} calls, and another ({next_call}) may take {one_more}"
            hint = "" if spent.calls else ", for not even one call fits"
            hint += "; a lower llm.max_output_tokens leaves room for more calls at once"
        return BudgetExhaustedError(
            f"{name}: the cap of this run is {most}; {state}. Every reply received is stored: run again to "
            f"go on from here, with a higher {variable} if one run shall get further{hint}"
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
