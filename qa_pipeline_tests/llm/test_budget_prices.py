from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.budget import MOST_TOKENS, Price, price_by_name
from qa_pipeline.records import Usage
from qa_pipeline_tests.llm.fakes import NOON

NAMES = ["gemini/gemini-2.5-pro", "gemini/gemini-3-flash-preview", "openai/gpt-4o", "openai/gpt-5"]
LISTED = [price for price in map(price_by_name, NAMES) if price is not None]
tokens = st.integers(0, 1_000_000)


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
    price = price_by_name("gemini/gemini-3-flash-preview")
    assert price is not None
    assert price.cost(Usage(1_000_000, 1_000_000, thought_tokens=900_000), NOON) == Decimal("3.50")


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input_tokens=5),
        Usage(-1, 5),
        Usage(5, 5, cached_tokens=MOST_TOKENS + 1),
        Usage("5", 5),  # type: ignore[arg-type]
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
        ("gemini/gemini-9", None),
        ("openai/gpt-4o@127.0.0.1:8080", None),
        ("gemini/gemini-2.5-pro@evil-generativelanguage.example", None),
        ("extractive", None),
    ],
)
def test_a_model_is_found_by_its_name_and_server(name: str, found: str | None) -> None:
    assert rate(price_by_name(name)) == (None if found is None else Decimal(found))
