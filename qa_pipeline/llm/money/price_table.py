"""The prices in force: the package's, with the user's laid over them.

What belongs here: putting both together, and refusing a cap on cost where a model has no price. What does
not: either file's form (`price_file.py`).
"""

from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from qa_pipeline.errors import SettingsError
from qa_pipeline.llm.money.price_file import PriceFile, read_price_file
from qa_pipeline.llm.money.prices import Price, PriceTable
from qa_pipeline.settings.models import HOSTED, BudgetSettings, LLMSettings, ModelSettings

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
