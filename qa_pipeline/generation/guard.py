"""The context relevance guard checks before the answer if the passages of a question may answer it.

A question that it stops becomes a refusal without an answer call. It is later judged like any other refusal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from qa_pipeline.errors import ModelError, SettingsError
from qa_pipeline.generation.requests import request_about
from qa_pipeline.llm.base import LanguageModel, Request, complete_all
from qa_pipeline.models.encoder import Encoder
from qa_pipeline.prompts.loading import load_prompt
from qa_pipeline.records import GuardReply, Passage, Question, ReferenceReply
from qa_pipeline.settings.generation import GenerationSettings, GuardSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.table_schema import KeptQuestionRow

CONTEXTS, CHARACTERS = 3, 500  # best passages that are read, and characters of each; see the specification
_CONFIDENCE = 0.5  # minimum confidence of a model's yes; below it the yes counts as a no


@dataclass(frozen=True, slots=True)
class Relevance:
    """The guard's decision on a question.

    `decided_by` is prompt (unchecked), embedding, hybrid, llm or validation; `error` is a failure of `model`.
    """

    decided_by: str
    similarity: float | None = None
    passes: bool = True
    error: ModelError | None = None
    confidence: float | None = None
    reasoning: str | None = None
    model: str = ""


def guard_questions(
    rows: Sequence[Question],
    passages: Sequence[Sequence[Passage]],
    settings: GuardSettings,
    encoder: Encoder,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[Relevance]:
    """Decide for each question if its passages may answer it. A question without passages never passes.

    In mode prompt any other question passes, in embedding and hybrid if its cosine reaches the threshold of
    the mode, in llm if a model agrees, and in embedding_then_llm if both do. Raises a SettingsError without a
    needed model, and a PermanentModelError if it cannot answer further requests.
    """
    if settings.asks_a_model and model is None:
        raise SettingsError(
            f"generation.guard.mode is {settings.mode}, which needs a model, and none is configured; "
            "name a provider, or choose prompt, embedding or hybrid"
        )
    relevances = [Relevance("prompt", passes=bool(row_passages)) for row_passages in passages]
    if settings.threshold is not None:  # embedding, hybrid or embedding_then_llm
        similarities = context_similarity([row["question"] for row in rows], passages, encoder)
        decided_by = "hybrid" if settings.mode == "hybrid" else "embedding"
        relevances = [
            Relevance(decided_by, value, passes=value is not None and value >= settings.threshold)
            for value in similarities
        ]
    if settings.asks_a_model and model is not None:  # llm, or embedding_then_llm after a high cosine
        indices = [index for index, relevance in enumerate(relevances) if relevance.passes]
        requests = [guard_request(rows[index], passages[index], llm) for index in indices]
        replies = complete_all(model, requests, workers=llm.workers)
        for index, reply in zip(indices, replies, strict=True):
            decision = replace(relevances[index], decided_by="llm")
            if isinstance(reply, ModelError):
                relevances[index] = replace(decision, passes=False, error=reply)
                continue
            judgement = reply.value
            passes = judgement.can_answer and judgement.confidence >= _CONFIDENCE
            decision = replace(decision, confidence=judgement.confidence, reasoning=judgement.reasoning)
            relevances[index] = replace(decision, passes=passes, model=reply.model)
    return relevances


def context_similarity(
    questions: Sequence[str], passages: Sequence[Sequence[Passage]], encoder: Encoder
) -> list[float | None]:
    """Return each question's mean cosine to the beginnings of its best passages, or None without passages."""
    beginnings = [[passage.text[:CHARACTERS] for passage in best[:CONTEXTS]] for best in passages]
    vectors = encoder.encode([*questions, *(text for texts in beginnings for text in texts)])
    question_vectors, passage_vectors = vectors[: len(questions)], iter(vectors[len(questions) :])
    similarities: list[float | None] = []
    for vector, texts in zip(question_vectors, beginnings, strict=True):
        # the product of vectors of unit length is their cosine
        cosines = [passage_vector @ vector for passage_vector in islice(passage_vectors, len(texts))]
        similarities.append(round(float(np.mean(cosines)), 6) if cosines else None)
    return similarities


def guard_request(row: Question, passages: Sequence[Passage], llm: LLMSettings) -> Request[GuardReply]:
    """Return the request to the guard about the question of a row."""
    return request_about(row, "guard", load_prompt(row["language"], "guard", llm), GuardReply, llm, passages)


def select_passages(
    rows: Sequence[KeptQuestionRow],
    passages: Mapping[str, Passage],
    settings: GenerationSettings,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[list[int] | ModelError]:
    """Return the indexes of each question's accepted passages, best first, up to a limit.

    A question has an error instead if the model failed for any of its passages. Raises a SettingsError
    without a model, and a PermanentModelError if it cannot answer further requests.
    """
    if model is None:
        raise SettingsError(
            "generation.enable_reference_validation needs a model, and none is configured; name a provider, "
            "or turn the validation off"
        )
    requests = [reference_request(row, passages[i], llm) for row in rows for i in row["passage_ids"]]
    replies = iter(complete_all(model, requests, workers=llm.workers))
    selections: list[list[int] | ModelError] = []
    for row in rows:
        accepted: list[int] = []
        error: ModelError | None = None
        for index, reply in enumerate(islice(replies, len(row["passage_ids"]))):
            if isinstance(reply, ModelError):
                error = error or reply
            elif reply.value.decision == "accept":
                accepted.append(index)
        selections.append(error or accepted[: settings.validation_max_refs_per_item])
    return selections


def reference_request(row: Question, passage: Passage, llm: LLMSettings) -> Request[ReferenceReply]:
    """Return the request to a model about a passage, in the passage's language."""
    question: Question = {**row, "language": passage.language}
    prompt = load_prompt(passage.language, "validate_reference", llm)
    return request_about(question, "validate", prompt, ReferenceReply, llm, [passage])
