import asyncio

import pytest

from qa_pipeline.errors import TransientModelError, UnreadableReplyError
from qa_pipeline.testing.scripted import ScriptedModel
from qa_pipeline_tests.llm.requests import ACCEPT, REJECT, claim, judgement


def test_replies_are_played_in_order_and_requests_are_remembered() -> None:
    model = ScriptedModel([ACCEPT, REJECT])
    first, second = claim("first"), claim("second")
    assert asyncio.run(model.complete(first)).value == ACCEPT
    assert asyncio.run(model.complete(second)).value == REJECT
    assert model.asked == [first, second]


def test_a_function_reads_the_request() -> None:
    model = ScriptedModel(lambda request: REJECT if "20" in request.prompt else ACCEPT)
    assert asyncio.run(model.complete(claim("Is it 20 days?"))).value == REJECT


def test_an_error_in_the_script_is_raised() -> None:
    busy = TransientModelError("busy")
    with pytest.raises(TransientModelError) as caught:
        asyncio.run(ScriptedModel([busy]).complete(claim()))
    assert caught.value is busy


def test_text_in_the_script_is_read_like_a_providers_reply() -> None:
    model = ScriptedModel([ACCEPT.model_dump_json(), "I accept."])
    assert asyncio.run(model.complete(claim())).value == ACCEPT
    with pytest.raises(UnreadableReplyError, match="not_json"):
        asyncio.run(model.complete(claim()))


def test_one_request_too_many_says_how_long_the_script_was_and_who_asked() -> None:
    with pytest.raises(LookupError, match=r"script had 0 replies, .* \(verify\)"):
        asyncio.run(ScriptedModel([]).complete(claim()))


def test_a_reply_of_the_wrong_model_is_a_mistake_in_the_script() -> None:
    with pytest.raises(TypeError, match="asks for JudgeReply, the script has Decision"):
        asyncio.run(ScriptedModel([ACCEPT]).complete(judgement()))
