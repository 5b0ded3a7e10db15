"""Enforce hard caps on the spending of a run.

The worst case of a call is reserved before it, and unused room is returned after it. A call waits while calls
in flight may free room. It is refused if it would not fit even if these are free.
"""

import asyncio
import json
import math
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import BudgetExhaustedError, SettingsError
from qa_pipeline.llm.base import Request, json_schema
from qa_pipeline.llm.provider import server_suffix
from qa_pipeline.records import ReplyModel, Usage
from qa_pipeline.settings.base import PREFIX
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings, ModelSettings
from qa_pipeline.text.lexicon.languages import LEXICONS

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

MOST_TOKENS = 100_000_000  # highest plausible token count of a call, a hundred times that of any model
CURRENCY = "USD"
_PROVIDERS = {"gemini": "google", "openai": "openai"}


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model. Times are Unix seconds, because prices change."""

    terms: "ModelInfo"

    def cost(self, usage: Usage, now: float) -> Decimal | None:
        """Return the cost of a call with these tokens, or None if the provider does not report them."""
        checked = plausible(usage)
        if checked.input_tokens is None or checked.output_tokens is None:
            return None
        cached = min(checked.cached_tokens or 0, checked.input_tokens)
        return self._cost(checked.input_tokens, cached, checked.output_tokens, now)

    def most(self, tokens_in: int, most_tokens_out: int, now: float) -> Decimal:
        """Return the maximum cost of a call, without cached tokens and with a reply of full length."""
        return self._cost(tokens_in, 0, most_tokens_out, now)

    def _cost(self, tokens_in: int, cached: int, tokens_out: int, now: float) -> Decimal:
        """Return the most that a call can cost; `cached` input tokens are read from the provider's cache."""
        from genai_prices import Usage as Counts

        prices = self.terms.get_prices(datetime.fromtimestamp(now, UTC))
        # `input_tokens` is the total, and includes those read from the cache and those written to it
        counts = [Counts(input_tokens=tokens_in, cache_read_tokens=cached, output_tokens=tokens_out)]
        if prices.cache_write_mtok is not None:
            # replies do not report tokens written to the cache: at most all that were not read from it
            counts.append(counts[0] + Counts(cache_write_tokens=tokens_in - cached))
        return max(prices.calc_price(count)["total_price"] for count in counts)


@cache
def price_by_name(name: str) -> Price | None:
    """Return the price of a model by its full name, `provider/model@host?options`.

    It is None if unknown, as for a user's own server.
    """
    from genai_prices.data_snapshot import get_snapshot

    full_name, _, address = name.partition("?")[0].partition("@")
    provider, _, model = full_name.partition("/")
    # a server with an address is found by the address, else by its provider; "" matches no provider
    url = f"https://{address}" if address else None
    provider_id = None if address else _PROVIDERS.get(provider, "")
    try:
        _, info = get_snapshot().find_provider_model(
            model, provider=None, provider_id=provider_id, provider_api_url=url
        )
    except LookupError:
        return None
    # prices change, but any date shows if those for input and output are known
    prices = info.get_prices(datetime(2026, 1, 1, tzinfo=UTC))
    return None if prices.input_mtok is None or prices.output_mtok is None else Price(info)


def price_of(model: ModelSettings) -> Price | None:
    """Return the price of a configured model."""
    return price_by_name(f"{model.provider}/{model.model}{server_suffix(model.base_url)}")


def check_cost_cap(settings: LLMSettings) -> None:
    """Raise a SettingsError if cost is capped and a model in use lacks a price."""
    if settings.budget.max_cost is None:
        return
    for model in settings.hosted_models:
        if price_of(model) is None:
            raise SettingsError(unpriced_message(f"{model.provider}/{model.model}"))


def unpriced_message(model: str) -> str:
    """Return advice for a cap on cost and a model without a price."""
    return (
        f"llm.budget.max_cost caps what calls cost, and the price of {model} is not known: cap tokens "
        "(llm.budget.max_tokens) instead"
    )


def plausible(usage: Usage) -> Usage:
    """Return the usage, or an empty usage if any of its numbers is implausible."""
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens)
    # servers are untrusted, and some send text or fractions
    is_plausible = all(n is None or (type(n) is int and 0 <= n <= MOST_TOKENS) for n in counts)
    return usage if is_plausible else Usage()


_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between two checks for room; calls take seconds


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, tokens of prompts and replies, and cost in USD."""

    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for a call. It must be ended once, with `settle` or `cancel`."""

    budget: "Budget"
    price: Price | None
    amount: Amount

    def settle(self, usage: Usage) -> Decimal | None:
        """Count the used tokens and return the cost, or None if tokens or price are unknown.

        If the tokens are unknown or implausible, the whole reservation counts as spent.
        """
        checked = plausible(usage)
        cost = self.price.cost(checked, time.time()) if self.price else None
        used = self.amount  # the worst case
        if checked.input_tokens is not None and checked.output_tokens is not None:
            tokens = checked.input_tokens + checked.output_tokens
            used = Amount(self.amount.calls, tokens, self.amount.cost if cost is None else cost)
        self.budget.close(self, used)
        return cost

    def cancel(self) -> None:
        """Return all the room, because the call was free."""
        self.budget.close(self, Amount())


class Budget:
    """The caps of a run.

    It may be shared by threads and event loops. `spent` is the amount of settled calls.
    """

    def __init__(
        self,
        settings: BudgetSettings,
        *,
        price_by_name: Callable[[str], Price | None] = price_by_name,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.spent = Amount()
        # repr keeps the written decimal, so 0.1 is exactly a tenth
        most_cost = None if settings.max_cost is None else Decimal(repr(settings.max_cost))
        self._caps = {"calls": settings.max_calls, "tokens": settings.max_tokens, "cost": most_cost}
        self._price_by_name = price_by_name
        self._sleep = sleep
        self._lock = threading.Lock()
        self._reserved = Amount()

    async def reserve(
        self, request: Request[Any], asked_model: str, tokens_in: int, most_tokens_out: int
    ) -> Reservation:
        """Reserve room for a call, and wait while calls in flight may free some.

        Raises:
            BudgetExhaustedError: a cap is exceeded even if the calls in flight are free.
            SettingsError: cost is capped and the price of the model is unknown.
        """
        price = self._price_by_name(asked_model)
        if price is None and self._caps["cost"] is not None:
            raise SettingsError(unpriced_message(asked_model))
        most_cost = price.most(tokens_in, most_tokens_out, time.time()) if price else Decimal(0)
        want = Amount(1, tokens_in + most_tokens_out, most_cost)
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                if self._cap_exceeded_by(self.spent + self._reserved + want) is None:
                    self._reserved += want
                    return Reservation(self, price, want)
                unit = self._cap_exceeded_by(self.spent + want)  # even if calls in flight are free
            if unit is not None:
                raise self._refusal(unit, want, f"{request.role}, {asked_model}")
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def close(self, reservation: Reservation, used: Amount) -> None:
        """Close the reservation and count the amount used."""
        with self._lock:
            self._reserved -= reservation.amount
            self.spent += used

    def _cap_exceeded_by(self, amount: Amount) -> str | None:
        """Return the unit of the first cap that an amount exceeds: calls, tokens or cost; None if it fits."""
        for unit, cap in self._caps.items():
            if cap is not None and getattr(amount, unit) > cap:
                return unit
        return None

    def _refusal(self, unit: str, want: Amount, next_call: str) -> BudgetExhaustedError:
        """Return the error for a wanted amount that exceeds the cap on a unit."""
        name, spent = f"llm.budget.max_{unit}", self.spent
        variable = f"{PREFIX}{name.upper().replace('.', '__')}"  # of the environment
        return BudgetExhaustedError(
            f"{name}: the cap of this run is {self._caps[unit]}; {getattr(spent, unit)} are spent in "
            f"{spent.calls} calls, and the next may take {getattr(want, unit)} ({next_call}). Every reply "
            f"received is stored: run again to go on from here, with a higher {variable} if need be"
        )


MOST_OUTPUT = 65_536
"""Maximum tokens of a reply, including thoughts, of the models in use, unless the settings cap it."""
_AROUND = 64  # tokens that a provider may add to system instruction and prompt, such as turn markers
_TOKEN_BYTES = 3.0  # for a language that was not measured


def request_tokens(request: Request[Any]) -> int:
    """Estimate the tokens that a request sends, without its schema.

    Bytes per token were measured with o200k on manuals and law texts of the language. They are reduced by a
    tenth, so the estimate is rather too high.
    """
    lexicon = LEXICONS.get(request.language)
    return math.ceil(_text_bytes(request) / (lexicon.token_bytes if lexicon else _TOKEN_BYTES))


def most_request_tokens(request: Request[Any]) -> int:
    """Return an upper bound of a request's tokens, since a token has at least one byte.

    The excess is returned after the reply.
    """
    return _text_bytes(request) + _schema_bytes(request.reply_model) + _AROUND  # type: ignore[arg-type]


def _text_bytes(request: Request[Any]) -> int:
    return len(request.system.encode("utf-8", "replace")) + len(request.prompt.encode("utf-8", "replace"))


@cache
def _schema_bytes(reply_model: type[ReplyModel]) -> int:
    # doubled, because providers rewrite a schema and resolve its references
    return 2 * len(json.dumps(json_schema(reply_model)).encode())
