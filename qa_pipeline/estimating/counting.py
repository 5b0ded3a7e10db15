"""Having a provider count the tokens of some prompts, which costs nothing.

What belongs here: asking, and the ratio to our own estimate. What does not: that estimate
(`llm/money/tokens.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.gemini.errors import KEY_ADVICE, translate
from qa_pipeline.llm.gemini.provider import KEY_NAMES
from qa_pipeline.llm.money.tokens import request_tokens
from qa_pipeline.settings.models import ModelSettings

MOST_COUNTED = 20


class GeminiCounter:
    """Counts prompts with Gemini's countTokens; call it with requests to get the ratio.

    Raises:
        SettingsError: the model's provider counts no tokens.
        KeyRejectedError: no key is set, or it is refused.
        ModelError: the provider does not count.
    """

    def __init__(self, model: ModelSettings, environ: Mapping[str, str]) -> None:
        if model.provider != "gemini" or model.vertex_project is not None:
            raise SettingsError(
                f"--count-with-provider needs Gemini with a key; llm.provider is {model.provider}"
            )
        keys = [environ[name].strip() for name in KEY_NAMES if environ.get(name, "").strip()]
        if not keys:
            raise KeyRejectedError(f"--count-with-provider needs a key; {KEY_ADVICE}")
        self._model = model
        self._key = keys[0]

    def __call__(self, requests: Sequence[Request[Any]]) -> float:
        """Real tokens for each estimated one, over requests spread evenly."""
        step = max(1, len(requests) // MOST_COUNTED)
        some = requests[::step][:MOST_COUNTED]
        estimated = sum(request_tokens(request) for request in some)
        return sum(self._count(some)) / estimated if estimated else 1.0

    def _count(self, requests: Sequence[Request[Any]]) -> list[int]:
        from google.genai.errors import APIError
        from httpx2 import HTTPError  # what google-genai speaks HTTP with

        failure: ModelError
        try:
            return self._counted(requests)
        except (APIError, HTTPError, ValueError) as error:
            failure = translate(error, self._key, self._model.model)
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    def _counted(self, requests: Sequence[Request[Any]]) -> list[int]:
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        options = HttpOptions(
            base_url=self._model.base_url or "https://generativelanguage.googleapis.com/",
            timeout=60_000,
            retry_options=HttpRetryOptions(attempts=3),
        )
        counted = []
        with Client(vertexai=False, api_key=self._key, http_options=options) as client:
            for request in requests:
                # the API counts contents alone: the instruction is counted as if it were a part of them
                told = client.models.count_tokens(
                    model=self._model.model, contents=f"{request.system}\n{request.prompt}"
                )
                counted.append(told.total_tokens or 0)
        return counted
