"""From settings to a model: the provider, its cap, and the store of replies around both.

What belongs here: choosing and wrapping. What does not: any provider's own work. The provider modules are
imported when they are chosen, so that a run without Gemini needs nothing of it.
"""

from collections.abc import Mapping
from pathlib import Path

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.capped import CappedModel
from qa_pipeline.llm.store.front import open_replies
from qa_pipeline.settings.models import LLMSettings


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
    """
    provider = _provider(settings, environ)
    if provider is None:
        return None
    if settings.budget.max_calls is not None:
        provider = CappedModel(provider, settings.budget.max_calls)
    front = open_replies(settings.store.url or cache_path)
    if settings.store.mode == "replay":
        return CachedModel(None, front, name=provider.name)
    return CachedModel(provider, front)


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
