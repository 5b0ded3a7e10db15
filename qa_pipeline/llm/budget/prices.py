"""What a call costs, and what it may cost at most.

Prices of the providers' own servers come with the package genai-prices; its data is never updated over the
network, so the same release gives the same costs. A model or a number of tokens that is not known gives no
cost at all: null, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.provider import place_of
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import LLMSettings, ModelSettings
from qa_pipeline.settings.plain_yaml import read_yaml

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

MOST_TOKENS = 100_000_000
"""Tokens of a call beyond which its server is not believed: no model reads or writes a hundredth of it."""
_PROVIDERS = {"gemini": "google", "openai": "openai"}


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model in the currency of its table. Times are Unix seconds: prices change."""

    terms: "ModelInfo"

    def cost(self, usage: Usage, now: float) -> Decimal | None:
        """Return the cost of a call with these tokens; None where the provider does not report them."""
        known = believed(usage)
        if known.input_tokens is None or known.output_tokens is None:
            return None
        cached = min(known.cached_tokens or 0, known.input_tokens)
        return self._cost(known.input_tokens, cached, known.output_tokens, now)

    def most(self, tokens_in: int, most_tokens_out: int, now: float) -> Decimal:
        """Return the highest cost of a call: nothing is cached and the reply has full length."""
        return self._cost(tokens_in, 0, most_tokens_out, now)

    def _cost(self, read: int, cached: int, written: int, now: float) -> Decimal:
        from genai_prices import Usage as Counts

        prices = self.terms.get_prices(datetime.fromtimestamp(now, UTC))
        # replies do not tell what was written to the cache: all that was not read from it counts so,
        # where that is dearer
        counts = [Counts(input_tokens=read, cache_read_tokens=cached, output_tokens=written)]
        if prices.cache_write_mtok is not None:
            counts.append(counts[0] + Counts(cache_write_tokens=read - cached))
        return max(prices.calc_price(count)["total_price"] for count in counts)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by provider and model.

    Args:
        currency: of all of them.
        own: what the user's file says by `provider/model`, which holds for every server and stands first.
    """

    currency: str = "USD"
    own: Mapping[str, Price] = field(default_factory=dict)

    def of_name(self, name: str) -> Price | None:
        """Return the price of a model by its full name, `provider/model@host?options`.

        None where unknown, as that of a user's own server. The listed prices are in USD.
        """
        asked, _, address = name.partition("?")[0].partition("@")
        if asked in self.own or self.currency != "USD":
            return self.own.get(asked)
        provider, _, model = asked.partition("/")
        return _listed(_PROVIDERS.get(provider, ""), model, f"https://{address}" if address else None)


_Amount = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6, allow_inf_nan=False)]


class _Tariff(BaseModel):
    """A model in a user's file: prices of one million tokens."""

    model_config = ConfigDict(extra="forbid")
    input: _Amount
    output: _Amount
    cached_input: _Amount | None = None
    as_of: date | None = Field(None, description="a note for the reader, as is `source`")
    source: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    providers: dict[str, dict[str, _Tariff]]


def load_prices(override: Path | None = None) -> PriceTable:
    """Return the providers' prices, and before them those of a file.

    A file in another currency leaves the providers' out: sums of both would mean nothing.

    Raises:
        SettingsError: the file cannot be used; says where it is wrong.
    """
    if override is None:
        return PriceTable()
    where = f"price file {override} (llm.budget.prices)"
    try:
        read = _File.model_validate(read_yaml(override.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(
            f"{where}: {place}: {first['msg']}; expected currency, and for each provider and model "
            "input, output and, if need be, cached_input as amounts for one million tokens"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{where} cannot be read as YAML in UTF-8: {error}") from error
    own = {
        f"{provider}/{model}": _price(model, tariff)
        for provider, models in read.providers.items()
        for model, tariff in models.items()
    }
    return PriceTable(read.currency, own)


def price_of(model: ModelSettings, prices: PriceTable) -> Price | None:
    """Return the price of a configured model."""
    return prices.of_name(f"{model.provider}/{model.model}{place_of(model.base_url)}")


def check_cost_caps(settings: LLMSettings, prices: PriceTable) -> None:
    """Refuse a cap on cost that could not hold, and a server of this machine with a price and without a cap.

    Raises:
        SettingsError: a model in use has no price, or has one that nothing caps.
    """
    for model in settings.hosted_models:
        is_priced = price_of(model, prices) is not None
        if settings.budget.max_cost is not None and not is_priced:
            raise SettingsError(unpriced_message(f"{model.provider}/{model.model}"))
        if model.is_local and is_priced and not settings.budget.caps_a_run:
            raise SettingsError(
                f"llm.budget.prices names a price of {model.model}, and no cap on a run is set: set "
                "llm.budget.max_cost, max_tokens or max_calls"
            )


def unpriced_message(model: str) -> str:
    """Return what to do about a cap on cost and a model without a price."""
    return (
        f"llm.budget.max_cost caps what calls cost, and nobody knows what {model} costs: name its price in a "
        "file of llm.budget.prices, or cap tokens (llm.budget.max_tokens) instead"
    )


def believed(usage: Usage) -> Usage:
    """Return the usage, empty where a number in it cannot be true: nothing is known then."""
    numbers = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens)
    # servers are not trusted, and some send text or fractions
    told = [number for number in numbers if number is not None]
    return usage if all(type(n) is int and 0 <= n <= MOST_TOKENS for n in told) else Usage()


@cache
def _listed(provider: str, model: str, url: str | None) -> Price | None:
    """Return the package's price of a model of a provider, or at an address; None without one for text."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, None if url else provider, url)
    except LookupError:
        return None
    usable = info.get_prices(datetime(2026, 1, 1, tzinfo=UTC))
    return None if usable.input_mtok is None or usable.output_mtok is None else Price(info)


def _price(model: str, tariff: _Tariff) -> Price:
    from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice

    prices = ModelPrice(
        input_mtok=tariff.input, output_mtok=tariff.output, cache_read_mtok=tariff.cached_input
    )
    return Price(ModelInfo(id=model, match=ClauseEquals(model), prices=prices))
