"""Verify answers against the passages that should prove them, without a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.models.base import Encoder
from qa_pipeline.models.entailment.models import CrossEncoder
from qa_pipeline.records import Passage
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.references import without_marks
from qa_pipeline.verification.citations import ClaimCitations
from qa_pipeline.verification.claims import Answered, compare_claims
from qa_pipeline.verification.deciding import borderline, decide_claims
from qa_pipeline.verification.entailment import fill_entailment
from qa_pipeline.verification.llm_splitting import Answer, split_answers
from qa_pipeline.verification.llm_verifier import ask_verifier
from qa_pipeline.verification.sources import Source, SourceIndex
from qa_pipeline.verification.splitting import Claim, split_claims


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim, or an answer of several, and the texts that should prove it.

    `question` is what it answers. `headings` has those above each passage, the title first.
    """

    text: str
    passages: tuple[str, ...]
    language: str = "en"
    question: str = ""
    headings: tuple[tuple[str, ...], ...] = ()

    @property
    def statement_id(self) -> str:
        """Return a hash of all of it: the pair_id of its claims."""
        above = ("\x1e".join(headings) for headings in self.headings)
        return hash_parts(self.language, self.question, self.text, *self.passages, *above)[:32]

    def chunk_id(self, place: int) -> str:
        """Return the id of a passage in its claims."""
        return f"{self.statement_id[:16]}-{place}"


@dataclass(frozen=True, slots=True)
class Verified:
    """The claims and claim_verdicts of statements, whose `statement_id` is the pair_id.

    `failures` has the reason for each statement that a model should have cut into claims and did not.
    """

    claims: pl.DataFrame
    verdicts: pl.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Means:
    """The settings and models that verify; the steps of a model that is None are left out."""

    settings: VerificationSettings
    embedder: Encoder | None = None
    entailment: CrossEncoder | None = None
    verifier: LanguageModel | None = None
    splitter: LanguageModel | None = None
    llm: LLMSettings = field(default_factory=LLMSettings)


def verify(
    statements: Sequence[Statement],
    means: Means,
    *,
    given_claims: Mapping[str, Sequence[Claim]] | None = None,
    to_the_question: bool = True,
) -> Verified:
    """Verify statements, each against its own passages; equal ones are verified once.

    Marks of citations in an answer are taken off: its passages decide. The rules decide first, then the
    cross-encoder and the verifying model.

    Args:
        statements: a passage without text proves nothing.
        means: settings and models.
        given_claims: claims by statement_id, where a text is cut already.
        to_the_question: whether a source must speak of what is asked.

    Raises:
        PermanentModelError: the model can answer no further request.
    """
    distinct = {statement.statement_id: statement for statement in statements}
    passages = {
        passage.chunk_id: passage for statement in distinct.values() for passage in _passages(statement) if passage.text
    }
    chunk_ids = {
        statement_id: tuple(i for place in range(len(statement.passages)) if (i := statement.chunk_id(place)) in passages)
        for statement_id, statement in distinct.items()
    }
    index = SourceIndex({chunk_id: _source(passage) for chunk_id, passage in passages.items()})
    asked = pl.DataFrame(
        [
            (statement_id, statement.question, without_marks(statement.text), statement.language, list(chunk_ids[statement_id]))
            for statement_id, statement in distinct.items()
        ],
        schema=_ASKED,
        orient="row",
    )
    failures: dict[str, str] = {}
    claims_by_statement = dict(given_claims or {})
    if means.splitter is not None:
        answers = [
            Answer(statement_id, BATCH, statement.question, without_marks(statement.text), statement.language, chunk_ids[statement_id])
            for statement_id, statement in distinct.items()
            if statement_id not in claims_by_statement
        ]
        claims_by_statement |= split_answers(
            answers, passages, means.splitter, means.settings, means.llm, failures=failures
        )
    answered = [
        _answered(statement, chunk_ids[statement_id], claims_by_statement.get(statement_id)) for statement_id, statement in distinct.items()
    ]
    claims = compare_claims(
        answered, index, means.embedder, one_corpus=False, to_the_question=to_the_question
    )
    claims = fill_entailment(claims, asked, passages, means.entailment)
    verdicts = decide_claims(claims, None, means.settings)
    if means.verifier is not None:
        open_claims = borderline(claims, verdicts)
        replies = ask_verifier(
            open_claims, asked, passages, index.sources, means.verifier, means.settings, means.llm
        )
        verdicts = decide_claims(claims, None, means.settings, replies)
    return Verified(claims, verdicts, failures)


BATCH = "statements"
"""Batch of the claims and calls of statements, which belong to none."""
_ASKED = {
    "pair_id": pl.String(),
    "question": pl.String(),
    "answer": pl.String(),
    "language": pl.String(),
    "used_chunk_ids": pl.List(pl.String()),
}


def _passages(statement: Statement) -> list[Passage]:
    headings = statement.headings or ((),) * len(statement.passages)
    return [
        Passage(
            statement.chunk_id(place), above[0] if above else "", above[1:], text if text.strip() else "", statement.language
        )
        for place, (text, above) in enumerate(zip(statement.passages, headings, strict=True))
    ]


def _source(passage: Passage) -> Source:
    return Source(
        chunk_id=passage.chunk_id,
        document_id=passage.chunk_id,
        text=blank_injections(passage.text, passage.language),
        language=passage.language,
        headings=(passage.title, *passage.section_path),
        document_text=passage.text,
    )


def _answered(statement: Statement, chunk_ids: tuple[str, ...], claims: Sequence[Claim] | None) -> Answered:
    answer = without_marks(statement.text)
    found = claims or split_claims(answer, statement.language)
    citations = ClaimCitations("resolved" if chunk_ids else "uncited", None, chunk_ids)
    return Answered(
        statement.statement_id, BATCH, statement.question, answer, statement.language, found, [citations] * len(found)
    )
