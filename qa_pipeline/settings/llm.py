"""Settings of language models: provider and model by role, speed, budget and reply store."""

import ipaddress
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from qa_pipeline.settings.base import Group

GEMINI_MODEL = "gemini-3-flash-preview"
Profile = Literal["standard", "small", "quality"]
Provider = Literal["extractive", "gemini", "openai", "none"]
Reviewer = Literal["verifier", "judge"]
HOSTED: tuple[Provider, ...] = ("gemini", "openai")
"""Providers that are called over the network and may cost money."""
SERVERS: dict[str, dict[str, Any]] = {
    "ollama": {"base_url": "http://127.0.0.1:11434/v1", "workers": 1},
    "llama.cpp": {"base_url": "http://127.0.0.1:8080/v1", "workers": 1},
    "vllm": {"base_url": "http://127.0.0.1:8000/v1", "workers": 32},
}
"""Servers with their default settings. Ollama and llama.cpp process a single call at a time by default."""
HOSTED_SECONDS, LOCAL_SECONDS = 120.0, 600.0
"""Time limits of a try; a model on a CPU writes about 5 tokens a second."""


def with_server(values: Any, group_fields: Collection[str]) -> Any:
    """Return a group of settings with a named server, such as ollama, replaced by openai and its address."""
    if not isinstance(values, dict):  # absent, validated already, or reported by validation
        return values
    provider = values.get("provider")
    providers = (*get_args(Provider), *SERVERS)
    if provider is not None and provider not in providers:
        is_role = "profile" not in group_fields  # only `llm` has it
        name = "the provider of a role below llm" if is_role else "llm.provider"
        raise ValueError(f"{name} must be one of {', '.join(sorted(providers))}")
    if provider not in SERVERS:
        return values
    # without `workers` for a role, which lacks this setting
    defaults = {name: value for name, value in SERVERS[provider].items() if name in group_fields}
    return {**defaults, **values, "provider": "openai"}


class ModelSettings(Group):
    """A model, and all fixed parameters of its calls."""

    provider: Provider = "extractive"
    """extractive works offline by rules. openai is any server with the chat completions API. ollama,
    llama.cpp and vllm mean openai with such a server on this machine. none only verifies existing pairs."""
    model: str = GEMINI_MODEL
    """Model of generator, verifier and judge."""
    base_url: str | None = None
    """Address of another server with the provider's protocol."""
    max_output_tokens: int | None = Field(None, gt=0)
    """Most tokens of a reply, thoughts included; a truncated reply fails."""
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    """Amount of thinking, for models that accept it; null uses the default of the model."""
    vertex_project: str | None = None
    """Gemini: use Vertex AI for this project, with the machine's Google credentials."""
    vertex_location: str = "global"
    """Gemini: region of Vertex AI."""
    json_mode: Literal["auto", "schema", "object", "text"] = "auto"
    """OpenAI: way to request JSON; auto uses the strictest way that the server supports."""

    @model_validator(mode="before")
    @classmethod
    def _of_a_server(cls, values: Any) -> Any:
        return with_server(values, cls.model_fields)

    @property
    def is_local(self) -> bool:
        """Return True if the server is on this machine, so that its calls are free."""
        return self.provider in HOSTED and self.base_url is not None and is_loopback(self.base_url)


class RoleSettings(Group):
    """Settings of a role that differ from `llm`; null means the value of `llm`."""

    provider: Provider | None = None
    """Provider of this role."""
    model: str | None = None
    """Model of this role."""
    base_url: str | None = None
    """Server of this role."""

    @model_validator(mode="before")
    @classmethod
    def _of_a_server(cls, values: Any) -> Any:
        return with_server(values, cls.model_fields)


class BudgetSettings(Group):
    """Hard limits on the model calls of a run; null means unlimited."""

    max_calls: int | None = Field(None, ge=0)
    """Calls of a run; a hosted provider needs at least one limit."""
    max_tokens: int | None = Field(None, ge=0)
    """Tokens of a run, in prompts and replies."""
    max_cost: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Cost of a run in USD."""


class StoreSettings(Group):
    """The store of replies."""

    url: str | None = None
    """postgresql://user@host/database for many machines; null is a SQLite file below `out`."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).password:
            raise ValueError(
                "the address of the store contains a password, which every reader of the settings would see; "
                "put it into PGPASSWORD or a .pgpass file"
            )
        return url


class LLMSettings(ModelSettings):
    """The language models."""

    profile: Profile = "standard"
    """small: short prompts with an example, and one question a call, for models below 4 billion weights.
    quality: each answer is drafted twice from the retrieved passages, and solved again from its quotes."""
    prompts: Path | None = None
    """Folder of own prompts: LANGUAGE/NAME.md, with the names and placeholders of the package."""
    verifier: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()
    workers: int = Field(5, gt=0)
    """Most concurrent calls."""
    timeout_seconds: float | None = Field(None, gt=0)
    """Time limit of a try; null means 120, and 600 for a server on this machine."""
    max_tries: int = Field(5, gt=0)
    """Most tries of a call after transient errors, while the server answers other calls."""
    wait_minutes: float = Field(10.0, ge=0)
    """Minutes to wait for a server that refuses connections. Then the run stops with exit code 3."""
    requests_per_minute: int | None = Field(None, gt=0)
    """Rate limit per model and process; calls that a server refuses are retried later."""
    budget: BudgetSettings = BudgetSettings()
    store: StoreSettings = StoreSettings()

    @property
    def generator(self) -> ModelSettings:
        """Return the model that writes questions and answers."""
        return ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})

    def reviewer(self, role: Reviewer) -> ModelSettings:
        """Return the model of a reviewing role; its own settings override `llm`."""
        role_settings: RoleSettings = getattr(self, role)
        chosen = {name: value for name, value in role_settings.model_dump().items() if value is not None}
        return self.generator.model_copy(update=chosen)

    def seconds_for(self, model: ModelSettings) -> float:
        """Return the time limit of a try with this model."""
        return self.timeout_seconds or (LOCAL_SECONDS if model.is_local else HOSTED_SECONDS)

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """Return the models of all roles."""
        return self.generator, self.reviewer("verifier"), self.reviewer("judge")

    @property
    def hosted_models(self) -> list[ModelSettings]:
        """Return the models that are called over the network."""
        return [model for model in self.models if model.provider in HOSTED]


def is_loopback(url: str) -> bool:
    """Return True if an address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_model_warning(settings: LLMSettings) -> str | None:
    """Return a warning if a hosted model judges its own answers."""
    generator, judge = settings.generator, settings.reviewer("judge")
    is_same = all(getattr(judge, name) == getattr(generator, name) for name in RoleSettings.model_fields)
    if judge.provider not in HOSTED or not is_same:
        return None
    return (
        f"{judge.provider}/{judge.model} judges its own answers, and models prefer those: set "
        "llm.judge.model (QA_PIPELINE_LLM__JUDGE__MODEL) to another"
    )
