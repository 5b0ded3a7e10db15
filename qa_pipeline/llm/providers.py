"""From settings to a model: the provider, its cap, and the store of replies around both.

What belongs here: choosing and wrapping. What does not: any provider's own work. The provider modules are
imported when they are chosen, so that a run without Gemini needs nothing of it.
"""

from collections.abc import Mapping
from pathlib import Path

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.money.budgeted import BudgetedModel
from qa_pipeline.llm.money.opening import open_budget
from qa_pipeline.settings.models import HOSTED, LLMSettings


def build_model(
    settings: LLMSettings, *, cache_path: Path, environ: Mapping[str, str]
) -> LanguageModel | None:
    """Build the model the settings name; None for the provider `none`.

    Args:
        settings: provider, model, limits.
        cache_path: SQLite file of stored replies; stored replies never count against the cap.
        environ: where a hosted provider's key is; read at the edge and passed in.

    Raises:
        KeyRejectedError: the provider needs a key and none is set.
        SettingsError: the prices cannot be read, or cost is capped and a model has no price.
    """
    provider = _provider(settings, environ)
    if provider is None:
        return None
    return CachedModel(_within_budget(provider, settings, cache_path), cache_path)


def _within_budget(model: LanguageModel, settings: LLMSettings, cache_path: Path) -> LanguageModel:
    if settings.provider not in HOSTED:
        return model
    budget = open_budget(settings, Database(cache_path.with_name("spent.sqlite")))
    return BudgetedModel(model, budget, most_output=settings.max_output_tokens)


def _provider(settings: LLMSettings, environ: Mapping[str, str]) -> LanguageModel | None:
    match settings.provider:
        case "none":
            return None
        case "extractive":
            from qa_pipeline.llm.extractive.provider import ExtractiveModel

            return ExtractiveModel()
        case "gemini":
            from qa_pipeline.llm.gemini import GeminiModel

            return GeminiModel.from_environment(environ, settings)
        case "openai":
            raise NotImplementedError
