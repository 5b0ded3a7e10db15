"""Verify answers against given passages, without a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.models.cross_encoder import EntailmentModel
from qa_pipeline.models.encoder import Encoder
from qa_pipeline.records import Passage
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.text.references import without_marks
from qa_pipeline.verification.citations import ClaimCitations
from qa_pipeline.verification.claims import Answered, compare_claims, fill_entailment
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline.verification.sources import Source, SourceIndex
from qa_pipeline.verification.splitting import AnswerRow, Claim, split_answers, split_claims


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim, or an answer of several claims, and the passages that should prove it.

    `question` is optional. `headings` has the headings of each passage, title first.
    """

    text: str
    passages: tuple[str, ...]
    language: str = "en"
    question: str = ""
    headings: tuple[tuple[str, ...], ...] = ()

    @property
    def statement_id(self) -> str:
        """Return a hash of all fields, which is the pair_id of the claims."""
        above = ("\x1e".join(headings) for headings in self.headings)
        return hash_parts(self.language, self.question, self.text, *self.passages, *above)[:32]

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Return the ids of non-empty passages. Each ends with the index of its passage."""
        name = self.statement_id[:16]
        return tuple(f"{name}-{index}" for index, text in enumerate(self.passages) if text.strip())


@dataclass(frozen=True, slots=True)
class Verified:
    """The claims and verdicts of statements. Their pair_id is the `statement_id`.

    `failures` has the reason for each statement that a model failed to split.
    """

    claims: pl.DataFrame
    verdicts: pl.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)

    def claims_with_verdicts(self) -> pl.DataFrame:
        """Return the claims with their verdicts and `evidence_passage`, the index of the evidence."""
        verdicts = self.verdicts.select("claim_id", "verdict", "decided_by", "reason", "detail")
        index = pl.col("evidence_chunk_id").str.split("-").list.last().cast(pl.Int64())
        claims = self.claims.with_columns(evidence_passage=index)
        return claims.join(verdicts, on="claim_id", maintain_order="left")


@dataclass(frozen=True, slots=True)
class VerificationModels:
    """Settings and models for verification. Steps without a model are skipped."""

    settings: VerificationSettings
    embedder: Encoder | None = None
    entailment: EntailmentModel | None = None
    verifier: LanguageModel | None = None
    splitter: LanguageModel | None = None
    llm: LLMSettings = field(default_factory=LLMSettings)


def verify(
    statements: Sequence[Statement],
    models: VerificationModels,
    *,
    given_claims: Mapping[str, Sequence[Claim]] | None = None,
    must_answer: bool = True,
) -> Verified:
    """Verify statements, each against its own passages. Equal statements are verified once.

    Citation marks in an answer are removed, because only its passages count. The rules decide first, then the
    cross-encoder and the verifying model. Passages without text are ignored.

    `given_claims` has claims by statement_id for texts that are already split. With `must_answer`, a passage
    proves a claim only if it answers the question.

    Raises:
        PermanentModelError: the model cannot answer further requests.
    """
    distinct = list({statement.statement_id: statement for statement in statements}.values())
    passages = {passage.chunk_id: passage for statement in distinct for passage in _passages(statement)}
    index = SourceIndex({chunk_id: _source(passage) for chunk_id, passage in passages.items()})
    failures: dict[str, str] = {}
    claims_by_id = dict(given_claims or {})
    pairs = statement_pairs(distinct)
    if models.splitter is not None:
        unsplit = pairs.filter(~pl.col("pair_id").is_in(list(claims_by_id)))
        claims_by_id |= split_answers(
            unsplit, passages, models.splitter, models.settings, models.llm, failures=failures
        )
    answered = []
    for row in typed_rows(pairs, AnswerRow):
        row_claims = claims_by_id.get(row["pair_id"]) or split_claims(row["answer"], row["language"])
        status = "resolved" if row["used_chunk_ids"] else "uncited"
        citations = ClaimCitations(status, None, tuple(row["used_chunk_ids"]))
        answered.append(Answered(row, row_claims, [citations] * len(row_claims)))
    claims = compare_claims(answered, index, models.embedder, must_answer=must_answer)
    claims = fill_entailment(claims, pairs, passages, models.entailment)
    verdicts = verify_claims(
        claims, pairs, index.sources, models.settings, model=models.verifier, llm=models.llm
    )
    return Verified(claims, verdicts, failures)


BATCH = "statements"
"""Batch name for claims and calls of statements outside of batches."""


def statement_pairs(statements: Sequence[Statement]) -> pl.DataFrame:
    """Return statements as drafted pairs."""
    rows = [
        {
            "pair_id": statement.statement_id,
            "batch": BATCH,
            "question": statement.question,
            "answer": without_marks(statement.text),
            "language": statement.language,
            "used_chunk_ids": list(statement.chunk_ids),
            "origin": "imported",
            "status": "drafted",
            "coverage": "full",
            "citations": [],
        }
        for statement in statements
    ]
    return pl.DataFrame(rows, schema=PAIRS.schema)


def _passages(statement: Statement) -> list[Passage]:
    ids, language = iter(statement.chunk_ids), statement.language  # an id for each passage with text
    headings = statement.headings or ((),) * len(statement.passages)
    return [
        Passage(next(ids), next(iter(path), ""), path[1:], text, language)  # title first, then sections
        for text, path in zip(statement.passages, headings, strict=True)
        if text.strip()
    ]


def _source(passage: Passage) -> Source:
    text, headings = blank_injections(passage.text, passage.language), (passage.title, *passage.section_path)
    return Source(passage.chunk_id, passage.chunk_id, text, passage.language, headings, passage.text)
