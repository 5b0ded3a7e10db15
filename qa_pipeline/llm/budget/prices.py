"""Compute the cost and the maximum cost of a call.

Prices come from the package genai-prices, in USD. Its data is never updated over the network, so a release
always gives the same costs. If a model or a number of tokens is unknown, the cost is null, never 0.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.provider import place_of
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import LLMSettings, ModelSettings

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

MOST_TOKENS = 100_000_000
"""Highest plausible token count of a call. Models read and write less than a hundredth of it."""
CURRENCY = "USD"
_PROVIDERS = {"gemini": "google", "openai": "openai"}


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model. Times are Unix seconds, because prices change."""

    terms: "ModelInfo"

    def cost(self, usage: Usage, now: float) -> Decimal | None:
        """Return the cost of a call with these tokens, or None if the provider does not report them."""
        known = believed(usage)
        if known.input_tokens is None or known.output_tokens is None:
            return None
        cached = min(known.cached_tokens or 0, known.input_tokens)
        return self._cost(known.input_tokens, cached, known.output_tokens, now)

    def most(self, tokens_in: int, most_tokens_out: int, now: float) -> Decimal:
        """Return the maximum cost of a call, without cached tokens and with a reply of full length."""
        return self._cost(tokens_in, 0, most_tokens_out, now)

    def _cost(self, read: int, cached: int, written: int, now: float) -> Decimal:
        from genai_prices import Usage as Counts

        prices = self.terms.get_prices(datetime.fromtimestamp(now, UTC))
        # replies do not report tokens written to the cache, so all tokens not read from it count
        # as written if that costs more
        counts = [Counts(input_tokens=read, cache_read_tokens=cached, output_tokens=written)]
        if prices.cache_write_mtok is not None:
            counts.append(counts[0] + Counts(cache_write_tokens=read - cached))
        return max(prices.calc_price(count)["total_price"] for count in counts)


@cache
def price_by_name(name: str) -> Price | None:
    """Return the price of a model by its full name, `provider/model@host?options`.

    It is None if unknown, as for a user's own server.
    """
    from genai_prices.data_snapshot import get_snapshot

    full_name, _, address = name.partition("?")[0].partition("@")
    provider, _, model = full_name.partition("/")
    at_home, url = (None, f"https://{address}") if address else (_PROVIDERS.get(provider, ""), None)
    try:
        _, info = get_snapshot().find_provider_model(model, None, at_home, url)
    except LookupError:
        return None
    usable = info.get_prices(datetime(2026, 1, 1, tzinfo=UTC))
    return None if usable.input_mtok is None or usable.output_mtok is None else Price(info)


def price_of(model: ModelSettings) -> Price | None:
    """Return the price of a configured model."""
    return price_by_name(f"{model.provider}/{model.model}{place_of(model.base_url)}")


def check_cost_cap(settings: LLMSettings) -> None:
    """Check that a cap on cost can be enforced.

    Raises:
        SettingsError: a model in use lacks a price.
    """
    for model in settings.hosted_models if settings.budget.max_cost is not None else ():
        if price_of(model) is None:
            raise SettingsError(unpriced_message(f"{model.provider}/{model.model}"))


def unpriced_message(model: str) -> str:
    """Return advice for a cap on cost and a model without a price."""
    return (
        f"llm.budget.max_cost caps what calls cost, and the price of {model} is not known: cap tokens "
        "(llm.budget.max_tokens) instead"
    )


def believed(usage: Usage) -> Usage:
    """Return the usage, or an empty usage if any of its numbers is implausible."""
    numbers = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens)
    # servers are untrusted, and some send text or fractions
    told = [number for number in numbers if number is not None]
    return usage if all(type(n) is int and 0 <= n <= MOST_TOKENS for n in told) else Usage()
