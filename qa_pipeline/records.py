"""Records that stages exchange: parsed documents, passages, model replies and calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypedDict, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema

if TYPE_CHECKING:  # slow to import: the error module needs this one, and --help must be quick
    import polars as pl

Coverage = Literal["full", "partial", "none"]
QuestionType = Literal[
    "fact_single",
    "summary",
    "reasoning",
    "comparison",
    "procedure",
    "table",
    "multi_hop",
    "cross_document",
    "unanswerable",
    "false_premise",
]
HOP_SCOPES: "Mapping[QuestionType, str]" = {"multi_hop": "within", "cross_document": "across"}
"""Question types that need two chunks: both from one document ("within"), or from two ("across")."""
AnswerStyle = Literal["short", "sentence", "long_form", "steps"]
RowFlaw = Literal[
    "leaked_marker",
    "boilerplate",
    "answer_too_long",
    "copied_passage",
    "passage_not_cited",
    "language_mismatch",
    "not_standalone",
    "lead_in_only",
    "bare_cells",
]
"""Reasons for which a pair is rejected before verification."""


class Question(TypedDict):
    """A question of any origin, with the columns that all question and pair tables share."""

    question: str
    language: str
    batch: str


class TypedQuestion(Question):
    """A question with its type, which sets the length of the answer."""

    question_type: str


STYLES: "Mapping[QuestionType, AnswerStyle]" = {
    "summary": "long_form",
    "reasoning": "long_form",
    "comparison": "long_form",
    "procedure": "steps",
}
"""Answer style by question type; other types have `sentence`."""
BlockKind = Literal["heading", "paragraph", "list_item", "table_row", "code", "quote"]

Score = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]
"""A number from 0 to 1; `true` and `"1.0"` are invalid."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document, in reading order, as a format parser returns it.

    `level` is 1 to 6 for headings (1 is the title), and the nesting depth from 0 for list items.
    `page` is 1-based, and unset for documents without pages. `continues` marks a block that continues the
    previous block, such as a paragraph across a page break. `marker` is the number of an item in an ordered
    list, such as `6.` or `b)`.
    """

    kind: BlockKind
    text: str
    level: int = 0
    page: int | None = None
    continues: bool = False
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a batch: its bytes, and its path relative to the batch folder (POSIX, NFC)."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Text of a file that was omitted from its canonical text, counted by kind.

    `what` is a snake_case noun such as navigation, comment, running_head, include or scanned_page.
    `characters` counts non-blank characters in the file; a scanned page has 0.
    """

    what: str
    pieces: int
    characters: int


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The result of a format parser: blocks, metadata of the file, and counts of omitted text.

    `notes` are sentences for the document's row that a reader should know, such as pages without text.
    """

    blocks: tuple[Block, ...]
    title: str | None = None
    language: str | None = None
    source_uri: str | None = None
    licence: str | None = None
    status: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as context for a generator or verifier."""

    chunk_id: str
    title: str
    section_path: tuple[str, ...]
    text: str
    language: str
    document_id: str = ""


class ReplyModel(BaseModel):
    """Base of all reply models: frozen, and an unknown field is a schema breach."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_FEW: JsonDict = {"maxItems": 8}
"""A limit for servers that enforce the schema; small models repeat a quote until the reply is truncated."""


class DraftQuestion(ReplyModel):
    """A proposed question about a passage."""

    question: str = Field(min_length=1, description="One standalone question ending in a question mark.")
    question_type: QuestionType = Field(description="The type it is of.")


class QuestionsReply(ReplyModel):
    """The questions a passage can answer; empty when nothing in it is worth asking."""

    questions: Sequence[DraftQuestion] = Field(description="At most the number asked for, best first.")


class Quoted(ReplyModel):
    """Words of a passage, which come before what is written from them."""

    quotes: list[str] = Field(
        description="Words of a passage that state the answer, copied word for word.",
        json_schema_extra=_FEW,
    )


class DraftPair(DraftQuestion, Quoted):
    """A proposed question with its answer: quotes, question, answer and coverage, in this order."""

    answer: str = Field(description="The answer from the quotes; empty where coverage is none.")
    coverage: Coverage = Field(description="How far the answer gives what the question asks for.")


class PairsReply(QuestionsReply):
    """The questions a passage can answer, with their answers."""

    questions: Sequence[DraftPair] = Field(description="At most the number asked for, best first.")


class QuotedReply(ReplyModel):
    """One question with the sentence that answers it, chosen before the question is written."""

    sentence: int = Field(ge=0, description="Number of a sentence that answers alone; 0 where none does.")
    question: str = Field(description="The question that this sentence answers; empty where none does.")


class StandaloneReply(ReplyModel):
    """A question rewritten so that it can be understood by itself."""

    question: str | None = Field(
        description="The rewritten question; null where the passage does not say what is meant."
    )


class DraftCitation(ReplyModel):
    """A verbatim quote from one of the numbered passages."""

    passage: int = Field(ge=1, description="Number of the passage the quote is copied from.")
    quote: str = Field(min_length=1, description="Text copied word for word from that passage.")


class AnswerReply(ReplyModel):
    """An answer drafted from the given passages only."""

    citations: list[DraftCitation] = Field(description="One quote for each statement of the answer.")
    answer: str = Field(min_length=1, description="The answer, or the refusal text when coverage is none.")
    coverage: Coverage = Field(description="How far the passages answer the question.")
    used_chunks: SkipJsonSchema[list[int]] = Field([])
    """Numbers of passages that support the answer without a quote; the offline rules and plain-text replies
    set them."""


class GuardReply(ReplyModel):
    """A decision whether passages can answer a question; reasoning comes before the decision."""

    reasoning: str = Field(description="Which words answer it, or what is missing.")
    can_answer: bool = Field(description="Do the passages state what is asked for?")
    confidence: Score = Field(description="How sure this decision is, 0 to 1.")


class ReferenceReply(ReplyModel):
    """A decision whether one passage helps to answer a question; the rationale comes before the decision."""

    rationale: str = Field(description="What the passage states of what is asked for.")
    decision: Literal["accept", "reject", "unsure"] = Field(description="Does the passage help?")


class Comparison(ReplyModel):
    """A decision how one numbered answer relates to the reference answer; reasoning comes first."""

    answer: int = Field(ge=1, description="Number of the answer.")
    reasoning: str = Field(description="What they have in common, and what tells them apart.")
    agreement: Literal["same", "different", "unsure"] = Field(description="Do they give the same answer?")


class CompareReply(ReplyModel):
    """The comparisons of one request."""

    comparisons: list[Comparison] = Field(description="One for each answer, in order.")


class SplitClaim(ReplyModel):
    """A checkable statement of a numbered sentence of an answer."""

    sentence: int = Field(ge=1, description="Number of the sentence that makes the statement.")
    quote: str = Field(min_length=1, description="The words that make it, copied from that sentence.")
    claim: str = Field(min_length=1, description="The same words made understandable on their own.")


class SplitReply(ReplyModel):
    """The statements of an answer, each with its place, in the order of the answer."""

    claims: list[SplitClaim] = Field(description="Every statement of every sentence, in order.")


MOST_CLAIMS = 8
"""Most claims of a request to the verifier, few enough to be read one by one; it has one test claim more."""


class ClaimReply(ReplyModel):
    """A verifier's decision on one numbered claim; reasoning and quotes come before the decision."""

    claim: int = Field(ge=1, description="Number of the claim.")
    reasoning: str = Field(description="Which words of the passages support or contradict the claim.")
    quotes: list[str] = Field(
        [],
        description="The sentences that state the claim, copied word for word; none where it is not stated.",
        json_schema_extra=_FEW,
    )
    decision: Literal["accept", "reject", "unsure"] = Field(description="Is every part of the claim stated?")


class VerifyReply(ReplyModel):
    """A verifier's decisions on the claims of one request."""

    verdicts: list[ClaimReply] = Field(
        description="One for each claim, in order.", json_schema_extra={"maxItems": MOST_CLAIMS + 1}
    )


class JudgeReply(ReplyModel):
    """A judge's scores of one pair; the reason of each comes before it."""

    # the schema requires every field; a reply without the type is still accepted
    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema.update(required=list(schema["properties"]))
    )

    question_quality_reason: str = Field(description="Reason for the score of the question.")
    question_quality: Score = Field(description="Is the question clear by itself, and worth asking?")
    relevance_reason: str = Field(description="Reason for the score of relevance.")
    relevance: Score = Field(description="Does the answer address the question?")
    correctness_reason: str = Field(description="Reason for the score of correctness.")
    correctness: Score = Field(description="Is the answer right according to the passages?")
    completeness_reason: str = Field(description="Reason for the score of completeness.")
    completeness: Score = Field(description="Does the answer cover what the question asks?")
    question_type: QuestionType | None = Field(None, description="The type that the question has.")

    @field_validator("question_type", mode="before")
    @classmethod
    def _known_type(cls, name: object) -> object:
        """Drop an unknown type, to keep the scores of the reply."""
        return name if name in get_args(QuestionType) else None


class ContextReply(ReplyModel):
    """A decision whether one context denies an answer; reasoning comes before the decision."""

    reasoning: str = Field(description="Which words of the two cannot both be true, or that there are none.")
    contradicts: Literal["yes", "no", "unsure"] = Field(description="Does the context deny the answer?")


class RelevanceReply(ReplyModel):
    """The sentences of one context that help to answer a question; reasoning comes first."""

    reasoning: str = Field(description="What of the answer the context holds.")
    relevant: list[int] = Field(description="Numbers of the sentences that help; none where none does.")


class BackQuestionsReply(ReplyModel):
    """The questions that an answer would answer."""

    noncommittal: bool = Field(description="Does the answer evade, or say that it does not know?")
    questions: list[str] = Field(description="Three questions that it answers.")


class GroundednessReply(ReplyModel):
    """A rating of how well one context supports one statement; reasoning comes first."""

    reasoning: str = Field(description="Which words are not supported, or that there are none.")
    groundedness: Score = Field(description="How well the context supports the statement, 0 to 1.")


Role = Literal[
    "questions",
    "standalone",
    "validate",
    "guard",
    "answer",
    "split",
    "verify",
    "solve",
    "compare",
    "judge",
    "evaluate",
]
Repair = Literal["none", "stripped", "repaired", "reasked"]
"""How a reply became readable: unchanged; text around its JSON removed; JSON repaired; or asked again
with the error shown."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call, as far as the provider reports them.

    `input_tokens` includes `cached_tokens`, which the provider read from its own cache.
    `output_tokens` includes `thought_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    thought_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that a provider answered, or may have answered, with its tokens, time and cost.

    `call_id` is unique; repeated requests have the same `request_key`. `replied_model` is the name in the
    reply, if any. `started_at` is in Unix seconds. `seconds` count from the first try to the last byte, waits
    included. `outcome` is `replied`, or the reason code of the failure. `cost` is in `currency`; both are
    None if the model's price or the tokens are unknown.
    """

    call_id: str
    run: str
    batch: str
    role: Role
    asked_model: str
    replied_model: str | None
    request_key: str
    started_at: float
    seconds: float
    tries: int
    outcome: str
    repair: Repair = "none"
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    currency: str | None = None


ProgressCallback = Callable[[int, int], None]
"""A function that is called with (done, total) as work proceeds."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def passages_by_id(chunks: "pl.DataFrame") -> dict[str, Passage]:
    """Return all chunks as passages, keyed by chunk id."""
    columns = ["chunk_id", "title", "section_path", "text", "language", "document_id"]
    return {
        chunk_id: Passage(chunk_id, title, tuple(section_path), text, language, document_id)
        for chunk_id, title, section_path, text, language, document_id in chunks.select(columns).iter_rows()
    }


class Masked(NamedTuple):
    """A masked text, and the number of masked items by kind."""

    text: str
    counts: Mapping[str, int]


Mask = Callable[[str], Masked]
"""A function that masks the personal data in a text."""


def keep(text: str) -> Masked:
    """Return a text unchanged, with empty counts."""
    return Masked(text, {})
