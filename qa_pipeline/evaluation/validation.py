"""Verification and judge against labels: wrong answers accepted, right answers lost, and the tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.ledger import judged_verdicts
from qa_pipeline.generation.answers import answer_request
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request
from qa_pipeline.models.encoder import TokenCounter
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import Passage, TypedQuestion
from qa_pipeline.statistics import quotient, wilson_bounds
from qa_pipeline.storage.tables import ASSESSMENTS
from qa_pipeline.verification import verify as verification
from qa_pipeline.verification.judging import judge_rows
from qa_pipeline.verification.verify import BATCH, Statement

Document = dict[str, Any]
Verdicts = Sequence[bool | None]
"""True for each accepted answer, False for a rejected answer, None if undecided."""


@dataclass
class CountedModel:
    """A model that counts the tokens of its requests and replies, including stored replies."""

    model: LanguageModel
    counter: TokenCounter
    tokens: int = 0

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return self.model.name

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask the model and count."""
        reply = await self.model.complete(request)
        self.tokens += sum(self.counter.count([request.system, request.prompt, reply.raw]))
        return reply


def measure_validation(
    items: pl.DataFrame,
    resources: Resources,
    verifier: LanguageModel | None = None,
    judge: LanguageModel | None = None,
) -> Document:
    """Measure hallucinations and tokens with and without validation, and the accuracy of each step.

    An answer (`labelled_files.ITEMS`) passes if all its claims are supported and the judge, if any, accepts
    it. The judge is asked about every answer. Raises `PermanentModelError` if a model refuses all requests.
    """
    counted_verifier, counted_judge = (
        None if model is None else CountedModel(model, resources.counter) for model in (verifier, judge)
    )
    texts = items.select("answer", "context", "language", "question").iter_rows()
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in texts
    ]
    labels = [label == 1 for label in items["label"]]
    verified = _verified(statements, resources, counted_verifier)
    judged = None if counted_judge is None else _judged(statements, resources, counted_judge)
    decisions = [verified] if judged is None else [verified, judged]
    passed = [all(verdict is True for verdict in verdicts) for verdicts in zip(*decisions, strict=True)]
    passed_labels = [label for label, is_passed in zip(labels, passed, strict=True) if is_passed]
    without_validation, with_validation = _rate(labels), _rate(passed_labels)
    # share of the hallucinations that pass
    remaining = quotient(with_validation["rate"], without_validation["rate"] or 0)
    drafting = sum(_tokens_of_drafting(statement, resources) for statement in statements)
    validating = sum(model.tokens for model in (counted_verifier, counted_judge) if model is not None)
    return {
        "without_validation": without_validation,
        "with_validation": with_validation,
        "fewer_hallucinations": None if remaining is None else 1 - remaining,
        "right_answers_passed": quotient(sum(passed_labels), sum(labels)),
        "tokens": {
            "drafting": drafting,
            "validation": validating,
            "factor": quotient(drafting + validating, drafting),
        },
        "verification": agreement(verified, labels),
        "judge": None if judged is None else agreement(judged, labels),
    }


def _tokens_of_drafting(statement: Statement, resources: Resources) -> int:
    """Return the tokens of the request for an answer and of the answer."""
    settings = resources.settings
    question, passages = _question(statement), _passages(statement)
    request = answer_request(question, passages, settings.generation, settings.llm)
    return sum(resources.counter.count([request.system, request.prompt, statement.text]))


def agreement(verdicts: Verdicts, labels: Sequence[bool]) -> Document:
    """Return the agreement of verdicts with labels: counts, share of equal verdicts, and Cohen's kappa.

    Undecided answers are only counted.
    """
    pairs = [pair for pair in zip(verdicts, labels, strict=True) if pair[0] is not None]
    counts = {
        "right_accepted": pairs.count((True, True)),
        "wrong_accepted": pairs.count((True, False)),
        "right_rejected": pairs.count((False, True)),
        "wrong_rejected": pairs.count((False, False)),
        "undecided": len(labels) - len(pairs),
    }
    total = len(pairs)
    equal = quotient(counts["right_accepted"] + counts["wrong_rejected"], total)  # share of equal verdicts
    accepted = counts["right_accepted"] + counts["wrong_accepted"]
    right = counts["right_accepted"] + counts["right_rejected"]
    by_chance = quotient(accepted * right + (total - accepted) * (total - right), total**2)
    kappa = None if equal is None or by_chance is None else quotient(equal - by_chance, 1 - by_chance)
    return {**counts, "agreement": equal, "kappa": kappa}


def _rate(labels: Sequence[bool]) -> Document:
    """Return the share of wrong answers with its 95 % interval (Wilson)."""
    wrong, answers = labels.count(False), len(labels)
    low, high = wilson_bounds(wrong, answers) if answers else (None, None)
    return {"answers": answers, "wrong": wrong, "rate": quotient(wrong, answers), "low": low, "high": high}


def _verified(
    statements: Sequence[Statement], resources: Resources, verifier: LanguageModel | None
) -> Verdicts:
    """Accept answers whose claims are all supported, and reject those with a denied or unsupported claim."""
    settings = resources.settings
    models = verification.VerificationModels(
        settings.verification, resources.embedder, resources.entailment, verifier, llm=settings.llm
    )
    # the judge decides if an answer is to its question
    claims = verification.verify(statements, models, must_answer=False).claims_with_verdicts()
    verdicts_by_id: dict[str, set[str]] = {}  # of the claims of each answer
    for pair_id, verdict in claims.select("pair_id", "verdict").iter_rows():
        verdicts_by_id.setdefault(pair_id, set()).add(verdict)
    accepted: list[bool | None] = []
    for statement in statements:
        answer_verdicts = verdicts_by_id.get(statement.statement_id, set())
        if answer_verdicts & {"contradicted", "unsupported"}:
            accepted.append(False)
        else:
            accepted.append(True if answer_verdicts == {"supported"} else None)
    return accepted


def _judged(statements: Sequence[Statement], resources: Resources, judge: LanguageModel) -> Verdicts:
    """Accept or reject each answer by the scores of the judge."""
    settings = resources.settings
    pairs: list[Any] = [  # with the fields of `ProvedPairRow` that the judge reads
        {**_question(statement), "pair_id": str(index), "answer": statement.text}
        | {"evidence_chunk_ids": list(statement.chunk_ids)}
        for index, statement in enumerate(statements)
    ]
    passages = {passage.chunk_id: passage for statement in statements for passage in _passages(statement)}
    assessments = judge_rows(pairs, passages, judge, settings.judging, llm=settings.llm)
    verdicts = judged_verdicts(ASSESSMENTS.frame(assessments), settings.judging)["verdict"]
    decisions = {"accepted": True, "rejected": False}  # other verdicts leave the answer undecided
    return [decisions.get(verdict) for verdict in verdicts]


def _question(statement: Statement) -> TypedQuestion:
    question = {"question": statement.question, "language": statement.language, "batch": BATCH}
    return {**question, "question_type": "fact_single"}  # type: ignore[typeddict-item]


def _passages(statement: Statement) -> list[Passage]:
    texts = (text for text in statement.passages if text.strip())
    return [
        Passage(chunk_id, "", (), text, statement.language)
        for chunk_id, text in zip(statement.chunk_ids, texts, strict=True)
    ]
