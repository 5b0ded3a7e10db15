"""Requests to the judge about a row.

A reply that failed, or that cannot be used, leaves its row unknown. So does an injection in the texts that
were shown: a model is not believed then, and no person decides in its place.
"""

from collections.abc import Iterator, Sequence

from qa_pipeline.errors import ModelError
from qa_pipeline.evaluation.signals.means import Means, Row
from qa_pipeline.llm.base import ReplyT, Request, complete_all
from qa_pipeline.prompts.loading import PromptName, delimit, delimit_all, load_prompt, render_passages
from qa_pipeline.records import Passage
from qa_pipeline.text.injection import hold_injections, is_injection, redact_injections


def judge_request(
    row: Row,
    name: PromptName,
    reply_model: type[ReplyT],
    means: Means,
    contexts: Sequence[Row] = (),
    sentences: Sequence[str] = (),
) -> Request[ReplyT]:
    """Return the request that fills a prompt with the texts of a row, contexts and numbered sentences."""
    language, llm = row["language"], means.resources.settings.llm
    prompt = load_prompt(language, name, llm)
    texts = {"question": row["query"], "answer": row["answer"], "reference": row["reference"] or ""}
    texts = {label: text for label, text in texts.items() if label in prompt.placeholders}
    values = {label: delimit(text, label) for label, text in texts.items()}
    texts_shown = [(context["document"] or "", context["text"] or "") for context in contexts]
    passages = [
        Passage(f"context-{at}", title, (), text, language) for at, (title, text) in enumerate(texts_shown)
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
        seed=llm.seed,
        language=language,
        passages=tuple(passages),
        question=texts.get("question"),
        answer=texts.get("answer"),
        prompt_hash=prompt.hash,
    )


def ask(requests: Sequence[Request[ReplyT]], means: Means) -> Iterator[ReplyT | None]:
    """Yield the reply to each request, equal ones asked once; None if it failed or is not believed."""
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
