"""Prices, clocks and calls for tests of money."""

from datetime import UTC, datetime
from decimal import Decimal

from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice

from qa_pipeline.llm.budget import Price

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
MODEL = "openai/mine"
_MILLION = Decimal(1_000_000)
_DOLLAR = ModelPrice(input_mtok=_MILLION, output_mtok=_MILLION)
_PRICE = Price(ModelInfo(id="mine", match=ClauseEquals("mine"), prices=_DOLLAR))


def dollar_a_token(name: str) -> Price | None:
    """Every token of `MODEL` costs a dollar: tokens and cost are the same number."""
    return _PRICE if name == MODEL else None
