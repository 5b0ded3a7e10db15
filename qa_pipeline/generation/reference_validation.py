"""Retrieved passages held against their question, each by itself, before an answer is drafted from them.

Corrective retrieval (Yan et al. 2024, CRAG): what does not help to answer is dropped, and where nothing is
left the question is refused. Off by default: the verification of answers does not rest on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qa_pipeline.errors import ModelError, SettingsError
from qa_pipeline.generation.answers import Selection
from qa_pipeline.llm.base import LanguageModel, Request
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.models.base import Encoder
from qa_pipeline.prompts.loading import delimit, load_prompt, render_passages
from qa_pipeline.records import Passage, ReferenceReply
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.rows import KeptQuestionRow

CHARACTERS = 500
"""The characters of a passage that the strategy `embedding` reads."""
ACCEPTED_SIMILARITY = 0.4
"""Cosine of a question and a passage from which the passage is accepted."""
UNSURE_BELOW = 0.1
"""The distance below the threshold at which a cosine is unsure and not a no: wider leaves more undecided."""

Decision = Literal["accept", "reject", "unsure"]


@dataclass(frozen=True, slots=True)
class ReferenceRequest:
    """A passage to be compared with one question.

    Args:
        question: the question.
        passage: what was retrieved.
        passage_score: how the search scored it.
        batch: whom a call is for.
    """

    question: str
    passage: Passage
    passage_score: float | None
    batch: str


@dataclass(frozen=True, slots=True)
class ReferenceDecision:
    """The decision on a passage.

    A model that could not be asked decides nothing: `error` says why.
    """

    decision: Decision
    error: ModelError | None = None


def select_passages(
    rows: Sequence[KeptQuestionRow],
    passages: Mapping[str, Passage],
    settings: GenerationSettings,
    encoder: Encoder,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[Selection]:
    """Return the passages of each question that its answer may be drafted from."""
    by_question = [reference_requests(row, [passages[i] for i in row["passage_ids"]]) for row in rows]
    flat = [request for requests in by_question for request in requests]
    decisions = iter(validate_references(flat, settings, encoder, model, llm))
    selections = []
    for requests in by_question:
        decided = [next(decisions) for _ in requests]
        error = next((decision.error for decision in decided if decision.error), None)
        selections.append(Selection(accepted_places(decided, settings), validated=True, error=error))
    return selections


def reference_requests(row: KeptQuestionRow, passages: Sequence[Passage]) -> list[ReferenceRequest]:
    """Return a request for each passage of a question; `row` is its row of the questions table."""
    scores: Sequence[float | None] = row["passage_scores"] or [None] * len(passages)
    return [
        ReferenceRequest(row["question"], passage, score, row["batch"])
        for passage, score in zip(passages, scores, strict=True)
    ]


def validate_references(
    requests: Sequence[ReferenceRequest],
    settings: GenerationSettings,
    encoder: Encoder,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[ReferenceDecision]:
    """Return a decision for each passage, by the strategy of the settings; rationales are dropped.

    Raises:
        SettingsError: the strategy asks a model and there is none.
        PermanentModelError: the model can answer no further request.
    """
    if settings.validation_strategy == "embedding":
        return _by_similarity(requests, encoder)
    if model is None:
        raise SettingsError(
            "generation.validation_strategy is llm, and no model is configured; name a provider, or choose "
            "embedding"
        )
    requests_sent = [reference_request(request, llm) for request in requests]
    return [
        ReferenceDecision("reject", error=reply)
        if isinstance(reply, ModelError)
        else ReferenceDecision(reply.value.decision)
        for reply in complete_all(model, requests_sent, workers=llm.workers)
    ]


def _by_similarity(requests: Sequence[ReferenceRequest], encoder: Encoder) -> list[ReferenceDecision]:
    questions = encoder.encode([request.question for request in requests])
    passages = encoder.encode([request.passage.text[:CHARACTERS] for request in requests])
    return [
        ReferenceDecision(_sure(cosine))
        for cosine in np.einsum("ij,ij->i", questions, passages).astype(float).round(6).tolist()
    ]


def _sure(cosine: float) -> Decision:
    if cosine >= ACCEPTED_SIMILARITY:
        return "accept"
    return "unsure" if cosine >= ACCEPTED_SIMILARITY - UNSURE_BELOW else "reject"


def accepted_places(decisions: Sequence[ReferenceDecision], settings: GenerationSettings) -> list[int]:
    """Return the places of the passages to draft from: accepted, the best first, up to a limit."""
    if not settings.enable_reference_validation:
        return list(range(len(decisions)))
    accepted = [
        place
        for place, decision in enumerate(decisions)
        if decision.decision == "accept" and decision.error is None
    ]
    return accepted[: settings.validation_max_refs_per_item]


def reference_request(request: ReferenceRequest, llm: LLMSettings) -> Request[ReferenceReply]:
    """Return the request to a model about one passage."""
    passage = request.passage
    prompt = load_prompt(passage.language, "validate_reference", llm)
    return Request(
        role="validate",
        system=prompt.system,
        prompt=prompt.fill(
            passages=render_passages([passage]),
            question=delimit(request.question, "question"),
        ),
        reply_model=ReferenceReply,
        temperature=0.0,
        seed=llm.seed,
        language=passage.language,
        passages=(passage,),
        question=request.question,
        batch=request.batch,
        prompt_hash=prompt.hash,
    )
