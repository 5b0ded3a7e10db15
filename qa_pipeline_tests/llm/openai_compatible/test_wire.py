"""What is asked of chat completions, and what is done without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.llm.openai_compatible.wire import (
    Complaint,
    JsonMode,
    Way,
    lesser_way,
    read_reply,
    strict_schema,
)
from qa_pipeline.llm.store.schema import REPLIES
from qa_pipeline.records import AnswerReply, JudgeReply, QuestionsReply, ReplyModel, Usage
from qa_pipeline_tests.fake_server.replies import strict_complaint
from qa_pipeline_tests.llm.requests import Decision

MODES: list[JsonMode] = ["schema", "object", "text"]
WAYS = st.builds(
    Way,
    st.sampled_from(MODES),
    st.frozensets(st.sampled_from(["temperature", "seed"])),
    st.sampled_from(["max_completion_tokens", "max_tokens"]),
)
NAMES = ["temperature", "seed", "max_completion_tokens", "response_format", "reasoning_effort", ""]


@given(WAYS, st.sampled_from(NAMES), st.text(), st.booleans())
def test_a_lesser_way_is_lesser_so_that_asking_comes_to_an_end(
    way: Way, parameter: str, message: str, may_change: bool
) -> None:
    lesser = lesser_way(way, Complaint(parameter, "", message), may_change_mode=may_change)
    if lesser is None:
        return
    rank = [MODES.index(way.mode), len(way.left_out), way.cap == "max_tokens"]
    lower = [MODES.index(lesser.mode), len(lesser.left_out), lesser.cap == "max_tokens"]
    assert sum(lower) == sum(rank) + 1
    assert may_change or lesser.mode == way.mode


@pytest.mark.parametrize(
    ("complaint", "lesser"),
    [
        (Complaint("temperature", "unsupported_value", "Only 1."), Way("schema", frozenset({"temperature"}))),
        (
            Complaint("", "", "Unrecognized request argument supplied: seed"),
            Way("schema", frozenset({"seed"})),
        ),
        (Complaint("", "", "Unsupported: 'max_completion_tokens'"), Way("schema", cap="max_tokens")),
        (Complaint("response_format", "", "no"), Way("object")),
        (Complaint("", "", "Extra inputs are not permitted: response_format"), Way("object")),
        (Complaint("response_format.json_schema", "", "no"), Way("object")),
        (Complaint("", "", "json_schema is not supported by this model"), Way("object")),
        (Complaint("", "", "Failed to parse grammar"), Way("object")),
        (Complaint("", "", "JSON schema conversion failed: Unrecognized schema"), Way("object")),
        (Complaint("messages", "", "no"), None),
        (Complaint("reasoning_effort", "", "no"), None),
    ],
)
def test_what_a_server_complains_of_is_done_without(complaint: Complaint, lesser: Way | None) -> None:
    assert lesser_way(Way("schema"), complaint, may_change_mode=True) == lesser


@pytest.mark.parametrize("reply_model", [QuestionsReply, AnswerReply, Decision, JudgeReply])
def test_the_schema_is_one_that_openai_takes_and_keeps_the_order_of_fields(
    reply_model: type[ReplyModel],
) -> None:
    schema = strict_schema(reply_model)
    assert strict_complaint(schema) is None
    asked = list(reply_model.model_json_schema()["properties"])
    assert list(schema["properties"]) == schema["required"] == asked


def test_what_a_server_says_of_itself_fits_the_columns_of_the_store() -> None:
    choices = [{"message": {"content": "{}"}, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 10**30, "completion_tokens": -5}
    reply = read_reply({"model": "m\0\ud800" * 500, "choices": choices, "usage": usage}, {}, "", "m")
    assert reply.usage == Usage()
    assert reply.model.isprintable()
    assert len(reply.model) <= REPLIES.c.replied_model.type.length  # type: ignore[attr-defined]
