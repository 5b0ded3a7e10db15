"""From settings to models: a provider, and around it tries, limits, accounts and stored replies."""

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
    """The models of the settings, each built once, when it is first asked for.

    `place` is the SQLite file of replies where the settings name no other store; `environ` holds the keys;
    `extractive` are the rules that reply for the provider of that name.
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
        """Return the model of a role; None for the provider `none`. Roles of equal settings share one.

        Raises:
            KeyRejectedError: the provider needs a key and none is set.
        """
        if settings not in self._built:
            model = self._provided(settings)
            self._built[settings] = None if model is None else CachedModel(model, self.replies)
        return self._built[settings]

    @cached_property
    def replies(self) -> ReplyStore:
        """Return the store of replies, which all runs of a deployment share."""
        return ReplyStore(self._settings.store.url or self._place)

    @cached_property
    def budget(self) -> Budget:
        """Return the caps of the run.

        Raises:
            SettingsError: cost is capped and a model has no price.
        """
        check_cost_cap(self._settings)
        return Budget(self._settings.budget)

    def check(self, models: Iterable[ModelSettings]) -> None:
        """Build these models, the budget before them; nothing is asked.

        Raises:
            SettingsError: a model or the caps cannot be used.
            KeyRejectedError: a key is missing.
        """
        _ = self.budget
        for settings in models:
            self.of(settings)

    def close(self) -> None:
        """Close the store; a later use opens it again."""
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
        # roles that ask one model in different ways meet the same limits
        throttle = self._throttles.setdefault(provider.name, Throttle(self._settings.requests_per_minute))
        most = settings.max_output_tokens or MOST_OUTPUT
        return HostedModel(provider, self._settings, throttle, self.budget, run=self._run, most_output=most)
