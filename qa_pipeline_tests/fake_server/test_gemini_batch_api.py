"""Gemini's batch jobs over google-genai."""

import json
from typing import Any

import pytest
from google.genai import Client
from google.genai.errors import ClientError
from google.genai.types import BatchJob, CreateBatchJobConfig, InlinedRequest

from qa_pipeline.records import VerifyReply
from qa_pipeline_tests.fake_server.clients import MODEL, config, prompt, with_gemini
from qa_pipeline_tests.fake_server.gemini import fails, says
from qa_pipeline_tests.fake_server.plan import BatchEnd, ServerPlan
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.llm.requests import ACCEPT
from qa_pipeline_tests.support.replies import stops
from qa_pipeline_tests.support.servers import GeminiServer


def requests(*claims: str, **changes: Any) -> list[InlinedRequest]:
    return [
        InlinedRequest(contents=prompt(claim), config=config(**changes), metadata={"key": claim})
        for claim in claims
    ]


def submit(server: GeminiServer, src: list[InlinedRequest], name: str = "run-1") -> BatchJob:
    async def use(client: Client) -> BatchJob:
        job = CreateBatchJobConfig(display_name=name)
        return await client.aio.batches.create(model=MODEL, src=src, config=job)

    job: BatchJob = with_gemini(server, use)
    return job


def look(server: GeminiServer, job: BatchJob) -> BatchJob:
    found: BatchJob = with_gemini(server, lambda c: c.aio.batches.get(name=str(job.name)))
    return found


def state(job: BatchJob) -> str:
    assert job.state is not None
    return job.state.name


def test_a_job_waits_runs_and_ends_with_a_reply_to_each_request_in_order() -> None:
    with GeminiServer() as server:
        job = submit(server, requests("Wait 10 minutes.", "Fly to the moon."))
        assert (state(job), job.display_name, job.model) == ("JOB_STATE_PENDING", "run-1", f"models/{MODEL}")
        assert state(look(server, job)) == "JOB_STATE_RUNNING"
        ended = look(server, job)
    assert state(ended) == "JOB_STATE_SUCCEEDED"
    assert ended.dest is not None
    assert ended.dest.inlined_responses is not None
    decisions = [
        VerifyReply.model_validate_json(one.response.text or "").verdicts[0].decision
        for one in ended.dest.inlined_responses
        if one.response is not None
    ]
    assert decisions == ["accept", "reject"]
    assert [one.metadata for one in ended.dest.inlined_responses] == [
        {"key": "Wait 10 minutes."},
        {"key": "Fly to the moon."},
    ]
    assert ended.end_time is not None
    assert server.stats.batched == 2
    assert server.stats.asked == 0


def test_each_request_may_fail_alone() -> None:
    def reply(asked: Asked) -> ServerResponse:
        if "busy" in asked.prompt:
            return fails(503, "The model is overloaded.")
        return stops("SAFETY") if "blocked" in asked.prompt else says(ACCEPT)

    with GeminiServer(reply, plan=ServerPlan(batch_polls=0)) as server:
        job = submit(server, [*requests("ok", "busy", "blocked"), *requests("hot", temperature=9.0)])
        ended = look(server, job)
    assert ended.dest is not None
    ok, busy, blocked, hot = ended.dest.inlined_responses or []
    assert (ok.response is not None, ok.error) == (True, None)
    assert busy.error is not None
    assert (busy.error.code, busy.error.message) == (14, "The model is overloaded.")
    assert blocked.response is not None
    assert hot.error is not None
    assert (hot.error.code, "temperature" in str(hot.error.message)) == (3, True)


def test_faults_of_the_connection_do_not_reach_into_a_job() -> None:
    plan = ServerPlan(faults={"reset": 1.0}, batch_polls=0)
    with GeminiServer(plan=plan) as server:
        ended = look(server, submit(server, requests("a", "b")))
    assert ended.dest is not None
    assert all(one.response is not None for one in ended.dest.inlined_responses or [])


@pytest.mark.parametrize("end", ["failed", "expired"])
def test_a_job_can_end_without_replies(end: BatchEnd) -> None:
    with GeminiServer(plan=ServerPlan(batch_polls=0, batch_ends=end)) as server:
        ended = look(server, submit(server, requests("a")))
    assert state(ended) == f"JOB_STATE_{end.upper()}"
    assert ended.dest is None


def test_jobs_are_listed_newest_first_and_found_by_their_name() -> None:
    async def names(client: Client) -> list[str | None]:
        return [job.display_name async for job in await client.aio.batches.list()]

    with GeminiServer() as server:
        for name in ("one", "two", "three"):
            submit(server, requests("a"), name)
        assert with_gemini(server, names) == ["three", "two", "one"]


def test_a_job_that_runs_can_be_cancelled_and_one_that_ended_cannot() -> None:
    with GeminiServer() as server:
        job = submit(server, requests("a"))
        with_gemini(server, lambda c: c.aio.batches.cancel(name=str(job.name)))
        assert state(look(server, job)) == "JOB_STATE_CANCELLED"
        with pytest.raises(ClientError, match="FAILED_PRECONDITION"):
            with_gemini(server, lambda c: c.aio.batches.cancel(name=str(job.name)))


@pytest.mark.parametrize(
    "body",
    [{}, {"batch": {"inputConfig": {"requests": {"requests": []}}}}, {"batch": {"x": 1}}, {"batch": 1}],
)
def test_a_job_without_requests_is_refused(body: dict[str, Any]) -> None:
    server = GeminiServer()
    path = f"/v1/models/{MODEL}:batchGenerateContent"
    headers = {"x-goog-api-key": str(server.key)}
    response = server.service.answer("POST", path, headers, json.dumps(body).encode())
    assert response.status == 400


def test_batches_need_the_key_like_everything_else() -> None:
    with GeminiServer() as server, pytest.raises(ClientError, match="API_KEY_INVALID"):
        with_gemini(server, lambda c: c.aio.batches.get(name="batches/1"), key="another")
