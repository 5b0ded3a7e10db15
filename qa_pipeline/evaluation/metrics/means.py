"""The models and settings that metrics are computed with, and requests to the judge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import LanguageModel, ReplyT, Request, complete_all
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.prompts.loading import PromptName, delimit, delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage
from qa_pipeline.text.injection import hold_injections, is_injection, redact_injections

Row = dict[str, Any]
Undecided = Literal["similarity", "unknown"]
SIMILARITY, ENTAILMENT, RULES, MODEL = "similarity", "entailment", "rules", "llm"
"""Deciders in addition to the steps of verification."""


@dataclass(frozen=True)
class Means:
    """The models and settings that metrics are computed with.

    Args:
        resources: settings and local models.
        verifier: decides statements that the local steps leave open.
        judge: reads answers and contexts.
        undecided: decides the remaining statements by similarity, or leaves them unknown.
        splitter: splits answers into statements as `verification.split_claims` says.
        unsplit: collects the reason, by question and answer, if the splitter failed.
    """

    resources: Resources
    verifier: LanguageModel | None = None
    judge: LanguageModel | None = None
    undecided: Undecided = "similarity"
    splitter: LanguageModel | None = None
    unsplit: dict[tuple[str | None, str], str] = field(default_factory=dict)


def judge_request(
    row: Row,
    name: PromptName,
    reply_model: type[ReplyT],
    means: Means,
    contexts: Sequence[Row] = (),
    sentences: Sequence[str] = (),
) -> Request[ReplyT]:
    """Fill a prompt with the texts of a row, its contexts and numbered sentences."""
    language, llm = row["language"], means.resources.settings.llm
    prompt = load_prompt(language, name, llm)
    texts = {"question": row["query"], "answer": row["answer"], "reference": row["reference"] or ""}
    texts = {label: text for label, text in texts.items() if label in prompt.placeholders}
    values = {label: delimit(text, label) for label, text in texts.items()}
    passages = [
        Passage(f"context-{index}", context["document"] or "", (), context["text"] or "", language)
        for index, context in enumerate(contexts)
    ]
    if contexts:
        values["passages"] = render_passages([redact_injections(passage) for passage in passages])
    if sentences:
        values["sentences"] = delimit_all(sentences, "sentence")
        passages = [Passage("context", "", (), "\n".join(sentences), language)]
    return Request(
        role="evaluate",
        system=prompt.system,
        prompt=prompt.fill(**values),
        reply_model=reply_model,
        temperature=0.0,
        language=language,
        passages=tuple(passages),
        question=texts.get("question"),
        answer=texts.get("answer"),
        prompt_hash=prompt.hash,
    )


def ask(requests: Sequence[Request[ReplyT]], means: Means) -> Iterator[ReplyT | None]:
    """Yield the judge's reply to each request; equal requests are sent once.

    The reply is None if the request failed, or if its texts contain an injection.
    """
    if means.judge is None:
        return
    distinct = {request.key: request for request in requests}
    workers = means.resources.settings.llm.workers
    outcomes = complete_all(means.judge, [*distinct.values()], workers=workers)
    outcome_by_key = dict(zip(distinct, outcomes, strict=True))
    for request in requests:
        outcome = outcome_by_key[request.key]
        texts = (request.question or "", request.answer or "")
        is_injected = hold_injections(request.passages) or any(map(is_injection, texts))
        yield None if isinstance(outcome, ModelError) or is_injected else outcome.value
