import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.monitoring.spans import Span, is_otlp, read_spans, request_of
from qa_pipeline_tests.monitoring.otlp import attributes, line, log_line, messages, span, typed

QUERY, ANSWER = "How high is the tower?", "It is 324 m high."
USER, ASSISTANT = messages("user", "Hello.", QUERY), messages("assistant", ANSWER)
REASONED = [
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "Let me think."},
            {"type": "tool_call", "id": "1", "name": "search", "arguments": {}},
            {"type": "text", "content": ANSWER},
        ],
    }
]
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "as JSON": {"gen_ai.input.messages": json.dumps(USER), "gen_ai.output.messages": json.dumps(ASSISTANT)},
    "structured": {"gen_ai.input.messages": USER, "gen_ai.output.messages": REASONED},
    "OpenLLMetry": {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": QUERY,
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": ANSWER,
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": QUERY,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": ANSWER,
    },
    "values of a chain": {
        "openinference.span.kind": "CHAIN",
        "input.value": QUERY,
        "output.value": ANSWER,
    },
}
EVENTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "messages": [
        ("gen_ai.system.message", {"content": "Be brief."}),
        ("gen_ai.user.message", {"content": QUERY}),
        ("gen_ai.choice", {"index": 0, "message": json.dumps({"content": ANSWER})}),
    ],
    "structured choice": [
        ("gen_ai.user.message", {"content": QUERY, "role": "user"}),
        ("gen_ai.choice", {"message": {"role": "assistant", "content": ANSWER}}),
    ],
    "content as JSON": [
        ("gen_ai.user.message", {"gen_ai.event.content": json.dumps({"role": "user", "content": QUERY})}),
        ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"index": 0, "message": {"content": ANSWER}})}),
    ],
    "details": [
        (
            "gen_ai.client.inference.operation.details",
            {"gen_ai.input.messages": json.dumps(USER), "gen_ai.output.messages": json.dumps(ASSISTANT)},
        )
    ],
}
TYPED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def read(*spans: dict[str, Any]) -> list[Span]:
    found = list(read_spans(json.loads(line(*spans))))
    assert all(isinstance(one, Span) for one in found)
    return [one for one in found if isinstance(one, Span)]


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    found = request_of(read(*spans))
    assert found is not None
    return found


@pytest.mark.parametrize("form", ATTRIBUTES)
def test_query_and_answer_are_read_from_attributes(form: str) -> None:
    found = request(span(ATTRIBUTES[form]))
    assert (found["query"], found["answer"]) == (QUERY, ANSWER)


@pytest.mark.parametrize("form", EVENTS)
def test_query_and_answer_are_read_from_events(form: str) -> None:
    found = request(span({"gen_ai.system": "openai"}, events=EVENTS[form]))
    assert (found["query"], found["answer"]) == (QUERY, ANSWER)


def test_query_and_answer_are_read_from_log_records_of_the_trace() -> None:
    records: list[dict[str, Any]] = [
        {
            "traceId": "t1",
            "timeUnixNano": "1772366400000000000",
            "eventName": "gen_ai.user.message",
            "body": typed({"content": QUERY}),
        },
        {
            "traceId": "t1",
            "observedTimeUnixNano": "1772366401000000000",
            "attributes": attributes({"event.name": "gen_ai.choice"}),
            "body": typed({"index": 0, "message": {"role": "assistant", "content": ANSWER}}),
        },
    ]
    found = request_of([one for one in read_spans(json.loads(log_line(*records))) if isinstance(one, Span)])
    assert found is not None
    assert (found["query"], found["answer"]) == (QUERY, ANSWER)


def test_a_trace_is_one_request_with_the_passages_of_its_retrievals() -> None:
    documents = [{"id": "d1", "score": 0.9, "content": "It is 324 m high."}, {"id": "d2", "score": None}]
    found = request(
        span({"http.route": "/ask"}, begins=0, ends=3),
        span(
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": QUERY,
                "gen_ai.retrieval.documents": json.dumps(documents),
            },
            begins=0.1,
            ends=0.5,
        ),
        span(
            {
                "gen_ai.request.model": "m",
                "gen_ai.response.model": "m-1",
                "gen_ai.input.messages": messages("user", f"Context: … {QUERY}"),
                "gen_ai.output.messages": ASSISTANT,
            },
            begins=0.6,
            ends=2.5,
        ),
    )
    assert found == {
        "id": "t1",
        "time": 1_772_366_400,
        "query": QUERY,
        "answer": ANSWER,
        "contexts": [
            {"text": "It is 324 m high.", "document": "d1", "score": 0.9},
            {"text": None, "document": "d2", "score": None},
        ],
        "seconds": 3.0,
        "error": None,
        "model": "m-1",
    }


def test_passages_of_openinference_are_read_in_their_order() -> None:
    values = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": QUERY,
        "retrieval.documents.10.document.content": "third",
        "retrieval.documents.0.document.id": "d0",
        "retrieval.documents.0.document.content": "first",
        "retrieval.documents.0.document.score": 0.5,
        "retrieval.documents.2.document.content": "second",
        "output.value": "[documents]",
    }
    found = request(span(values), span(ATTRIBUTES["OpenInference"], begins=1, ends=2))
    assert [one["text"] for one in found["contexts"]] == ["first", "second", "third"]
    assert found["contexts"][0] == {"text": "first", "document": "d0", "score": 0.5}
    assert found["answer"] == ANSWER


def test_one_span_may_hold_question_answer_and_passages() -> None:
    passages = {"gen_ai.retrieval.documents": [{"id": "d1", "content": "It is 324 m high."}]}
    found = request(span({**ATTRIBUTES["as JSON"], **passages}))
    assert (found["query"], found["answer"], len(found["contexts"])) == (QUERY, ANSWER, 1)


def test_the_outermost_span_that_says_anything_is_the_request() -> None:
    outer = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": messages("user", "asked of the agent"),
        "gen_ai.output.messages": messages("assistant", "said by the agent"),
    }
    inner = ATTRIBUTES["as JSON"]
    found = request(
        span(outer, begins=0, ends=9), span(inner, begins=1, ends=2), span(inner, begins=3, ends=4)
    )
    assert (found["query"], found["answer"]) == ("asked of the agent", "said by the agent")


def test_a_failed_call_is_an_error_and_one_that_was_tried_again_is_none() -> None:
    failed = span({"gen_ai.request.model": "m", "error.type": "timeout"}, status={"code": 2, "message": "no"})
    assert request(failed)["error"] == "timeout"
    again = span(ATTRIBUTES["as JSON"], begins=2, ends=3)
    assert request(failed, again)["error"] is None


def test_spans_without_content_are_a_request_without_texts_and_those_of_other_work_are_none() -> None:
    silent = request(span({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 12}))
    assert (silent["query"], silent["answer"], silent["error"]) == (None, None, None)
    assert request_of(read(span({"http.route": "/"}))) is None


@pytest.mark.parametrize(
    "broken", [{"traceId": ""}, {"traceId": 7}, {"startTimeUnixNano": "soon"}, {"endTimeUnixNano": "1" * 40}]
)
def test_a_span_without_trace_or_times_says_so(broken: dict[str, Any]) -> None:
    (found,) = read_spans(json.loads(line({**span({}), **broken})))
    assert isinstance(found, str)


@given(TYPED)
def test_any_value_is_read_or_refused_and_never_raises(value: Any) -> None:
    for place in ("resourceSpans", "resourceLogs"):
        list(read_spans({place: value}))
        list(
            read_spans(
                {place: [{"scopeSpans": [{"spans": [value]}], "scopeLogs": [{"logRecords": [value]}]}]}
            )
        )
    odd = {**span({}), "attributes": value, "events": value, "status": value}
    messages_of = span({"gen_ai.input.messages": value, "gen_ai.retrieval.documents": value})
    events = [{"name": "gen_ai.choice", "attributes": attributes({"message": value})}]
    for record in (odd, messages_of, {**span({}), "events": events}):
        found = list(read_spans({"resourceSpans": [{"scopeSpans": [{"spans": [record]}]}]}))
        request_of([one for one in found if isinstance(one, Span)])


def test_only_objects_of_traces_or_logs_are_otlp() -> None:
    assert is_otlp({"resourceSpans": []})
    assert is_otlp({"resourceLogs": []})
    assert not is_otlp({"resourceMetrics": []})
