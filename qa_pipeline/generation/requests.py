"""Build requests to a model about a single question, for answering, guarding and comparing."""

from collections.abc import Sequence

from qa_pipeline.llm.base import ReplyT, Request
from qa_pipeline.prompts.loading import Delimited, Prompt, delimit, render_passages
from qa_pipeline.records import Passage, Question, Role
from qa_pipeline.settings.llm import LLMSettings


def request_about(
    row: Question,
    role: Role,
    prompt: Prompt,
    reply_model: type[ReplyT],
    llm: LLMSettings,
    passages: Sequence[Passage] | None = None,
    *,
    label: str = "question",
    temperature: float = 0.0,
    answer: str | None = None,
    **values: Delimited,
) -> Request[ReplyT]:
    """Return the request to fill a reply model about the question of a row.

    `values` are further untrusted texts. `answer` is the answer of the row, for providers that work on texts.
    """
    if passages is not None:
        values["passages"] = render_passages(passages)
    return Request(
        role=role,
        system=prompt.system,
        prompt=prompt.fill(question=delimit(row["question"], label), **values),
        reply_model=reply_model,
        temperature=temperature,
        seed=llm.seed,
        language=row["language"],
        passages=tuple(passages or ()),
        question=row["question"],
        answer=answer,
        batch=row["batch"],
        prompt_hash=prompt.hash,
    )
