"""Build models from settings: a provider with retries, limits, budget and stored replies."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.budget.prices import check_cost_cap
from qa_pipeline.llm.budget.tokens import MOST_OUTPUT
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.provider import Provider
from qa_pipeline.llm.store.store import ReplyStore
from qa_pipeline.llm.throttle import Throttle
from qa_pipeline.settings.llm import LLMSettings, ModelSettings


class Models:
    """The models of the settings, each built at its first use.

    `place` is the SQLite file of replies if the settings do not name another store. `environ` has the keys.
    `extractive` is the rule-based model for the provider of that name.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        place: Path,
        environ: Mapping[str, str],
        run: str,
        extractive: LanguageModel | None = None,
    ) -> None:
        self._settings = settings
        self._place = place
        self._environ = environ
        self._run = run
        self._extractive = extractive
        self._built: dict[ModelSettings, LanguageModel | None] = {}
        self._throttles: dict[str, Throttle] = {}

    def of(self, settings: ModelSettings) -> LanguageModel | None:
        """Return the model of a role, or None for the provider "none". Equal settings share a model.

        Raises:
            KeyRejectedError: the provider needs a key, and it is not set.
        """
        if settings not in self._built:
            model = self._provided(settings)
            self._built[settings] = None if model is None else CachedModel(model, self.replies)
        return self._built[settings]

    @cached_property
    def replies(self) -> ReplyStore:
        """Return the store of replies, shared by all runs of a deployment."""
        return ReplyStore(self._settings.store.url or self._place)

    @cached_property
    def budget(self) -> Budget:
        """Return the caps of the run.

        Raises:
            SettingsError: cost is capped and a model lacks a price.
        """
        check_cost_cap(self._settings)
        return Budget(self._settings.budget)

    def check(self, models: Iterable[ModelSettings]) -> None:
        """Build the budget and these models, without sending requests.

        Raises:
            SettingsError: a model or the caps cannot be used.
            KeyRejectedError: a key is missing.
        """
        _ = self.budget
        for settings in models:
            self.of(settings)

    def close(self) -> None:
        """Close the store. A later use opens it again."""
        self.replies.close()

    def _provided(self, settings: ModelSettings) -> LanguageModel | None:
        timeout = self._settings.seconds_for(settings)
        provider: Provider
        match settings.provider:
            case "none":
                return None
            case "extractive":
                return self._extractive
            case "gemini":
                from qa_pipeline.llm.gemini import GeminiProvider

                provider = GeminiProvider(settings, timeout, self._environ)
            case "openai":
                from qa_pipeline.llm.openai_compatible import OpenAIProvider

                provider = OpenAIProvider(settings, timeout, self._environ)
        # roles with different settings for a model share its limits
        throttle = self._throttles.setdefault(provider.name, Throttle(self._settings.requests_per_minute))
        most = settings.max_output_tokens or MOST_OUTPUT
        return HostedModel(provider, self._settings, throttle, self.budget, run=self._run, most_output=most)
