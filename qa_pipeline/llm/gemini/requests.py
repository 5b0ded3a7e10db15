"""What is sent to Gemini: one request as the client's configuration, and schemas in the subset it reads.

What belongs here: translating. What does not: sending (`provider.py`), reading replies (`replies.py`).
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.reply_schemas import inlined_schema
from qa_pipeline.records import ReplyModel
from qa_pipeline.settings.models import ModelSettings

if TYPE_CHECKING:
    from google.genai.types import GenerateContentConfig, SafetySetting

_UNSUPPORTED = frozenset({"$defs", "minLength", "maxLength", "pattern", "default"})
"""Keywords that Gemini's schema subset lacks."""
_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_KEPT = 256
"""Configurations kept: one for each prompt file, temperature and schema is all a run needs."""


def request_config(request: Request[Any], settings: ModelSettings) -> "GenerateContentConfig":
    """Return everything of a request but its prompt; equal ones are built once.

    It travels as a body that is ready: the client would translate the same typed configuration anew for
    every call, which costs it more than sending.
    """
    reply_model: type[ReplyModel] = request.reply_model
    return _ready(request.system, reply_model, request.temperature, request.seed, settings)


def typed_config(request: Request[Any], settings: ModelSettings) -> "GenerateContentConfig":
    """Return the same in the client's own terms."""
    from google.genai.types import GenerateContentConfig

    return GenerateContentConfig(
        system_instruction=request.system,
        temperature=request.temperature,
        seed=request.seed,
        max_output_tokens=settings.max_output_tokens,
        response_mime_type="application/json",
        response_json_schema=response_schema(request.reply_model),
        thinking_config=thinking(settings),
        safety_settings=safety(settings),
    )


@lru_cache(maxsize=_KEPT)
def _ready(
    system: str, reply_model: type[ReplyModel], temperature: float, seed: int | None, settings: ModelSettings
) -> "GenerateContentConfig":
    from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig, HttpOptions

    bare = Request("verify", system, "", reply_model, temperature, seed)
    written = typed_config(bare, settings).model_dump(mode="json", by_alias=True, exclude_none=True)
    body = {"systemInstruction": {"role": "user", "parts": [{"text": written.pop("systemInstruction")}]}}
    if "safetySettings" in written:
        body["safetySettings"] = written.pop("safetySettings")
    return GenerateContentConfig(
        http_options=HttpOptions(extra_body=body | {"generationConfig": written}),
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        # on, a reply that was cut would be asked on for, unseen and at our cost
        automatic_continuation=False,
    )


def thinking(settings: ModelSettings) -> Any:
    """The thinking configuration; None leaves it to the model."""
    from google.genai.types import ThinkingConfig, ThinkingLevel

    if settings.thinking_budget is not None:
        return ThinkingConfig(thinking_budget=settings.thinking_budget)
    if settings.thinking_level is not None:
        return ThinkingConfig(thinking_level=ThinkingLevel(settings.thinking_level.upper()))
    return None


def safety(settings: ModelSettings) -> "list[SafetySetting] | None":
    """One threshold for every kind of harm; None leaves them to the provider."""
    from google.genai.types import HarmBlockThreshold, HarmCategory, SafetySetting

    if settings.safety is None:
        return None
    threshold = HarmBlockThreshold(settings.safety.upper())
    return [
        SafetySetting(category=HarmCategory(f"HARM_CATEGORY_{harm}"), threshold=threshold) for harm in _HARMS
    ]


def response_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the reply model's JSON schema in the subset Gemini reads."""
    return inlined_schema(reply_model, _UNSUPPORTED)
