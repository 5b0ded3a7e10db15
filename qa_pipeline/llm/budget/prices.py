"""What a call costs, and what it may cost at most.

What belongs here: prices, finding a model's, and exact sums. What does not: reading price files
(`price_file.py`), caps (`budget.py`).

Prices are decimals for one million tokens. A model or a number of tokens that is not known gives no cost at
all: null, never 0.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import yaml

from qa_pipeline.errors import SettingsError
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import HOSTED, BudgetSettings, LLMSettings, ModelSettings

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


_LARGEST = 1_000_000
_DEAREST = Decimal(1_000_000)
_PLACES = 6
_RATES = ("input", "cached_input", "cache_write", "output")
_TERMS = (*_RATES, "long_context")
_PRICE = (*_TERMS, "batch_discount", "as_of", "source", "until", "then")
_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
_LONGEST_QUOTE = 40

Read = TypeVar("Read")
Fields = dict[str, yaml.Node]


@dataclass(frozen=True, slots=True)
class PriceFile:
    """What a price file says: the currency of all its prices, and prices by provider and model."""

    currency: str
    prices: Mapping[str, Mapping[str, Price]]


def read_price_file(path: Path) -> PriceFile:
    """Read a file of prices.

    Raises:
        SettingsError: naming file, line, column, model and field, and what is expected there.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise SettingsError(f"price file {path} is larger than {_LARGEST} bytes; it cannot be one")
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise SettingsError(
            f"price file {path} (llm.budget.prices) cannot be read: {error.strerror}"
        ) from error
    except yaml.MarkedYAMLError as error:
        raise SettingsError(
            f"price file {path}{_at(error)}: {error.problem}; it must be plain YAML"
        ) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SettingsError(f"price file {path} is not readable YAML in UTF-8") from error
    if root is None:
        raise SettingsError(f"price file {path} is empty; expected currency and providers")
    return _Reader(path).file(root)


def _at(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    return f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""


class _Reader:
    """The grammar of a price file, one method a level."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def file(self, root: yaml.Node) -> PriceFile:
        fields = self._fields(root, "", ("currency", "providers"), ("currency", "providers"))
        currency = self._currency(fields["currency"])
        providers = self._mapping(fields["providers"], "providers")
        return PriceFile(
            currency, {name: self._models(node, name, currency) for name, node in providers.items()}
        )

    def _models(self, node: yaml.Node, provider: str, currency: str) -> dict[str, Price]:
        models = self._mapping(node, provider)
        return {name: self._price(found, f"{provider} {name}", currency) for name, found in models.items()}

    def _price(self, node: yaml.Node, place: str, currency: str) -> Price:
        fields = self._fields(node, place, _PRICE, ("input", "output", "as_of"))
        if ("until" in fields) != ("then" in fields):
            self._refuse(node, place, "until and then go together")
        return Price(
            currency=currency,
            terms=self._terms(node, place, fields),
            batch_discount=self._maybe(fields, "batch_discount", place, self._share),
            as_of=self._date(fields["as_of"], f"{place}.as_of"),
            source=self._maybe(fields, "source", place, self._text),
            until=self._maybe(fields, "until", place, self._date),
            then=self._maybe(fields, "then", place, self._later),
        )

    def _later(self, node: yaml.Node, place: str) -> Terms:
        return self._terms(node, place, self._fields(node, place, _TERMS, ("input", "output")))

    def _terms(self, node: yaml.Node, place: str, fields: Fields) -> Terms:
        rates = self._rates(node, place, fields)
        if "long_context" not in fields:
            return Terms(rates)
        inner_place = f"{place}.long_context"
        inner = self._fields(
            fields["long_context"], inner_place, ("above", *_RATES), ("above", "input", "output")
        )
        above = self._tokens(inner["above"], f"{inner_place}.above")
        return Terms(rates, above, self._rates(fields["long_context"], inner_place, inner))

    def _rates(self, node: yaml.Node, place: str, fields: Fields) -> Rates:
        rates = Rates(
            input=self._amount(fields["input"], f"{place}.input"),
            output=self._amount(fields["output"], f"{place}.output"),
            cached_input=self._maybe(fields, "cached_input", place, self._amount),
            cache_write=self._maybe(fields, "cache_write", place, self._amount),
        )
        if rates.cached_input is not None and rates.cached_input > rates.input:
            self._refuse(fields["cached_input"], f"{place}.cached_input", "expected no more than input")
        return rates

    def _maybe(
        self, fields: Fields, name: str, place: str, read: Callable[[yaml.Node, str], Read]
    ) -> Read | None:
        return read(fields[name], f"{place}.{name}") if name in fields else None

    def _fields(self, node: yaml.Node, place: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Fields:
        fields = self._mapping(node, place)
        for name, value in fields.items():
            if name not in known:
                self._refuse(value, place, f"unknown field {_quoted(name)}; expected {', '.join(known)}")
        for name in needed:
            if name not in fields:
                hint = " (the day the price was read, as 2026-11-22)" if name == "as_of" else ""
                self._refuse(node, place, f"{name} is missing{hint}")
        return fields

    def _mapping(self, node: yaml.Node, place: str) -> Fields:
        if not isinstance(node, yaml.MappingNode):
            self._refuse(node, place, "expected names with values below them")
        found: Fields = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(key, place, "expected a name")
            if key.value in found:
                self._refuse(key, place, f"{_quoted(key.value)} stands here twice")
            found[key.value] = value
        return found

    def _currency(self, node: yaml.Node) -> str:
        value = self._text(node, "currency")
        if not (len(value) == 3 and value.isascii() and value.isalpha() and value.isupper()):
            self._refuse(node, "currency", "expected three capital letters such as USD")
        return value

    def _text(self, node: yaml.Node, place: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            self._refuse(node, place, "expected text")
        return str(node.value)

    def _amount(self, node: yaml.Node, place: str) -> Decimal:
        wanted = f"an amount for one million tokens, 0 to {_DEAREST:,} with at most {_PLACES} decimals"
        value = self._number(node, place, wanted)
        exponent = value.as_tuple().exponent
        if not 0 <= value <= _DEAREST or not isinstance(exponent, int) or exponent < -_PLACES:
            self._refuse(node, place, f"expected {wanted}, not {_quoted(_value(node))}")
        return value

    def _share(self, node: yaml.Node, place: str) -> Decimal:
        value = self._number(node, place, "a share from 0 to 1")
        if not 0 <= value <= 1:
            self._refuse(node, place, f"expected a share from 0 to 1, not {_quoted(_value(node))}")
        return value

    def _tokens(self, node: yaml.Node, place: str) -> int:
        value = self._number(node, place, "a number of tokens")
        if value < 1 or value != value.to_integral_value():
            self._refuse(node, place, f"expected a number of tokens, not {_quoted(_value(node))}")
        return int(value)

    def _number(self, node: yaml.Node, place: str, wanted: str) -> Decimal:
        """A plain finite number: a quoted one is text, and says so."""
        try:
            value = Decimal(node.value) if node.tag in _NUMBERS else None
        except (InvalidOperation, ValueError):
            value = None
        if value is None or not value.is_finite():
            self._refuse(node, place, f"expected {wanted}, not {_quoted(_value(node))}")
        return value

    def _date(self, node: yaml.Node, place: str) -> date:
        try:
            return date.fromisoformat(_value(node))
        except ValueError:
            self._refuse(node, place, f"expected a day such as 2026-11-22, not {_quoted(_value(node))}")

    def _refuse(self, node: yaml.Node, place: str, expected: str) -> NoReturn:
        mark = node.start_mark
        where = f"price file {self._path}, line {mark.line + 1}, column {mark.column + 1}"
        raise SettingsError(f"{where}: {place}: {expected}" if place else f"{where}: {expected}")


def _value(node: yaml.Node) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else "a group"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")


LISTED = Path(__file__).with_name("prices.yaml")


def load_prices(override: Path | None = None) -> PriceTable:
    """The prices of the package, and before them those of a file.

    A file in another currency leaves the package's out: sums of both would mean nothing.

    Raises:
        SettingsError: a file cannot be used; says where it is wrong.
    """
    listed = _listed()
    if override is None:
        return PriceTable(listed.currency, listed.prices)
    named = read_price_file(override)
    below = listed.prices if named.currency == listed.currency else {}
    return PriceTable(named.currency, below, named.prices)


def price_of(model: ModelSettings, prices: PriceTable) -> Price | None:
    """The price of a configured model."""
    host = urlsplit(model.base_url).hostname or model.base_url if model.base_url else None
    return prices.price(model.provider, model.model, host)


def unpriced_models(settings: LLMSettings, prices: PriceTable) -> list[str]:
    """Hosted models of any role whose cost nobody knows, each once."""
    hosted = [model for model in settings.models if model.provider in HOSTED]
    unknown = [f"{model.provider}/{model.model}" for model in hosted if price_of(model, prices) is None]
    return list(dict.fromkeys(unknown))


def check_cost_caps(settings: LLMSettings, prices: PriceTable) -> None:
    """Refuse a cap on cost that could not hold.

    Raises:
        SettingsError: a model in use has no price.
    """
    unpriced = unpriced_models(settings, prices) if caps_cost(settings.budget) else []
    if unpriced:
        raise SettingsError(unpriced_told(unpriced[0]))


def caps_cost(budget: BudgetSettings) -> bool:
    """Whether any cap is in currency."""
    return budget.max_cost is not None or budget.max_cost_a_day is not None


def unpriced_told(model: str) -> str:
    """What to do about a cap on cost and a model without a price."""
    return (
        f"llm.budget.max_cost caps what calls cost, and nobody knows what {model} costs: name its price in a "
        "file of llm.budget.prices, or cap tokens (llm.budget.max_tokens) instead"
    )


@cache
def _listed() -> PriceFile:
    return read_price_file(LISTED)
