"""Reading a price file, and telling a person exactly where one is wrong.

What belongs here: from YAML to prices, by place. What does not: looking a model up and costs (`prices.py`).
The file is read node by node rather than as values: only the nodes know their lines, doubled keys, and
decimals as they were written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NoReturn, TypeVar

import yaml

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.money.prices import Price, Rates, Terms

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
