"""Verification and judge compared with labels: wrong rows accepted, right rows lost, and the cost."""

from collections.abc import Iterable, Sequence
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
from qa_pipeline.verification.judging import ProvedPairRow, judge_rows
from qa_pipeline.verification.verify import BATCH, Statement

Document = dict[str, Any]
Verdicts = Sequence[bool | None]
"""Whether each answer is accepted; None if that is undecided."""


@dataclass
class CountedModel:
    """A model that counts the tokens of its requests and replies, stored ones too."""

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
    """Return the share of wrong answers with and without validation, its tokens, and how right each step is.

    An answer passes where all its claims are supported and the judge, if there is one, accepts it.

    Args:
        items: labelled answers (`grounding_items.ITEMS`); label 1 is supported by the context.
        resources: settings and local models.
        verifier: decides the claims that no local step decides.
        judge: is asked about every answer, so that it is measured on wrong ones too.

    Raises:
        PermanentModelError: a model can answer no further request.
    """
    counted_verifier, counted_judge = (
        None if model is None else CountedModel(model, resources.counter) for model in (verifier, judge)
    )
    statements = [
        Statement(answer, tuple(context), language, question or "")
        for answer, context, language, question in items.select(
            "answer", "context", "language", "question"
        ).iter_rows()
    ]
    labels = [label == 1 for label in items["label"]]
    verification_verdicts = _verified(statements, resources, counted_verifier)
    judge_verdicts = None if counted_judge is None else _judged(statements, resources, counted_judge)
    passed = [
        is_verified is True and (judge_verdicts is None or judge_verdicts[place] is True)
        for place, is_verified in enumerate(verification_verdicts)
    ]
    without = _rate(labels)
    with_validation = _rate(label for label, is_passed in zip(labels, passed, strict=True) if is_passed)
    drafting = sum(_draft_tokens(statement, resources) for statement in statements)
    spent = sum(model.tokens for model in (counted_verifier, counted_judge) if model is not None)
    reduction = None
    if with_validation["rate"] is not None and without["rate"]:
        reduction = 1 - with_validation["rate"] / without["rate"]
    return {
        "without_validation": without,
        "with_validation": with_validation,
        "fewer_hallucinations": reduction,
        "right_answers_passed": quotient(
            sum(label and is_passed for label, is_passed in zip(labels, passed, strict=True)), sum(labels)
        ),
        "tokens": {
            "drafting": drafting,
            "validation": spent,
            "factor": quotient(drafting + spent, drafting),
        },
        "verification": agreement(verification_verdicts, labels),
        "judge": None if judge_verdicts is None else agreement(judge_verdicts, labels),
    }


def agreement(verdicts: Verdicts, labels: Sequence[bool]) -> Document:
    """Return how verdicts agree with labels: counts, share of equal ones, and Cohen's kappa.

    Undecided answers are counted apart.
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
    equal = quotient(counts["right_accepted"] + counts["wrong_rejected"], total)
    accepted, right = (sum(side) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
    by_chance = quotient(accepted * right + (total - accepted) * (total - right), total**2)
    kappa = None if equal is None or by_chance is None else quotient(equal - by_chance, 1 - by_chance)
    return {**counts, "agreement": equal, "kappa": kappa}


def _rate(labels: Iterable[bool]) -> Document:
    """Return the share of wrong answers with its 95 % interval (Wilson)."""
    labels = list(labels)
    wrong, answers = labels.count(False), len(labels)
    low, high = wilson_bounds(wrong, answers) if answers else (None, None)
    return {"answers": answers, "wrong": wrong, "rate": quotient(wrong, answers), "low": low, "high": high}


def _verified(
    statements: Sequence[Statement], resources: Resources, verifier: LanguageModel | None
) -> Verdicts:
    settings = resources.settings
    means = verification.Means(
        settings.verification, resources.embedder, resources.entailment, verifier, llm=settings.llm
    )
    # whether an answer is to its question is for the judge
    claims = verification.verify(statements, means, to_the_question=False).claims_with_verdicts()
    verdicts: dict[str, list[str]] = {}
    for pair_id, verdict in claims.select("pair_id", "verdict").iter_rows():
        verdicts.setdefault(pair_id, []).append(verdict)
    return [_accepts(verdicts.get(statement.statement_id, [])) for statement in statements]


def _accepts(verdicts: Sequence[str]) -> bool | None:
    """Return True if all claims are supported, False if one is denied or unsupported, else None."""
    if {"contradicted", "unsupported"} & {*verdicts}:
        return False
    return True if {*verdicts} == {"supported"} else None


def _judged(statements: Sequence[Statement], resources: Resources, judge: LanguageModel) -> Verdicts:
    settings = resources.settings
    rows: list[Any] = [
        {**_question(statement), "pair_id": str(place), "answer": statement.text}
        | {"evidence_chunk_ids": list(statement.chunk_ids)}
        for place, statement in enumerate(statements)
    ]
    passages = {passage.chunk_id: passage for statement in statements for passage in _passages(statement)}
    pairs: list[ProvedPairRow] = rows
    assessments = judge_rows(pairs, passages, judge, settings.judging, llm=settings.llm)
    verdicts = judged_verdicts(ASSESSMENTS.frame(assessments), settings.judging)["verdict"]
    return [{"accepted": True, "rejected": False}.get(verdict) for verdict in verdicts]


def _question(statement: Statement) -> TypedQuestion:
    question = {"question": statement.question, "language": statement.language, "batch": BATCH}
    return {**question, "question_type": "fact_single"}  # type: ignore[typeddict-item]


def _passages(statement: Statement) -> list[Passage]:
    texts = (text for text in statement.passages if text.strip())
    return [
        Passage(chunk_id, "", (), text, statement.language)
        for chunk_id, text in zip(statement.chunk_ids, texts, strict=True)
    ]


def _draft_tokens(statement: Statement, resources: Resources) -> int:
    """Return the tokens of the request that would draft an answer to the question, and of the answer."""
    settings = resources.settings
    request = answer_request(_question(statement), _passages(statement), settings.generation, settings.llm)
    return sum(resources.counter.count([request.system, request.prompt, statement.text]))
