"""What a call costs, and what it may cost at most.

What belongs here: prices, finding a model's, and exact sums. What does not: reading price files
(`price_file.py`), caps (`budget.py`).

Prices are decimals for one million tokens. A model or a number of tokens that is not known gives no cost at
all: null, never 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from qa_pipeline.calls import Usage

_MILLION = Decimal(1_000_000)
MOST_TOKENS = 100_000_000
"""Tokens of a call beyond which its server is not believed: no model reads or writes a hundredth of it."""
_VERSION = re.compile(r"(?:-\d+)+$")
_OWN_HOSTS = {
    "gemini": ("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
    "openai": ("api.openai.com",),
}
_NAME = re.compile(r"(?P<provider>[^/]+)/(?P<model>[^@?#\s]+)(?:@(?P<host>[^/:?#\s]+))?")


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of one million tokens; `cached_input` and `cache_write` are those of `input` where None."""

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None

    @property
    def read(self) -> Decimal:
        """What a token of a prompt costs that was not in the provider's cache, and may be written there."""
        return self.input if self.cache_write is None else max(self.input, self.cache_write)

    def cost(self, fresh: int, cached: int, written: int) -> Decimal:
        """The cost of so many tokens, exactly."""
        kept = self.input if self.cached_input is None else self.cached_input
        return (fresh * self.read + cached * kept + written * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Terms:
    """Rates, and others for prompts of more than `above` tokens."""

    rates: Rates
    above: int | None = None
    long_rates: Rates | None = None

    def of(self, input_tokens: int) -> Rates:
        """The rates of a prompt of this length."""
        if self.above is None or self.long_rates is None or input_tokens <= self.above:
            return self.rates
        return self.long_rates


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model; after the day `until` it is `then`."""

    currency: str
    terms: Terms
    as_of: date
    batch_discount: Decimal | None = None
    source: str | None = None
    until: date | None = None
    then: Terms | None = None

    def cost(self, usage: Usage, day: date, *, batched: bool = False) -> Decimal | None:
        """What a call costs that took so many tokens; None where the provider does not tell them."""
        told = believed(usage)
        if told.input_tokens is None or told.output_tokens is None:
            return None
        cached = min(told.cached_tokens or 0, told.input_tokens)
        rates = self._terms(day).of(told.input_tokens)
        cost = rates.cost(told.input_tokens - cached, cached, told.output_tokens)
        return self._batched(cost) if batched else cost

    def most(self, tokens_in: int, most_tokens_out: int, day: date, *, batched: bool = False) -> Decimal:
        """What a call may cost at most, when nothing is cached and the reply is as long as can be."""
        most = self._terms(day).of(tokens_in).cost(tokens_in, 0, most_tokens_out)
        return self._batched(most) if batched else most

    def _batched(self, cost: Decimal) -> Decimal:
        return cost * (1 - (self.batch_discount or 0))

    def _terms(self, day: date) -> Terms:
        if self.then is not None and self.until is not None and day > self.until:
            return self.then
        return self.terms


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by provider and model.

    Args:
        currency: of all of them.
        listed: what providers ask at their own servers.
        named: what the user's own file says, which holds for every server and stands first.
    """

    currency: str
    listed: Mapping[str, Mapping[str, Price]]
    named: Mapping[str, Mapping[str, Price]] = field(default_factory=dict)

    def price(self, provider: str, model: str, host: str | None = None) -> Price | None:
        """The price of a model; None where nobody knows it, as that of a server of the user's own."""
        found = _match(self.named.get(provider, {}), model)
        if found is None and _is_own(provider, host):
            found = _match(self.listed.get(provider, {}), model)
        return found

    def of_name(self, name: str) -> Price | None:
        """The price of a model by its full name, `provider/model` or `provider/model@host`."""
        parts = _NAME.match(name)
        return self.price(parts["provider"], parts["model"], parts["host"]) if parts else None


def believed(usage: Usage) -> Usage:
    """The usage, without anything where a number in it cannot be true: then nothing is known of the call."""
    numbers = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens)
    return usage if all(_possible(number) for number in numbers) else Usage()


def utc_day(seconds: float) -> date:
    """The day in UTC of a Unix time."""
    return datetime.fromtimestamp(seconds, UTC).date()


def _possible(number: Any) -> bool:
    """Servers are not trusted: some send text, or fractions."""
    return number is None or (type(number) is int and 0 <= number <= MOST_TOKENS)


def _match(prices: Mapping[str, Price], model: str) -> Price | None:
    """The exact name, else the longest beginning that stands there with a star, else without its version."""
    if model in prices:
        return prices[model]
    starred = [key for key in prices if key.endswith("*") and model.startswith(key[:-1])]
    if starred:
        return prices[max(starred, key=len)]
    return prices.get(_VERSION.sub("", model))


def _is_own(provider: str, host: str | None) -> bool:
    if host is None:
        return True
    return any(host == own or host.endswith((f".{own}", f"-{own}")) for own in _OWN_HOSTS.get(provider, ()))
