"""What a person is told when a cap is reached: which one, what was spent, and how to go on.

What belongs here: the words. What does not: deciding that a cap is reached.
"""

from decimal import Decimal

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.money.amounts import Amount, Caps
from qa_pipeline.settings.group import PREFIX

_GO_ON = "Every reply received is stored: run again to go on from here"


def refusal_of_run(
    caps: Caps, unit: str, spent: Amount, want: Amount, told: str, currency: str
) -> BudgetExhaustedError:
    """The cap of a run is reached."""
    cap = f"{caps.setting(unit)}: the cap of this run is {_count(caps.most(unit), unit, currency)}"
    return BudgetExhaustedError(
        f"{cap}; {_state(unit, spent, want, told, currency)}. {_GO_ON}, with a higher "
        f"{_variable(caps, unit)} if one run shall get further{_hint(unit, spent)}"
    )


def refusal_of_day(
    caps: Caps, unit: str, spent: Amount, want: Amount, told: str, currency: str, day: str, today: str
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
        f"{cap}; {_state(unit, spent, want, told, currency)}. {_GO_ON} on another day, or with a higher "
        f"{_variable(caps, unit)}{_hint(unit, spent)}{ahead if day > today else ''}"
    )


def _state(unit: str, spent: Amount, want: Amount, told: str, currency: str) -> str:
    used = _count(getattr(spent, unit), unit, currency)
    if unit == "calls":
        return f"{used} are spent, {spent.tokens} tokens in all, and one more ({told}) is asked for"
    one_more = _count(getattr(want, unit), unit, currency)
    return f"{used} are spent in {spent.calls} calls, and the next call ({told}) may take {one_more}"


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
