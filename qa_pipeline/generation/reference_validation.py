"""Check each retrieved passage against its question before an answer is drafted.

This is corrective retrieval (Yan et al. 2024, CRAG): passages that do not help are dropped, and a question
without passages is refused. It is off by default, since the verification of answers does not depend on it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from qa_pipeline.errors import ModelError, SettingsError
from qa_pipeline.generation.requests import request_about
from qa_pipeline.llm.base import LanguageModel, Request, complete_all
from qa_pipeline.models.base import Encoder
from qa_pipeline.prompts.loading import load_prompt
from qa_pipeline.records import Passage, Question, ReferenceReply
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.rows import KeptQuestionRow

CHARACTERS = 500
"""Number of characters of a passage that the strategy `embedding` reads."""
ACCEPTED_SIMILARITY = 0.4
"""Minimum cosine between a question and an accepted passage."""
UNSURE_BELOW = 0.1
"""Distance below the threshold where a cosine is unsure, not rejected. Wider bands leave more undecided."""

Decision = Literal["accept", "reject", "unsure"]


def select_passages(
    rows: Sequence[KeptQuestionRow],
    passages: Mapping[str, Passage],
    settings: GenerationSettings,
    encoder: Encoder,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[list[int] | ModelError]:
    """Return the indexes of each question's accepted passages, best first, up to a limit.

    A question has an error instead if the model failed for any of its passages.

    Raises:
        SettingsError: the strategy needs a model, and it is missing.
        PermanentModelError: the model cannot answer further requests.
    """
    pairs = [(row, passages[chunk_id]) for row in rows for chunk_id in row["passage_ids"]]
    decisions = iter(validate_references(pairs, settings, encoder, model, llm))
    selections: list[list[int] | ModelError] = []
    for row in rows:
        decided = [next(decisions) for _ in row["passage_ids"]]
        accepted = [place for place, decision in enumerate(decided) if decision == "accept"]
        error = next((decision for decision in decided if isinstance(decision, ModelError)), None)
        selections.append(error or accepted[: settings.validation_max_refs_per_item])
    return selections


def validate_references(
    pairs: Sequence[tuple[Question, Passage]],
    settings: GenerationSettings,
    encoder: Encoder,
    model: LanguageModel | None,
    llm: LLMSettings,
) -> list[Decision | ModelError]:
    """Return a decision on each passage of a question, without the rationale."""
    if settings.validation_strategy == "embedding":
        questions = encoder.encode([row["question"] for row, _ in pairs])
        texts = encoder.encode([passage.text[:CHARACTERS] for _, passage in pairs])
        return [_decide(cosine) for cosine in np.einsum("ij,ij->i", questions, texts).astype(float).round(6)]
    if model is None:
        raise SettingsError(
            "generation.validation_strategy is llm, and no model is configured; name a provider, or choose "
            "embedding"
        )
    requests = [reference_request(row, passage, llm) for row, passage in pairs]
    replies = complete_all(model, requests, workers=llm.workers)
    return [reply if isinstance(reply, ModelError) else reply.value.decision for reply in replies]


def _decide(cosine: float) -> Decision:
    if cosine >= ACCEPTED_SIMILARITY:
        return "accept"
    return "unsure" if cosine >= ACCEPTED_SIMILARITY - UNSURE_BELOW else "reject"


def reference_request(row: Question, passage: Passage, llm: LLMSettings) -> Request[ReferenceReply]:
    """Return the request to a model about a passage, in the passage's language."""
    question: Question = {**row, "language": passage.language}
    prompt = load_prompt(passage.language, "validate_reference", llm)
    return request_about(question, "validate", prompt, ReferenceReply, llm, [passage])
