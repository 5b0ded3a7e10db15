"""Every fault of a plan, as the real clients meet it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import openai
import pytest
from aiohttp import ClientError as LineError
from aiohttp import ClientSession
from google.genai.errors import APIError

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import VerifyReply
from qa_pipeline_tests.fake_server import gemini, service
from qa_pipeline_tests.fake_server.clients import generate, with_chat
from qa_pipeline_tests.fake_server.plan import Fault, ServerPlan
from qa_pipeline_tests.fake_server.test_chat import chat
from qa_pipeline_tests.support.servers import ChatServer, GeminiServer

STATUSES = {"rate_limit": 429, "server_error": 500, "unavailable": 503}


def always(fault: Fault, **changes: Any) -> ServerPlan:
    return ServerPlan(faults={fault: 1.0}, **changes)


@pytest.mark.parametrize(("fault", "status"), STATUSES.items())
def test_an_error_status_reaches_both_clients(fault: Fault, status: int) -> None:
    with GeminiServer(plan=always(fault)) as server, pytest.raises(APIError) as caught:
        generate(server)
    assert caught.value.code == status
    assert server.stats.faults == {fault: 1}
    with ChatServer(plan=always(fault)) as other, pytest.raises(openai.APIStatusError) as chatted:
        with_chat(other, chat())
    assert chatted.value.status_code == status


def test_a_drawn_rate_limit_says_how_long_to_wait() -> None:
    plan = always("rate_limit", latency=60)
    with GeminiServer(plan=plan) as server, pytest.raises(APIError) as caught:
        generate(server)
    assert caught.value.details["error"]["details"][0]["retryDelay"] == "1s"
    with ChatServer(plan=plan) as other, pytest.raises(openai.RateLimitError) as chatted:
        with_chat(other, chat())
    assert chatted.value.response.headers["Retry-After"] == "1"


def test_a_reset_connection_reaches_both_clients() -> None:
    with GeminiServer(plan=always("reset")) as server, pytest.raises(LineError):
        generate(server)
    assert server.stats.answered == 0
    with ChatServer(plan=always("reset")) as other, pytest.raises(openai.APIConnectionError):
        with_chat(other, chat())


def test_half_a_body_is_half_of_what_its_header_promises() -> None:
    async def read(url: str, key: str) -> tuple[int, bytes]:
        body = {"contents": [{"parts": [{"text": "hej"}]}]}
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        content = json.dumps(body).encode()
        head = f"POST /v1/models/m:generateContent HTTP/1.1\r\nHost: x\r\nx-goog-api-key: {key}\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        answer = await reader.read()
        writer.close()
        headers, _, rest = answer.partition(b"\r\n\r\n")
        promised = next(line for line in headers.split(b"\r\n") if line.startswith(b"Content-Length"))
        return int(promised.split(b":")[1]), rest

    with GeminiServer([replace(gemini.says("{}"), cut=True)]) as server:
        promised, rest = asyncio.run(read(server.url, str(server.key)))
    assert len(rest) == promised // 2


def test_a_drip_is_slow_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "DRIP_SECONDS", 0.1)
    with GeminiServer(plan=always("drip")) as server:
        assert parse_reply(generate(server).text or "", VerifyReply).verdicts[0].decision == "accept"
    assert server.stats.faults == {"drip": 1}


@pytest.mark.parametrize("fault", ["wrong_json", "cut_json"])
@pytest.mark.parametrize("ask", ["gemini", "chat"])
def test_a_reply_that_is_not_json(fault: Fault, ask: str) -> None:
    if ask == "gemini":
        with GeminiServer(plan=always(fault)) as server:
            text = generate(server).text
    else:
        with ChatServer(plan=always(fault)) as other:
            text = with_chat(other, chat()).choices[0].message.content
    with pytest.raises(UnreadableReplyError) as caught:
        parse_reply(text or "", VerifyReply)
    assert caught.value.reason == "not_json"


def test_every_fault_is_met_by_a_test_here() -> None:
    assert set(get_args(Fault)) == {*STATUSES, "reset", "drip", "wrong_json", "cut_json"}


def outcomes(ask: Callable[[], Any], times: int) -> list[bool]:
    """Whether each call was answered."""
    found = []
    for _ in range(times):
        try:
            ask()
            found.append(True)
        except (APIError, openai.APIStatusError):
            found.append(False)
    return found


def test_a_quota_lets_the_burst_in_and_says_when_the_next_one_is() -> None:
    plan = ServerPlan(requests_per_minute=0.1, burst=2)
    with GeminiServer(plan=plan) as server:
        assert outcomes(lambda: generate(server), 3) == [True, True, False]
        with pytest.raises(APIError) as caught:
            generate(server)
    assert caught.value.status == "RESOURCE_EXHAUSTED"
    info = caught.value.details["error"]["details"][-1]
    assert info["@type"].endswith("RetryInfo")
    assert 590 < float(info["retryDelay"].removesuffix("s")) <= 600
    assert (server.stats.asked, server.stats.granted, server.stats.refused) == (4, 2, 2)
    with ChatServer(plan=plan) as other:
        assert outcomes(lambda: with_chat(other, chat()), 2) == [True, True]
        with pytest.raises(openai.RateLimitError) as limited:
            with_chat(other, chat())
    assert 590 < float(limited.value.response.headers["Retry-After"]) <= 600


def test_a_key_is_revoked_after_so_many_calls_and_stays_so() -> None:
    with GeminiServer(plan=ServerPlan(revoke_key_after=2)) as server:
        assert outcomes(lambda: generate(server), 4) == [True, True, False, False]
        with pytest.raises(APIError, match="API_KEY_INVALID"):
            generate(server)
    assert server.stats.answered == 2


def test_the_second_arrival_of_a_request_may_fare_otherwise_and_the_same_on_every_server() -> None:
    plan = ServerPlan(seed=4, faults={"server_error": 0.5})
    runs = []
    for _ in range(2):
        with GeminiServer(plan=plan) as server:
            runs.append(outcomes(lambda: generate(server), 8))
    assert runs[0] == runs[1]
    assert set(runs[0]) == {True, False}


def test_repeats_and_replies_to_repeats_are_counted_apart() -> None:
    plan = ServerPlan(seed=3, faults={"server_error": 0.5})
    with GeminiServer(plan=plan) as server:
        answered = outcomes(lambda: generate(server), 8).count(True)
        generate_other = outcomes(lambda: generate(server, "hej"), 1)
    stats = server.stats.as_dict()
    assert stats["repeats"] == 7
    assert stats["answered"] == answered + generate_other.count(True)
    assert stats["answered_again"] == answered - 1


def test_many_calls_wait_at_once_without_a_thread_each() -> None:
    async def run(url: str, key: str) -> None:
        body = {"contents": [{"parts": [{"text": "hej"}]}]}
        address = f"{url}/v1/models/m:generateContent"
        async with ClientSession(headers={"x-goog-api-key": key}) as session:

            async def one() -> int:
                async with session.post(address, json=body) as response:
                    return response.status

            assert set(await asyncio.gather(*[one() for _ in range(100)])) == {200}

    with GeminiServer(plan=ServerPlan(latency=0.5)) as server:
        asyncio.run(run(server.url, str(server.key)))
    assert server.stats.most_in_flight > 1
    assert server.stats.in_flight == 0
