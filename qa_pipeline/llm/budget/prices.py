"""What a call costs, and what it may cost at most.

Prices of the providers' own servers come with the package genai-prices; its data is never updated over the
network, so the same release gives the same costs. Of a price that changes with time, the one in force at the
beginning of the UTC day of the call counts. A model or a number of tokens that is not known gives no cost at
all: null, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import SettingsError
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import HOSTED, LLMSettings, ModelSettings
from qa_pipeline.settings.plain_yaml import read_yaml

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

MOST_TOKENS = 100_000_000
"""Tokens of a call beyond which its server is not believed: no model reads or writes a hundredth of it."""
_PROVIDERS = {"gemini": "google", "openai": "openai"}
_OWN_HOSTS = {
    "gemini": ("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
    "openai": ("api.openai.com",),
}


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model, as USD or the currency of a user's file for one million tokens."""

    terms: "ModelInfo | ModelPrice"

    def cost(self, usage: Usage, day: date) -> Decimal | None:
        """Return the cost of a call with these tokens; None where the provider does not report them."""
        usage_believed = believed(usage)
        if usage_believed.input_tokens is None or usage_believed.output_tokens is None:
            return None
        cached = min(usage_believed.cached_tokens or 0, usage_believed.input_tokens)
        return self._cost(usage_believed.input_tokens, cached, usage_believed.output_tokens, day)

    def most(self, tokens_in: int, most_tokens_out: int, day: date) -> Decimal:
        """Return the highest cost of a call: nothing is cached and the reply has full length."""
        return self._cost(tokens_in, 0, most_tokens_out, day)

    def _cost(self, read: int, cached: int, written: int, day: date) -> Decimal:
        from genai_prices import Usage as Counts

        prices = self._prices(day)
        # replies do not tell what was written to the cache: all that was not read from it counts so,
        # where that is dearer
        counts = [Counts(input_tokens=read, cache_read_tokens=cached, output_tokens=written)]
        if prices.cache_write_mtok is not None:
            counts.append(counts[0] + Counts(cache_write_tokens=read - cached))
        return max(prices.calc_price(count)["total_price"] for count in counts)

    def _prices(self, day: date) -> "ModelPrice":
        from genai_prices.types import ModelPrice

        if isinstance(self.terms, ModelPrice):
            return self.terms
        return self.terms.get_prices(datetime.combine(day, time(), UTC))


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by provider and model.

    Args:
        currency: of all of them.
        by_provider: what the user's own file says, which holds for every server and stands first.
        listed: whether the providers' own prices follow; they are in USD.
    """

    currency: str = "USD"
    by_provider: Mapping[str, Mapping[str, Price]] = field(default_factory=dict)
    listed: bool = True

    def price(self, provider: str, model: str, host: str | None = None) -> Price | None:
        """Return the price of a model; None where unknown, as that of a user's own server."""
        listed_price = self.by_provider.get(provider, {}).get(model)
        if listed_price is None and self.listed and _is_own(provider, host):
            return _listed(_PROVIDERS[provider], model)
        return listed_price

    def of_name(self, name: str) -> Price | None:
        """Return the price of a model by its full name, `provider/model` or `provider/model@host`."""
        provider, _, rest = name.partition("/")
        model, _, address = rest.partition("@")
        return self.price(provider, model, address.partition("/")[0].partition(":")[0] or None)


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
    from genai_prices.types import ModelPrice

    read = _read(override)
    configured = {
        provider: {
            name: Price(
                ModelPrice(
                    input_mtok=model_prices.input,
                    output_mtok=model_prices.output,
                    cache_read_mtok=model_prices.cached_input,
                )
            )
            for name, model_prices in models.items()
        }
        for provider, models in read.providers.items()
    }
    return PriceTable(read.currency, configured, listed=read.currency == "USD")


def price_of(model: ModelSettings, prices: PriceTable) -> Price | None:
    """Return the price of a configured model."""
    host = urlsplit(model.base_url).hostname or model.base_url if model.base_url else None
    return prices.price(model.provider, model.model, host)


def check_cost_caps(settings: LLMSettings, prices: PriceTable) -> None:
    """Refuse a cap on cost that could not hold, and a server of this machine with a price and without a cap.

    Raises:
        SettingsError: a model in use has no price, or has one that nothing caps.
    """
    for model in () if settings.budget.caps_a_run else settings.models:
        if model.is_local and price_of(model, prices) is not None:
            raise SettingsError(
                f"llm.budget.prices names a price of {model.model}, and no cap on a run is set: set "
                "llm.budget.max_cost, max_tokens or max_calls"
            )
    for model in settings.models if settings.budget.max_cost is not None else ():
        if model.provider in HOSTED and price_of(model, prices) is None:
            raise SettingsError(unpriced_message(f"{model.provider}/{model.model}"))


def unpriced_message(model: str) -> str:
    """Return what to do about a cap on cost and a model without a price."""
    return (
        f"llm.budget.max_cost caps what calls cost, and nobody knows what {model} costs: name its price in a "
        "file of llm.budget.prices, or cap tokens (llm.budget.max_tokens) instead"
    )


def believed(usage: Usage) -> Usage:
    """Return the usage, empty where a number in it cannot be true: nothing is known then."""
    numbers = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thought_tokens)
    return usage if all(_possible(number) for number in numbers) else Usage()


def utc_day(seconds: float) -> date:
    """Return the day in UTC of a Unix time."""
    return datetime.fromtimestamp(seconds, UTC).date()


def _possible(number: Any) -> bool:
    """Return whether a number is possible: servers are not trusted, and some send text or fractions."""
    return number is None or (type(number) is int and 0 <= number <= MOST_TOKENS)


def _is_own(provider: str, host: str | None) -> bool:
    if provider not in _PROVIDERS:
        return False
    own_hosts = _OWN_HOSTS[provider]
    return host is None or any(
        host == own_host or host.endswith((f".{own_host}", f"-{own_host}")) for own_host in own_hosts
    )


@cache
def _listed(provider: str, model: str) -> Price | None:
    """Return the package's price of a model of a provider; None where it has none for text."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model_info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    usable = model_info.get_prices(datetime(2026, 1, 1, tzinfo=UTC))
    return None if usable.input_mtok is None or usable.output_mtok is None else Price(model_info)


def _read(path: Path) -> _File:
    where = f"price file {path} (llm.budget.prices)"
    try:
        content = read_yaml(path.read_text(encoding="utf-8"))
        return _File.model_validate(content)
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(
            f"{where}: {place}: {first['msg']}; expected currency, and for each provider and model "
            "input, output and, if need be, cached_input as amounts for one million tokens"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{where} is not readable YAML in UTF-8: {error}") from error
