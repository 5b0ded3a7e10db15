"""From settings to a budget.

What belongs here: which caps need the database, and which settings cannot hold. What does not: the caps
themselves.
"""

from qa_pipeline.llm.database import Database
from qa_pipeline.llm.money.amounts import Caps
from qa_pipeline.llm.money.budget import Budget
from qa_pipeline.llm.money.days import DayLedger
from qa_pipeline.llm.money.price_table import check_cost_caps, load_prices
from qa_pipeline.settings.models import LLMSettings


def open_budget(settings: LLMSettings, database: Database) -> Budget:
    """The budget of one run; the database is opened only where a cap of a day is set.

    Raises:
        SettingsError: the prices cannot be read, or cost is capped and a model has no price.
    """
    prices = load_prices(settings.budget.prices)
    check_cost_caps(settings, prices)
    caps = Caps.of_day(settings.budget)
    days = DayLedger(database, caps, currency=prices.currency) if caps.any else None
    return Budget(settings.budget, prices, days=days)
