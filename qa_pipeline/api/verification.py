"""Answers verified against passages: one, or a frame of them, without settings or folders."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from qa_pipeline.api.frames import check_columns, rows_of
from qa_pipeline.api.models import AnyModel, language_model
from qa_pipeline.curation.ledger import support_level
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RagRow
from qa_pipeline.evaluation.datasets.labelled_files import check
from qa_pipeline.evaluation.running import cut_by
from qa_pipeline.evaluation.signals.statement_tables import (
    Statement,
    StatementTables,
    decide_statements,
    statement_tables,
)
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.models.base import Embedder
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.row_files import Fault
from qa_pipeline.storage.tables import REFUSALS
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.text.rendering import render_html
from qa_pipeline.verification.outcomes import ground_pairs
from qa_pipeline.verification.refusals import judge_refusals

Row = dict[str, Any]
_VERDICTS = {
    "grounded": "accepted",
    "rejected": "rejected",
    "undecided": "needs_review",
    "failed": "failed",
    "no_claims": "failed",
    "correct_refusal": "accepted",
    "refused_answerable": "rejected",
    "unproved_refusal": "needs_review",
}
"""Verdict by how source verification ended: that of the ledger, for a pair that nobody judges."""
_LINES = {
    "supported": "solid #2c7a41",
    "contradicted": "double #8d2a80",
    "unsupported": "solid #b3401f",
    "undecided": "dashed #8a6a00",
    "failed": "dotted #5b6570",
}
"""Lines under claims in a notebook, told apart without colour too; the colours are those of pages."""
_TOGETHER = 64
"""Answers that are verified together, so that a frame of any length fills no memory."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words of a context that a claim was compared with: `context` counts from 0, places are in it."""

    context: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement of an answer.

    Attributes:
        text: its words; `answer[start:end]`.
        start: first character in the answer.
        end: one past the last.
        verdict: supported, contradicted, unsupported, undecided or failed.
        decided_by: the step that decided, such as alignment (word by word), citation or llm.
        reason: a code where it is not supported; else None.
        detail: what the step found, in words.
        differences: from the evidence, that no allowed kind covers.
        evidence: None where no context was near.
    """

    text: str
    start: int
    end: int
    verdict: str
    decided_by: str
    reason: str | None
    detail: str | None
    differences: tuple[str, ...]
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Verification:
    """Hold what source verification finds of an answer.

    Attributes:
        question: as it was given.
        answer: as it was given; claims have their places in it.
        contexts: the texts of the passages.
        language: by whose rules the texts were read.
        verdict: accepted (every claim is supported, or a refusal is right), rejected, needs_review (something
            is neither proved nor denied) or failed (it could not be verified). Nothing judges how good the
            answer is.
        reason: the reason code of the verdict.
        detail: what stands behind it, in words.
        grounding: share of claims supported; None for a refusal, or without claims.
        grounding_interval: 95 % interval of that share (Wilson), None where it is.
        support_level: well_supported, partial or weak; None where grounding is.
        claims: in the order of the answer.
    """

    question: str
    answer: str
    contexts: tuple[str, ...]
    language: str
    verdict: str
    reason: str
    detail: str | None
    grounding: float | None
    grounding_interval: tuple[float, float] | None
    support_level: str | None
    claims: tuple[Claim, ...]

    @property
    def accepted(self) -> bool:
        """Return whether every claim is supported, or a refusal is right."""
        return self.verdict == "accepted"

    @property
    def unsupported_spans(self) -> tuple[tuple[int, int, str], ...]:
        """Return first character, one past the last, and reason of each claim that is not supported."""
        return tuple(
            (claim.start, claim.end, claim.reason or claim.verdict)
            for claim in self.claims
            if claim.verdict != "supported"
        )

    @property
    def explanation(self) -> str:
        """Return the verdict and its reason as a sentence."""
        return f"{self.verdict.replace('_', ' ')}: {in_words(self.reason, self.detail)}"

    def to_dict(self) -> Row:
        """Return all of it as values of JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return render_html(
            "api/verification.html.j2",
            verification=self,
            reason=in_words(self.reason, self.detail),
            pieces=list(self._pieces()),
            lines=_LINES,
        )

    def _pieces(self) -> Iterator[tuple[str, Claim | None]]:
        """Yield the answer in stretches, each with its claim."""
        at = 0
        for claim in self.claims:
            start, end = max(at, claim.start), max(at, claim.end)
            yield self.answer[at:start], None
            yield self.answer[start:end], claim
            at = end
        yield self.answer[at:], None


def verify(
    question: str,
    answer: str,
    contexts: Sequence[str | Mapping[str, Any]],
    *,
    language: str | None = None,
    model: AnyModel | None = None,
) -> Verification:
    """Verify an answer against the passages that it should rest on.

    Rules prove what the passages state and deny what they contradict; the rest is undecided, and a model is
    asked about it where there is one. No claim is accepted because it is similar to a passage.

    Args:
        question: what the answer is to; a sentence that answers something else is not accepted.
        answer: one or more sentences; marks of sources such as [1] are taken off.
        contexts: texts, or mappings with `text`, and `headings` above it (the title first).
        language: en, sv or de; None has it recognised.
        model: decides what the rules leave open: a name such as "gemini/gemini-3-flash-preview" or
            "openai/NAME", a function from prompt to reply, or a language model of the package.

    Raises:
        InputError: question, answer or contexts are missing, empty or of another type.
        SettingsError: the model's name cannot be used.
        ModelError: the model can answer no request.
    """
    row = {"question": question, "answer": answer, "contexts": contexts, "language": language}
    checked = _checked(next(rows_of([row])))
    if isinstance(checked, Fault):
        raise InputError(checked.detail)
    (verification,) = _verify([checked], language_model(model))
    return verification


def verify_many(data: object, *, model: AnyModel | None = None) -> pl.DataFrame:
    """Verify the answers of a frame or data set.

    Args:
        data: rows with question, answer and contexts, under these names or those of Ragas, DeepEval and
            TruLens; see `rows_of` for what is read.
        model: as of `verify`.

    Returns:
        A row for each row of the data, in order: id (its own, else its place from 0), question, answer,
        verdict, reason, detail, grounding, grounding_low, grounding_high, support_level and claims. A row
        that cannot be read has the verdict failed and says why; the others go on.

    Raises:
        InputError: the data holds no rows, or none has a question, an answer or contexts.
        ModelError: the model can answer no further request.
    """
    rows = list(rows_of(data))
    check_columns(rows, ("query", "answer", "contexts"))
    checked = [_checked(row) for row in rows]
    usable = [row for row in checked if not isinstance(row, Fault)]
    verifier = language_model(model)
    verified = [
        verification
        for start in range(0, len(usable), _TOGETHER)
        for verification in _verify(usable[start : start + _TOGETHER], verifier)
    ]
    results = iter(verified)
    return pl.DataFrame(
        [
            _failure(row, read) if isinstance(read, Fault) else _result(read, next(results))
            for row, read in zip(rows, checked, strict=True)
        ],
        schema=RESULTS,
    ).with_columns(pl.coalesce("id", pl.int_range(pl.len()).cast(pl.String)))


_EVIDENCE = pl.Struct({"context": pl.Int64(), "start": pl.Int64(), "end": pl.Int64(), "quote": pl.String()})
_CLAIM = pl.Struct(
    {
        "text": pl.String(),
        "start": pl.Int64(),
        "end": pl.Int64(),
        "verdict": pl.String(),
        "decided_by": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
        "differences": pl.List(pl.String()),
        "evidence": _EVIDENCE,
    }
)
RESULTS = pl.Schema(
    {
        "id": pl.String(),
        "question": pl.String(),
        "answer": pl.String(),
        "verdict": pl.String(),
        "reason": pl.String(),
        "detail": pl.String(),
        "grounding": pl.Float64(),
        "grounding_low": pl.Float64(),
        "grounding_high": pl.Float64(),
        "support_level": pl.String(),
        "claims": pl.List(_CLAIM),
    }
)
"""A row of `verify_many`."""


def _result(row: Row, verification: Verification) -> Row:
    values = {"id": row.get("id"), **verification.to_dict()}
    low, high = verification.grounding_interval or (None, None)
    values |= {"grounding_low": low, "grounding_high": high}
    return {name: values[name] for name in RESULTS}


def _failure(row: Row | Fault, fault: Fault) -> Row:
    """Return the result of a row that cannot be verified, with the texts of it that a frame can hold."""
    texts = {} if isinstance(row, Fault) else {name: row.get(name) for name in ("question", "answer")}
    readable = {
        name: value.encode(errors="replace").decode()
        for name, value in texts.items()
        if isinstance(value, str)
    }
    return {**readable, "verdict": "failed", "reason": fault.reason, "detail": fault.detail}


def _checked(row: Row | Fault) -> Row | Fault:
    """Return a row that can be verified, or what is wrong with it."""
    checked = check(row, RagRow)
    if isinstance(checked, Fault):
        return checked
    if not (checked["answer"] or "").strip():
        return Fault("missing_field", "answer is missing or empty; it should hold the text to verify")
    if checked["contexts"] is None:
        return Fault("missing_field", "contexts is missing; it should hold a list of texts")
    texts = [context["text"] or "" for context in checked["contexts"]]
    if not any(text.strip() for text in texts):
        return Fault("no_passage", "no context has text; give the passages that the answer should rest on")
    return checked


@functools.cache
def _resources() -> Resources:
    """Return the default settings with what is built from them; nothing is stored."""
    return Resources(cut_by(Settings()))


@functools.cache
def _embedder() -> Embedder:
    return load_embedder(_resources().settings.embedding)


def _verify(rows: Sequence[Row], model: LanguageModel | None) -> list[Verification]:
    """Return what is found of checked rows, in order."""
    tables = statement_tables([_statement(row) for row in rows])
    refused = pl.Series(
        [
            pair_id
            for pair_id, row in zip(tables.pair_ids, rows, strict=True)
            if is_refusal(row["answer"], row["language"])
        ],
        dtype=pl.String,
    )
    coverage = pl.when(pl.col("pair_id").is_in(refused.implode())).then(pl.lit("none")).otherwise("coverage")
    tables = StatementTables(
        tables.documents, tables.chunks, tables.pairs.with_columns(coverage=coverage), tables.pair_ids
    )
    resources = _resources()
    settings = resources.settings.verification
    claims, decided = decide_statements(tables, resources, model, similarity=False)
    grounds = ground_pairs(tables.pairs, claims, decided, accept_grounding=settings.accept_grounding)
    outcome, proved = pl.coalesce("refusal", "outcome"), pl.col("outcome") == "grounded"
    results = grounds.join(
        _refusals(tables, settings).select("pair_id", refusal="outcome"), on="pair_id", how="left"
    ).with_columns(
        support_level(),
        verdict=outcome.replace_strict(_VERDICTS),
        reason=pl.when(proved).then(pl.lit("passed")).otherwise(pl.coalesce("refusal", "reason", outcome)),
        detail=pl.when(~proved).then("detail"),
    )
    rows_of_claims = claims.join(
        decided.select("claim_id", "verdict", "decided_by", "reason", "detail"), on="claim_id"
    ).sort("pair_id", "position")
    claims_of: dict[str, list[Row]] = {}
    for claim in rows_of_claims.iter_rows(named=True):
        claims_of.setdefault(claim["pair_id"], []).append(claim)
    starts = dict(tables.chunks.select("chunk_id", "char_start").iter_rows())
    result_of = {result["pair_id"]: result for result in results.iter_rows(named=True)}
    return [
        _verification(row, result_of[pair_id], claims_of.get(pair_id, []), starts)
        for row, pair_id in zip(rows, tables.pair_ids, strict=True)
    ]


def _statement(row: Row) -> Statement:
    texts = tuple(context["text"] or "" for context in row["contexts"])
    headings = tuple(tuple(context["headings"] or ()) for context in row["contexts"])
    return Statement(row["answer"], texts, row["language"], row["query"], headings if any(headings) else ())


def _refusals(tables: StatementTables, settings: VerificationSettings) -> pl.DataFrame:
    """Weigh refusals, each against the passages of its own row."""
    refused = tables.pairs.filter(pl.col("coverage") == "none")
    if not refused.height:
        return REFUSALS.empty()
    return pl.concat(
        judge_refusals(
            pair,
            tables.chunks.filter(pl.col("chunk_id").is_in(pair["passage_ids"].explode().implode())),
            _embedder(),
            settings,
        )
        for pair in refused.iter_slices(1)
    )


def _verification(row: Row, result: Row, claims: Sequence[Row], starts: Mapping[str, int]) -> Verification:
    contexts = [context["text"] or "" for context in row["contexts"]]
    places = [place for place, text in enumerate(contexts) if text.strip()]
    low, high = result["grounding_low"], result["grounding_high"]
    return Verification(
        question=row["query"],
        answer=row["answer"],
        contexts=tuple(contexts),
        language=row["language"],
        **{name: result[name] for name in ("verdict", "reason", "detail", "grounding", "support_level")},
        grounding_interval=None if result["grounding"] is None else (low, high),
        claims=tuple(_claim(claim, places, starts) for claim in claims),
    )


def _claim(row: Row, places: Sequence[int], starts: Mapping[str, int]) -> Claim:
    evidence, chunk_id = None, row["evidence_chunk_id"]
    if chunk_id is not None:
        start = starts[chunk_id]
        evidence = Evidence(
            places[int(chunk_id.rpartition("-")[2])],
            row["evidence_start"] - start,
            row["evidence_end"] - start,
            row["evidence_quote"],
        )
    names = ("text", "start", "end", "verdict", "decided_by", "reason", "detail")
    return Claim(
        **{name: row[name] for name in names}, differences=tuple(row["unproved"] or ()), evidence=evidence
    )
