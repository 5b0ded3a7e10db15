from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.budget.prices import MOST_TOKENS, Price, check_cost_caps, load_prices, price_of
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
NAMES = ["gemini/gemini-2.5-pro", "gemini/gemini-3-flash-preview", "openai/gpt-4o", "openai/gpt-5"]
LISTED = [price for price in map(load_prices().of_name, NAMES) if price is not None]
tokens = st.integers(0, 1_000_000)


def written(folder: Path, text: str = PLAIN) -> Path:
    file = folder / "prices.yaml"
    file.write_bytes(text.encode("latin-1"))
    return file


def rate(price: Price | None) -> Decimal | None:
    """Of a million tokens that are read, in prompts of ten."""
    cost = price.cost(Usage(10, 0), NOON) if price else None
    return None if cost is None else cost * 100_000


@given(st.sampled_from(LISTED), st.floats(NOON - 3e7, NOON + 3e7), tokens, tokens, tokens)
def test_no_call_costs_more_than_the_most_of_it(
    price: Price, now: float, read: int, cached: int, reply: int
) -> None:
    cost = price.cost(Usage(read, reply, cached_tokens=cached), now)
    assert cost is not None
    assert 0 <= cost <= price.most(read, reply, now)


def test_thoughts_are_part_of_what_is_written_and_not_counted_again() -> None:
    price = load_prices().of_name("gemini/gemini-3-flash-preview")
    assert price is not None
    assert price.cost(Usage(1_000_000, 1_000_000, thought_tokens=900_000), NOON) == Decimal("3.50")


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input_tokens=5),
        Usage(-1, 5),
        Usage(5, 5, thought_tokens=-(10**30)),
        Usage(5, 5, cached_tokens=MOST_TOKENS + 1),
        Usage(2**63, 5),
        Usage("5", 5),  # type: ignore[arg-type]
        Usage(True, True),
    ],
)
def test_tokens_that_are_not_reported_or_cannot_be_true_cost_nobody_knows_what(usage: Usage) -> None:
    assert LISTED[0].cost(usage, NOON) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gemini/gemini-3-flash-preview-09", "0.50"),
        ("gemini/gemini-2.5-pro@europe-west4-aiplatform.googleapis.com", "1.25"),
        ("openai/gpt-4o@api.openai.com:443", "2.50"),
        ("openai/mistral-large-latest@api.mistral.ai/v1", "2"),
        ("openai/gpt-4o?max_output_tokens=9", "2.50"),
        ("openai/mine@127.0.0.1:8080?max_output_tokens=9", "1"),
        ("gemini/gemini-9", None),
        ("openai/gpt-4o@127.0.0.1:8080", None),
        ("gemini/gemini-2.5-pro@evil-generativelanguage.example", None),
        ("extractive", None),
    ],
)
def test_a_model_is_found_by_its_name_and_server_and_one_of_the_user_anywhere(
    tmp_path: Path, name: str, found: str | None
) -> None:
    price = load_prices(written(tmp_path)).of_name(name)
    assert rate(price) == (None if found is None else Decimal(found))


def test_a_file_in_another_currency_leaves_the_packages_prices_out(tmp_path: Path) -> None:
    table = load_prices(written(tmp_path, PLAIN.replace("USD", "EUR")))
    assert table.currency == "EUR"
    assert table.of_name("openai/mine") is not None
    assert table.of_name("openai/gpt-4o") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("currency: USD\n", "providers"),
        ("currency: USD\nproviders: {}\nmore: 1\n", "more"),
        ("currency: USD\nproviders: [\n", "line 3, column 1"),
        ("currency: \xff", "UTF-8"),
        (PLAIN.replace("input: 1,", "input: -1,"), "providers openai mine input"),
        (PLAIN.replace("input: 1,", "input: 0.0000001,"), "openai mine input.*6 decimal"),
        (PLAIN.replace("input: 1,", "input: 1, input: 1,"), "'input'"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refusal:
        load_prices(written(tmp_path, text))
    assert "prices.yaml" in str(refusal.value)
    with pytest.raises(SettingsError, match=r"llm\.budget\.prices"):
        load_prices(tmp_path / "none.yaml")


def test_a_cap_on_cost_of_a_model_without_price_is_refused_at_the_start() -> None:
    def settings(**changes: Any) -> LLMSettings:
        return LLMSettings(**({"provider": "gemini", "budget": BudgetSettings(max_cost=1.0)} | changes))

    with pytest.raises(SettingsError, match=r"gemini/gemini-odd.*llm\.budget\.prices.*max_tokens"):
        check_cost_caps(settings(judge=RoleSettings(model="gemini-odd")), load_prices())
    check_cost_caps(settings(), load_prices())
    check_cost_caps(settings(model="gemini-odd", budget=BudgetSettings(max_calls=5)), load_prices())


def test_a_server_of_this_machine_with_a_price_of_the_user_needs_a_cap(tmp_path: Path) -> None:
    own = load_prices(written(tmp_path))
    local: dict[str, Any] = {"provider": "openai", "model": "mine", "base_url": "http://127.0.0.1:8000/v1"}
    assert price_of(ModelSettings(**local), own) is not None
    with pytest.raises(SettingsError, match=r"llm\.budget\.max_cost"):
        check_cost_caps(LLMSettings(**local), own)
    check_cost_caps(LLMSettings(**local, budget={"max_calls": 9}), own)
    check_cost_caps(LLMSettings(**{**local, "model": "unpriced"}), own)
