"""Language models as callers name them."""

import asyncio
import json

import pytest

from qa_pipeline.api.models import FunctionModel, language_model
from qa_pipeline.errors import InputError, TransientModelError
from qa_pipeline.llm.base import Request
from qa_pipeline.records import JudgeReply


def request() -> Request[JudgeReply]:
    return Request("judge", "Be fair.", "Judge this.", JudgeReply, 0.0)


def test_a_function_gets_system_prompt_prompt_and_schema() -> None:
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        scores = dict.fromkeys(("relevance", "correctness", "completeness", "question_quality"), 1.0)
        reasons = {name: "fine" for name in JudgeReply.model_fields if name not in scores}
        return json.dumps({**reasons, **scores})

    answer = asyncio.run(FunctionModel(reply, 5).complete(request()))
    assert answer.value.relevance == 1.0
    assert prompts[0].startswith("Be fair.\n\nJudge this.\n\nReply with JSON of this schema:\n{")


def test_a_function_that_returns_no_text_is_a_failure_of_the_request() -> None:
    with pytest.raises(TransientModelError, match="returned a int"):
        asyncio.run(FunctionModel(lambda _: 3, 5).complete(request()))  # type: ignore[arg-type, return-value]


def test_models_of_the_package_are_taken_as_they_are() -> None:
    model = FunctionModel(str, 5)
    assert language_model(model) is model
    assert language_model(None) is None


@pytest.mark.parametrize("model", ["gpt-5", "nobody/gpt-5", "openai/", 3])
def test_what_names_no_model_is_refused(model: object) -> None:
    with pytest.raises(InputError, match="give"):
        language_model(model)  # type: ignore[arg-type]
