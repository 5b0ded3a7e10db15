from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.budget.prices import (
    MOST_TOKENS,
    Price,
    PriceTable,
    believed,
    check_cost_caps,
    load_prices,
    price_of,
)
from qa_pipeline.records import Usage
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings, ModelSettings, RoleSettings
from qa_pipeline_tests.llm.budget.fakes import NOON

PLAIN = """
currency: USD
providers:
  openai:
    mine: {input: 1, output: 4, as_of: 2026-11-22}
    mine-large: {input: 2, cached_input: 0.5, output: 8, as_of: 2026-11-22}
"""
NAMES = [
    "gemini/gemini-2.5-flash-lite",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-2.5-pro",
    "gemini/gemini-3-flash-preview",
    "gemini/gemini-3-pro-preview",
    "gemini/gemini-3.8-flash",
    "openai/gpt-4o-2024-05-13",
    "openai/gpt-4.1-mini",
    "openai/gpt-5",
    "openai/gpt-6-sol",
]
LISTED = [price for price in map(load_prices().of_name, NAMES) if price is not None]

tokens = st.integers(0, 1_000_000)
prices = st.sampled_from(LISTED)
times = st.floats(NOON - 3e7, NOON + 3e7)


def told(**counts: int) -> Usage:
    return Usage(**({"input_tokens": 0, "output_tokens": 0} | counts))


def known(price: Price, usage: Usage, now: float = NOON) -> Decimal:
    cost = price.cost(usage, now)
    assert cost is not None
    return cost


@given(prices, times, tokens, tokens, tokens)
def test_no_call_costs_more_than_the_most_of_it(
    price: Price, now: float, read: int, cached: int, written: int
) -> None:
    usage = told(input_tokens=read, output_tokens=written, cached_tokens=cached)
    assert known(price, usage, now) <= price.most(read, written, now)


def test_thoughts_are_part_of_what_is_written_and_not_counted_again() -> None:
    price = load_prices().of_name("gemini/gemini-3-flash-preview")
    assert price is not None
    usage = told(input_tokens=1_000_000, output_tokens=1_000_000, thought_tokens=900_000)
    assert known(price, usage) == Decimal("3.50")


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input_tokens=5),
        Usage(output_tokens=5),
        Usage(-1, 5),
        Usage(5, 5, thought_tokens=-(10**30)),
        Usage(MOST_TOKENS + 1, 5),
        Usage("5", 5),  # type: ignore[arg-type]
        Usage(True, True),
    ],
)
def test_tokens_that_are_not_reported_or_cannot_be_true_cost_nobody_knows_what(usage: Usage) -> None:
    assert LISTED[0].cost(usage, NOON) is None


def test_more_cached_tokens_than_there_were_take_nothing_off_the_bill() -> None:
    price = LISTED[0]
    assert known(price, told(input_tokens=10, cached_tokens=MOST_TOKENS)) == known(
        price, told(input_tokens=10, cached_tokens=10)
    )
    assert believed(told(cached_tokens=MOST_TOKENS + 1)) == Usage()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gemini/gemini-2.5-flash-lite", "0.10"),
        ("gemini/gemini-3-flash-preview-09", "0.50"),
        ("gemini/gemini-2.5-pro@europe-west4-aiplatform.googleapis.com", "1.25"),
        ("openai/gpt-5-mini-2025-08-07", "0.25"),
        ("openai/gpt-4o@api.openai.com:443", "2.50"),
        ("gemini/gemini-9", None),
        ("openai/gpt-4o@127.0.0.1:8080", None),
        ("openai/mistral-large-latest@api.mistral.ai/v1", "2"),
        ("openai/gpt-4o?max_output_tokens=9", "2.50"),
        ("gemini/gemini-2.5-pro@evil-generativelanguage.example", None),
        ("extractive", None),
    ],
)
def test_a_model_is_found_by_its_name_and_server(name: str, found: str | None) -> None:
    price = load_prices().of_name(name)
    assert (None if price is None else rate(price)) == (None if found is None else Decimal(found))


def rate(price: Price) -> Decimal:
    """Of a million tokens that are read, in prompts of ten."""
    return known(price, told(input_tokens=10)) * 100_000


@pytest.fixture
def own(tmp_path: Path) -> PriceTable:
    """The package's prices with a file of the user's laid over them."""
    file = tmp_path / "prices.yaml"
    file.write_text(PLAIN)
    return load_prices(file)


def test_a_file_in_another_currency_leaves_the_packages_prices_out(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(PLAIN.replace("USD", "EUR"))
    table = load_prices(file)
    assert table.currency == "EUR"
    assert table.of_name("openai/mine") is not None
    assert table.of_name("openai/gpt-4o") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("currency: USD\n", "providers"),
        ("currency: \xff", "UTF-8"),
        ("currency: USD\nproviders: {}\nmore: 1\n", "more"),
        ("currency: USD\nproviders: [\n", "line 3, column 1"),
        (PLAIN.replace("input: 1,", "input: -1,"), "providers openai mine input"),
        (PLAIN.replace("input: 1,", "input: 0.0000001,"), "openai mine input.*6 decimal"),
        (PLAIN.replace("input: 1,", "input: 1, inputs: 2,"), "openai mine inputs"),
        (PLAIN.replace("input: 1,", "input: 1, input: 1,"), "'input'"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError, match=message) as refusal:
        load_prices(file)
    assert "prices.yaml" in str(refusal.value)
    with pytest.raises(SettingsError, match=r"llm\.budget\.prices"):
        load_prices(tmp_path / "none.yaml")


def settings(**changes: Any) -> LLMSettings:
    fields: dict[str, Any] = {"provider": "gemini", "budget": BudgetSettings(max_cost=1.0)} | changes
    return LLMSettings(**fields)


def test_a_cap_on_cost_of_a_model_without_price_is_refused_at_the_start() -> None:
    odd = settings(judge=RoleSettings(model="gemini-odd"))
    with pytest.raises(SettingsError, match=r"gemini/gemini-odd.*llm\.budget\.prices.*max_tokens"):
        check_cost_caps(odd, load_prices())
    check_cost_caps(settings(), load_prices())
    check_cost_caps(settings(model="gemini-odd", budget=BudgetSettings(max_calls=5)), load_prices())


def test_a_server_of_the_users_own_has_no_price_unless_named(own: PriceTable) -> None:
    local = ModelSettings(provider="openai", model="mine", base_url="http://localhost:8080/v1")
    listed = local.model_copy(update={"model": "gpt-4o"})
    assert price_of(local, own) is not None
    assert price_of(listed, own) is None
    assert price_of(listed.model_copy(update={"base_url": "https://api.openai.com/v1"}), own) is not None


def test_a_server_of_this_machine_with_a_price_of_the_user_needs_a_cap(own: PriceTable) -> None:
    local: dict[str, Any] = {"provider": "openai", "model": "mine", "base_url": "http://127.0.0.1:8000/v1"}
    with pytest.raises(SettingsError, match=r"llm\.budget\.max_cost"):
        check_cost_caps(LLMSettings(**local), own)
    check_cost_caps(LLMSettings(**local, budget={"max_calls": 9}), own)
    check_cost_caps(LLMSettings(**{**local, "model": "unpriced"}), own)
