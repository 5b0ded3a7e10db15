"""Settings of language models: who replies in each role, how fast, for how much, where replies are kept."""

import ipaddress
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from qa_pipeline.settings.base import Group

GEMINI_MODEL = "gemini-3-flash-preview"

Profile = Literal["standard", "small", "quality"]
Provider = Literal["extractive", "gemini", "openai", "none"]
Reviewer = Literal["verifier", "judge"]
HOSTED: tuple[Provider, ...] = ("gemini", "openai")
"""Providers that are asked over the network and may cost money."""
SERVERS: dict[str, dict[str, Any]] = {
    "ollama": {"base_url": "http://127.0.0.1:11434/v1", "workers": 1},
    "llama.cpp": {"base_url": "http://127.0.0.1:8080/v1", "workers": 1},
    "vllm": {"base_url": "http://127.0.0.1:8000/v1", "workers": 32},
}
"""Servers of chat completions by the name that `provider` takes, with what it sets where nothing else does.

Ollama and llama.cpp work on one call at a time unless they are started with more slots.
"""
SMALL_BELOW = 4.0
"""Thousand million weights below which a model gets the small profile, where its name tells its size."""
_WEIGHTS = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d{1,2})?)([bm])(?![^\W_])", re.IGNORECASE)
HOSTED_SECONDS, LOCAL_SECONDS = 120.0, 600.0
"""Of one try; a model on a processor without accelerator writes some 5 tokens a second."""


def with_server(values: Any, fields: Collection[str]) -> Any:
    """Return settings with what the name of a server, and of a small model, stands for."""
    if not isinstance(values, dict):  # validation says so
        return values
    known = {*get_args(Provider), *SERVERS, None}
    if values.get("provider") not in known:
        name = "llm.provider" if "profile" in fields else "the provider of a role below llm"
        raise ValueError(f"{name} has to be one of {', '.join(sorted(known - {None}))}")
    filled = dict(values)
    if server := SERVERS.get(str(values.get("provider"))):
        filled = {**{name: value for name, value in server.items() if name in fields}, **values}
        filled["provider"] = "openai"
    if "profile" in fields and is_small(str(values.get("model", ""))):
        filled.setdefault("profile", "small")
    return filled


def is_small(model: str) -> bool:
    """Return True if the name of a model tells a size below `SMALL_BELOW`, as in `Llama-3.2-3B`."""
    sizes = [float(size) / (1 if unit in "bB" else 1000) for size, unit in _WEIGHTS.findall(model)]
    return bool(sizes) and max(sizes) < SMALL_BELOW


class ModelSettings(Group):
    """A model and everything fixed about how it is asked."""

    provider: Provider = "extractive"
    """extractive works offline by rules; openai is any server with the chat completions API; ollama,
    llama.cpp and vllm are openai with the address of such a server on this machine; none only verifies
    existing pairs."""
    model: str = GEMINI_MODEL
    """Model of generator, verifier and judge."""
    base_url: str | None = None
    """Another server with the provider's protocol."""
    seed: int = 0
    """Seed sent with every request that takes one."""
    max_output_tokens: int | None = Field(None, gt=0)
    """Cap on the tokens of a reply, thoughts included; a reply it cuts fails."""
    thinking_budget: int | None = Field(None, ge=-1)
    """Gemini 2.5: tokens for thoughts, 0 for none, -1 as the model likes."""
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    """Gemini 3 and OpenAI: amount of thinking; excludes thinking_budget."""
    vertex_project: str | None = None
    """Gemini: ask Vertex AI, for this project, with the machine's Google credentials."""
    vertex_location: str = "global"
    """Gemini: region of Vertex AI."""
    json_mode: Literal["auto", "schema", "object", "text"] = "auto"
    """OpenAI: way of asking for JSON; auto takes the strictest one that the server knows."""

    @model_validator(mode="before")
    @classmethod
    def _of_a_server(cls, values: Any) -> Any:
        return with_server(values, cls.model_fields)

    @property
    def is_local(self) -> bool:
        """Return whether the server is on this machine, so that nothing it does costs money."""
        return self.provider in HOSTED and self.base_url is not None and is_loopback(self.base_url)

    @model_validator(mode="after")
    def _one_way_of_thinking(self) -> Self:
        if self.thinking_budget is not None and self.thinking_level is not None:
            raise ValueError("thinking_budget and thinking_level exclude each other; set one of them")
        return self


class RoleSettings(Group):
    """The settings of one role that differ from the rest; null takes the value of `llm`."""

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
    """Hard caps on what models are asked, by run; null is no cap."""

    max_calls: int | None = Field(None, ge=0)
    """Calls of a run; a hosted provider needs some cap."""
    max_tokens: int | None = Field(None, ge=0)
    """Tokens of a run, prompts and replies."""
    max_cost: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Cost of a run in USD."""

    @property
    def caps_a_run(self) -> bool:
        """Return whether anything ends a run that would ask for ever."""
        return any(cap is not None for cap in (self.max_calls, self.max_tokens, self.max_cost))


class StoreSettings(Group):
    """The place of stored replies."""

    url: str | None = None
    """postgresql://user@host/database for many machines; null is a SQLite file below `out`. A password
    belongs in PGPASSWORD or a .pgpass file."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).password:
            raise ValueError(
                "the address of the store holds a password, which settings show to anybody who reads them; "
                "put it into PGPASSWORD or a .pgpass file"
            )
        return url


class LLMSettings(ModelSettings):
    """The language models."""

    profile: Profile = "standard"
    """How much is asked of the model that writes. small: short prompts with an example, one question a call,
    for models of a few billion weights and less; the default where the model's name tells fewer than 4
    billion, such as qwen2.5:1.5b. quality: each answer is drafted twice from the retrieved
    passages, and solved again from its quotes."""
    prompts: Path | None = None
    """Folder of prompts in place of the package's: LANGUAGE/NAME.md, with the same names and placeholders."""
    verifier: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()
    workers: int = Field(5, gt=0)
    """Most calls in flight."""
    timeout_seconds: float | None = Field(None, gt=0)
    """Seconds of one try, from sending to the last byte; null is 120, and 600 for a server on this
    machine."""
    max_tries: int = Field(5, gt=0)
    """Tries of one call at transient errors, of a server that answers other calls."""
    wait_minutes: float = Field(10.0, ge=0)
    """Minutes to wait for a server that loads, restarts or refuses connections; then the run stops with exit
    code 3, and what is not done stays to be done."""
    requests_per_minute: int | None = Field(None, gt=0)
    """Cap per model and process; calls that a server refuses are sent again after a while."""
    budget: BudgetSettings = BudgetSettings()
    store: StoreSettings = StoreSettings()

    @property
    def generator(self) -> ModelSettings:
        """Return the model that asks and answers."""
        return ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})

    def reviewer(self, role: Reviewer) -> ModelSettings:
        """Return the model of a reviewing role: its own settings before those of `llm`."""
        role_settings: RoleSettings = getattr(self, role)
        chosen = {name: value for name, value in role_settings.model_dump().items() if value is not None}
        return self.generator.model_copy(update=chosen)

    def seconds_for(self, model: ModelSettings) -> float:
        """Return how long one try of a model's call may take."""
        return self.timeout_seconds or (LOCAL_SECONDS if model.is_local else HOSTED_SECONDS)

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """Return the models of all roles."""
        return self.generator, self.reviewer("verifier"), self.reviewer("judge")

    @property
    def hosted_models(self) -> list[ModelSettings]:
        """Return those that are asked over the network."""
        return [model for model in self.models if model.provider in HOSTED]


def is_loopback(url: str) -> bool:
    """Return whether an address is of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_model_warning(settings: LLMSettings) -> str | None:
    """Return a warning where the hosted model that answers also judges; None where it does not."""
    generator, judge = settings.generator, settings.reviewer("judge")
    if judge.provider not in HOSTED or _who(generator) != _who(judge):
        return None
    return (
        f"{judge.provider}/{judge.model} judges its own answers, and models prefer those: set "
        "llm.judge.model (QA_PIPELINE_LLM__JUDGE__MODEL) to another"
    )


def _who(model: ModelSettings) -> tuple[str, str, str | None]:
    return model.provider, model.model, model.base_url
