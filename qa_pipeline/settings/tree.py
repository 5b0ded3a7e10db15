"""All settings as a typed tree: defaults, then the YAML file, then the environment.

Environment names are `QA_PIPELINE_` plus the path with double underscores, such as
`QA_PIPELINE_LLM__PROVIDER=gemini`. The YAML file is `qa_pipeline.yaml` in the working folder, or the file in
`QA_PIPELINE_SETTINGS`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import pydantic
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSourceError

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings import base
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline.settings.generation import (
    SWEDISH_EMBEDDING_MODEL,
    SWEDISH_EMBEDDING_REVISION,
    EmbeddingSettings,
    GenerationSettings,
    RetrievalSettings,
)
from qa_pipeline.settings.llm import LLMSettings, with_server
from qa_pipeline.settings.verification import (
    CanarySettings,
    JudgingSettings,
    QualitySettings,
    ReleaseSettings,
    TrainingSettings,
    VerificationSettings,
    check_fitted,
)
from qa_pipeline.storage.object_stores import store_of

ERRORS = "errors"
"""Name of the share of failed requests in alerts, next to the metrics."""
MASK = "********"
"""Replaces every secret, with a fixed length that does not reveal theirs."""
_PASSWORD = re.compile(r"(?<=://)([^/:@\s]*):[^/@\s]*@")
"""User and password of an address, such as `user:password@`; the group is the user, who is not masked."""


class AlertSettings(base.Group):
    """Limits of metrics for alerts."""

    below: dict[str, float] = pydantic.Field(
        {"faithfulness": 0.85, "grounding": 0.80, "context_precision": 0.5}
    )
    """Lower limits of means, by metric."""
    above: dict[str, float] = pydantic.Field({ERRORS: 0.05})
    """Upper limits of means, by metric; errors is the share of failed requests."""
    urls: tuple[pydantic.SecretStr, ...] = ()
    """Apprise addresses for messages of the sensor `alerts`, such as mailto://user:password@host or
    slack://tokens; needs the alerts extra."""


class MonitoringSettings(base.Group):
    """Monitoring answers in production."""

    logs: Path | None = None
    """Folder of logs that an Observer writes and the asset production_quality reads."""
    spans: bool = False
    """Emit an OpenTelemetry span for each stage of a batch; needs the otel extra and a configured SDK."""
    alerts: AlertSettings = AlertSettings()


def _address_of_a_server(address: str) -> str:
    """Return an address without a trailing slash; a path is refused, since it would break the app's links."""
    parts = urlsplit(address)
    has_path = address.rstrip("/").count("/") != 2  # the slashes of ://
    if parts.scheme not in ("http", "https") or not parts.hostname or has_path:
        raise ValueError("write only scheme and host, such as https://review.example.org")
    return address.rstrip("/")


class ReviewSettings(base.Group):
    """Address and users of the review app."""

    url: Annotated[str, pydantic.AfterValidator(_address_of_a_server)] | None = None
    """Address of the app for its users, such as https://review.example.org; requests to its host are
    accepted. With https the cookie is sent over TLS only."""
    user_header: str | None = pydantic.Field(None, pattern="^[A-Za-z0-9-]+$")
    """Header with the user, such as X-Forwarded-User, which replaces the token. Only the proxy may reach the
    server, and it must overwrite the header."""


Profile = Literal["embedded", "hosted"]
PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "embedded": {
        "generation": {
            "questions_per_chunk": 3,
            "mix": {"fact_single": 0.6, "summary": 0.1, "procedure": 0.15, "table": 0.15},
        }
    },
    "hosted": {
        "embedding": {"model": SWEDISH_EMBEDDING_MODEL, "revision": SWEDISH_EMBEDDING_REVISION},
        "llm": {"provider": "gemini"},
    },
}
"""Defaults of each profile; `embedded` works without hub and key.

Its rules are free, but find little in most chunks. So they may ask three times, and only question types that
they can write."""
MODEL_PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "small": {
        "generation": {
            "answers": "quoted",
            "questions_per_chunk": 1,
            "mix": {"fact_single": 0.8, "procedure": 0.2},
        },
        "retrieval": {"top_k": 3},
    },
    "quality": {
        "generation": {"answers": "from_passages", "drafts_per_question": 2},
        "verification": {"round_trip": True},
    },
}
"""Defaults of each `llm.profile`, with higher precedence than those of `profile`. A small model copies a
sentence and asks for it, and works better with three passages than with five."""
PRIVATE_UMASK = 0o077  # files 0600 and folders 0700, for the owner only


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix=base.PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    profile: Profile = "embedded"
    """embedded works offline; hosted uses embeddings from the hub and Gemini."""
    corpus: Annotated[str, pydantic.BeforeValidator(base.location_of)] = "data/corpora"
    """Folder whose sub-folders are batches, or an address such as s3://bucket/x."""
    out: Annotated[Path, pydantic.PlainValidator(base.output_folder), pydantic.PlainSerializer(str)] = Path(
        "data"
    )
    """Folder for tables, indexes, exports and releases, or an address such as s3://bucket/x."""
    cache: Annotated[Path | None, pydantic.BeforeValidator(base.local_folder)] = None
    """Local folder for stored replies, vectors and logits; by default `cache` in `out`."""
    private: bool = True
    """Create files and folders for their owner only (0600, 0700); false follows the umask."""
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    generation: GenerationSettings = GenerationSettings()
    verification: VerificationSettings = VerificationSettings()
    canaries: CanarySettings = CanarySettings()
    judging: JudgingSettings = JudgingSettings()
    llm: LLMSettings = LLMSettings()
    training: TrainingSettings = TrainingSettings()
    quality: QualitySettings = QualitySettings()
    release: ReleaseSettings = ReleaseSettings()
    monitoring: MonitoringSettings = MonitoringSettings()
    review: ReviewSettings = ReviewSettings()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _filled_from_profile(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Fill in the defaults of `llm.profile`, then of `profile`, where the raw values lack a setting."""
        llm = values.get("llm")  # a mapping, or a validated LLMSettings from a caller
        with_server(llm, LLMSettings.model_fields)  # refuses an unknown provider
        model_profile = llm.get("profile") if isinstance(llm, dict) else getattr(llm, "profile", None)
        model_defaults = MODEL_PROFILES.get(str(model_profile), {})
        profile_defaults = PROFILES.get(str(values.get("profile", "embedded")), {})
        filled = dict(values)
        for group, group_defaults in (*model_defaults.items(), *profile_defaults.items()):
            chosen = filled.get(group, {})
            if not isinstance(chosen, dict):  # such as a validated group
                continue
            # an embedding model that the user names does not have the revision of the profile's model
            has_own_model = "revision" in group_defaults and "model" in chosen
            if not has_own_model:
                filled[group] = {**group_defaults, **chosen}
        return filled

    @pydantic.model_validator(mode="after")
    def _check_cache(self) -> "Settings":
        if self.cache is None and store_of(self.out) is not None:
            raise ValueError(
                f"out is an address, and stores of replies and vectors are local: set {base.PREFIX}CACHE (or "
                "cache in the settings file) to a permanent folder, since paid replies are kept there"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_spending_cap(self) -> "Settings":
        """Refuse a model that may cost money without a cap on calls, tokens or cost."""
        paid = [model.provider for model in self.llm.hosted_models if not model.is_local]
        if paid and all(cap is None for cap in self.llm.budget.model_dump().values()):
            raise ValueError(
                f"provider {paid[0]} may cost money and the run has no spending cap; "
                f"set {base.PREFIX}LLM__BUDGET__MAX_CALLS (or MAX_COST, MAX_TOKENS), "
                "or pass --max-calls or --max-cost; the API key is read from the environment"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _unjudged_by_profile(self) -> "Settings":
        """Accept unjudged pairs offline by default; with a hosted model, pairs wait for its judgement."""
        if self.judging.accept_unjudged is None:
            offline = self.profile == "embedded" and not self.llm.hosted_models
            decided = self.judging.model_copy(update={"accept_unjudged": offline})
            object.__setattr__(self, "judging", decided)  # the model is frozen
        return self

    @pydantic.model_validator(mode="after")
    def _check_thresholds(self) -> "Settings":
        check_fitted(self.verification.fitted, self.verification.entailment.model)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, YAML file, defaults."""
        path = Path(os.environ.get(base.FILE_NAME, "qa_pipeline.yaml"))
        file_values = base.read_settings_file(path)
        for name, field in settings_cls.model_fields.items():
            if isinstance(field.default, base.Group) and not isinstance(file_values.get(name, {}), dict):
                raise SettingsError(f"settings file {path}: {name} is a group; write its settings below it")
        return init_settings, env_settings, InitSettingsSource(settings_cls, file_values)


def load_settings(**overrides: Any) -> Settings:
    """Load the settings from all sources; `overrides` take precedence.

    With `private` this sets the umask of the process, since SQLite, Parquet writers and child processes take
    no file mode. A SettingsError lists every setting that is unknown or invalid.
    """
    file_name = os.environ.get(base.FILE_NAME)
    if file_name and not Path(file_name).is_file():
        raise SettingsError(f"{base.FILE_NAME} names {file_name}, which is not a file")
    base.check_environment(os.environ, Settings.model_fields)
    try:
        settings = Settings(**overrides)
    except pydantic.ValidationError as error:
        raise SettingsError(base.explain(error)) from None
    except UnreadableSourceError as error:  # such as broken JSON in QA_PIPELINE_LLM, for a whole group
        raise SettingsError(f"{error}; name one setting, such as {base.PREFIX}LLM__WORKERS=20") from None
    if settings.private:
        os.umask(PRIVATE_UMASK)
    return settings


def settings_in_force(overrides: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row per setting, in order of the tree: path, JSON value with masked secrets, and meaning."""
    settings = load_settings(**overrides)
    values = settings.model_dump(mode="json")
    rows = []
    for path, field in setting_fields(Settings):
        parts = path.split(".")  # such as llm, budget, max_calls
        value: Any = reduce(dict.__getitem__, parts, values)
        if isinstance(reduce(getattr, parts, settings), pydantic.SecretStr):
            value = MASK
        if isinstance(value, str):
            value = _PASSWORD.sub(rf"\1:{MASK}@", value)
        rows.append({"path": path, "value": value, "meaning": field.description or ""})
    return rows


def setting_fields(model: type[pydantic.BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield path and field of every setting of a group; `llm.model` comes before `llm.budget.max_calls`."""
    nested = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, pydantic.BaseModel):
            nested.append((name, field.annotation))
        else:
            yield f"{prefix}{name}", field
    for name, group in nested:
        yield from setting_fields(group, f"{prefix}{name}.")
