"""How much was used or may be used: calls, tokens, cost."""

from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.settings.base import PREFIX
from qa_pipeline.settings.llm import BudgetSettings

UNITS = ("calls", "tokens", "cost")
_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, tokens of prompts and replies, and cost in the currency of the prices."""

    calls: int = 0
    tokens: int = 0
    cost: Decimal = _ZERO

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(frozen=True, slots=True)
class Caps:
    """Most calls, tokens and cost; None is no cap. `suffix` ends the names of the settings they come from."""

    calls: int | None
    tokens: int | None
    cost: Decimal | None
    suffix: str = ""

    @classmethod
    def of_run(cls, budget: BudgetSettings) -> "Caps":
        """The caps of a run."""
        return cls(budget.max_calls, budget.max_tokens, _exact(budget.max_cost))

    @classmethod
    def of_day(cls, budget: BudgetSettings) -> "Caps":
        """The caps of a UTC day."""
        a_day = (budget.max_calls_a_day, budget.max_tokens_a_day, _exact(budget.max_cost_a_day))
        return cls(*a_day, suffix="_a_day")

    @property
    def any(self) -> bool:
        """Whether anything is capped."""
        return self.calls is not None or self.tokens is not None or self.cost is not None

    def broken_by(self, amount: Amount) -> str | None:
        """The first unit of which the amount is too much; None when it fits."""
        if self.calls is not None and amount.calls > self.calls:
            return "calls"
        if self.tokens is not None and amount.tokens > self.tokens:
            return "tokens"
        if self.cost is not None and amount.cost > self.cost:
            return "cost"
        return None

    def setting(self, unit: str) -> str:
        """The setting that caps a unit."""
        return f"llm.budget.max_{unit}{self.suffix}"

    def most(self, unit: str) -> int | Decimal:
        """The cap of a unit that is capped."""
        most: int | Decimal = getattr(self, unit)
        return most


def _exact(cost: float | None) -> Decimal | None:
    """As it was written: 0.1 is a tenth."""
    return None if cost is None else Decimal(repr(cost))


_GO_ON = "Every reply received is stored: run again to go on from here"


def refusal_of_run(
    caps: Caps, unit: str, spent: Amount, want: Amount, next_call: str, currency: str
) -> BudgetExhaustedError:
    """The cap of a run is reached."""
    cap = f"{caps.setting(unit)}: the cap of this run is {_count(caps.most(unit), unit, currency)}"
    return BudgetExhaustedError(
        f"{cap}; {_state(unit, spent, want, next_call, currency)}. {_GO_ON}, with a higher "
        f"{_variable(caps, unit)} if one run shall get further{_hint(unit, spent)}"
    )


def refusal_of_day(
    caps: Caps, unit: str, spent: Amount, want: Amount, next_call: str, currency: str, day: str, today: str
) -> BudgetExhaustedError:
    """The cap of a day is reached, by all runs together."""
    cap = (
        f"{caps.setting(unit)}: the cap of the UTC day {day} is {_count(caps.most(unit), unit, currency)} "
        "for all runs"
    )
    ahead = (
        f". This machine's clock says {today}, but calls of {day} were counted before: set the clock right, "
        f"or, if that day never was, delete its row in table spent of the reply store"
    )
    return BudgetExhaustedError(
        f"{cap}; {_state(unit, spent, want, next_call, currency)}. {_GO_ON} on another day, or with a higher "
        f"{_variable(caps, unit)}{_hint(unit, spent)}{ahead if day > today else ''}"
    )


def _state(unit: str, spent: Amount, want: Amount, next_call: str, currency: str) -> str:
    used = _count(getattr(spent, unit), unit, currency)
    if unit == "calls":
        return f"{used} are spent, {spent.tokens} tokens in all, and one more ({next_call}) is asked for"
    one_more = _count(getattr(want, unit), unit, currency)
    return f"{used} are spent in {spent.calls} calls, and the next call ({next_call}) may take {one_more}"


def _count(number: int | Decimal, unit: str, currency: str) -> str:
    if unit != "cost":
        return f"{number} {unit}"
    written = f"{number:f}"
    plain = written.rstrip("0").rstrip(".") if "." in written else written
    return f"{plain} {currency}"


def _hint(unit: str, spent: Amount) -> str:
    if unit == "calls":
        return ""
    first = "" if spent.calls else ", for not even one call fits"
    return f"{first}; a lower llm.max_output_tokens leaves room for more calls at once"


def _variable(caps: Caps, unit: str) -> str:
    name = caps.setting(unit)
    return f"{PREFIX}{name.upper().replace('.', '__')} ({name})"
