"""Batch delivery over real HTTP: put off, submitted once, collected, the same replies as at once."""

from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import (
    BudgetExhaustedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
)
from qa_pipeline.llm.base import Reply, Request
from qa_pipeline.llm.batch_jobs import submitting
from qa_pipeline.llm.batch_jobs.book import erase_documents
from qa_pipeline.records import AnswerReply, Passage
from qa_pipeline_tests.fake_server.gemini import BatchJobs, fails, says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.llm.batch_jobs.desk import Desk, claims
from qa_pipeline_tests.llm.requests import ACCEPT, REJECT, claim
from qa_pipeline_tests.support.replies import stops
from qa_pipeline_tests.support.servers import GeminiServer

AT_ONCE = ServerPlan(batch_polls=0)


def served(play: Any = None, plan: ServerPlan = AT_ONCE) -> GeminiServer:
    return GeminiServer(play or (lambda _: says(ACCEPT)), plan=plan)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "replies.sqlite"


def test_what_is_asked_waits_in_one_job_and_is_there_once_that_is_collected(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server)
        pending = desk.awaited(*claims(5))
        assert (len(pending.jobs), pending.requests) == (1, 5)
        assert pending.jobs[0] in str(pending)
        collected = desk.collect()
        assert (len(collected.jobs), collected.stored, collected.freed) == (1, 5, 0)
        outcomes = desk.ask(*claims(5))
    assert all(isinstance(one, Reply) and one.value == ACCEPT and one.cached for one in outcomes)
    assert (server.stats.asked, server.stats.batched) == (0, 5)


def test_what_is_in_a_job_is_not_submitted_again_and_what_is_new_is(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server)
        first = desk.awaited(*claims(2))
        assert desk.awaited(*claims(2)).jobs == first.jobs
        assert desk.awaited(*claims(3)).requests == 3
        assert [job.requests for job in desk.jobs] == [2, 1]
        desk.collect()
        desk.ask(*claims(3))
    assert server.stats.batched == 3


def test_a_job_that_is_not_done_stays_awaited(place: Path) -> None:
    with served(plan=ServerPlan(batch_polls=2)) as server:
        desk = Desk(place, server)
        desk.awaited(*claims(1))
        assert [(desk.collect().awaited, desk.collect().awaited) for _ in range(1)] == [(1, 1)]
        assert desk.collect().stored == 1


def test_collecting_twice_changes_nothing(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server)
        desk.awaited(*claims(2))
        desk.collect()
        calls = desk.calls
        again = desk.collect()
        assert (again.jobs, again.stored, desk.calls) == ([], 0, calls)
    assert len(calls) == 2


def test_calls_are_recorded_at_half_the_price_for_the_run_that_submitted(place: Path) -> None:
    prices = place.with_name("prices.yaml")
    prices.write_text(
        "currency: USD\nproviders:\n  gemini:\n    gemini-2.5-flash:\n      input: 2.0\n"
        "      output: 4.0\n      as_of: 2026-01-01\n"
    )
    with served() as server:
        desk = Desk(place, server, budget={"prices": prices, "max_calls": 100})
        desk.awaited(claim(batch="hr"))
        desk.collect()
        (call,) = desk.calls
    assert (call.run, call.batch, call.outcome, call.tries) == ("run", "hr", "replied", 1)
    assert call.cost == pytest.approx((11 * 2.0 + 9 * 4.0) / 1_000_000 / 2)


def test_an_item_that_fails_is_sent_again_alone(place: Path) -> None:
    failures = [fails(503, "The model is overloaded.")]

    def play(asked: Asked) -> ServerResponse:
        return failures.pop() if "0 days" in asked.prompt and failures else says(ACCEPT)

    with served(play) as server:
        desk = Desk(place, server)
        desk.awaited(*claims(3))
        collected = desk.collect()
        assert (collected.stored, collected.freed) == (2, 1)
        assert desk.awaited(*claims(3)).requests == 1
        desk.collect()
        assert all(isinstance(one, Reply) for one in desk.ask(*claims(3)))
        assert [job.requests for job in desk.jobs] == [3, 1]
        assert sorted(call.tries for call in desk.calls) == [1, 1, 2]
    assert server.stats.batched == 4


def test_after_three_jobs_a_request_fails_as_one_that_could_not_be_had_and_may_be_asked_again(
    place: Path,
) -> None:
    with served(lambda _: fails(503, "overloaded")) as server:
        desk = Desk(place, server)
        (outcome,) = desk.rounds(claim())
        assert isinstance(outcome, TransientModelError)
        assert outcome.reason == "model_unavailable"
        assert "overloaded" in str(outcome)
        assert len(desk.jobs) == 3
        assert desk.awaited(claim()).requests == 1


@pytest.mark.parametrize("end", ["failed", "expired"])
def test_a_job_without_replies_frees_its_requests_and_says_why(place: Path, end: Any) -> None:
    with served(plan=ServerPlan(batch_polls=0, batch_ends=end)) as server:
        desk = Desk(place, server)
        desk.awaited(*claims(2))
        collected = desk.collect()
        assert (collected.stored, collected.freed) == (0, 2)
        (job,) = desk.jobs
        assert (job.state, end in str(job.detail)) == ("failed", True)
        assert end in collected.problems[0]
        assert desk.awaited(*claims(2)).requests == 2
        assert desk.calls == []


def test_a_refused_request_stops_the_run_as_it_does_at_once(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server)
        hot = claim(temperature=9.0)
        desk.awaited(hot, claim("other"))
        desk.collect()
        with pytest.raises(PermanentModelError, match="temperature"):
            desk.ask(hot, claim("other"))
        assert desk.awaited(hot).requests == 1


SPOILED = [
    [stops("SAFETY")],
    [stops("RECITATION")],
    [says("half", finish="MAX_TOKENS")],
    [says("```json\n" + ACCEPT.model_dump_json() + "\n```")],
    [says("I am sorry, I will not answer.")],
    [says("prose"), says(ACCEPT)],
    [says("prose"), says("{}")],
    [says(""), says("prose [1]")],
]


def told(outcome: Reply[Any] | ModelError) -> Any:
    if isinstance(outcome, ModelError):
        return type(outcome), outcome.reason, str(outcome), getattr(outcome, "raw", None)
    return outcome.value, outcome.raw, outcome.repair, outcome.model, outcome.usage


@pytest.mark.parametrize("plays", SPOILED)
def test_a_reply_comes_to_the_same_whichever_way_it_comes(
    tmp_path: Path, plays: list[ServerResponse]
) -> None:
    seen = []
    for delivery in ("now", "batch"):
        left = list(plays)
        with served(lambda _, left=left: left.pop(0)) as server:
            desk = Desk(tmp_path / f"{delivery}.sqlite", server, delivery=delivery)
            (outcome,) = desk.rounds(claim())
            (stored,) = desk.ask(claim())
            assert told(stored) == told(outcome)
            calls = [(call.outcome, call.repair, call.usage, call.request_key) for call in desk.calls]
            seen.append((told(outcome), sorted(calls, key=str)))
            assert server.stats.batched + server.stats.asked == len(plays)
    assert seen[0] == seen[1]


def test_a_plain_answer_is_recovered_from_jobs_as_well(place: Path) -> None:
    request = Request("answer", "Answer.", "How long?", AnswerReply, 0.0)
    with served(lambda _: says("Wait 10 minutes [1].")) as server:
        (outcome,) = Desk(place, server).rounds(request)
    assert isinstance(outcome, Reply)
    assert outcome.repair == "recovered"


def test_a_request_that_is_too_long_fails_alone_and_is_not_charged(place: Path) -> None:
    with served(plan=ServerPlan(batch_polls=0, input_limit=50)) as server:
        desk = Desk(place, server)
        long, short = desk.rounds(claim("long " * 500), claim())
        assert isinstance(long, OversizedRequestError)
        assert "it shows no chunk" in str(long)
        assert isinstance(short, Reply)
        assert len(desk.calls) == 1


def test_a_job_holds_no_more_requests_and_bytes_than_the_provider_takes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as server:
        desk = Desk(place, server)
        monkeypatch.setattr(submitting, "MOST_REQUESTS", 4)
        assert len(desk.awaited(*claims(10)).jobs) == 3
        monkeypatch.setattr(submitting, "MOST_BYTES", 25_000)
        desk.awaited(*(claim("å" * 1500 + str(number)) for number in range(4)))
        assert [job.requests for job in desk.jobs] == [4, 4, 2, 2, 2]


def test_caps_hold_for_what_is_submitted_and_the_rest_is_left_for_the_next_run(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server, budget={"max_calls": 3})
        pending = desk.awaited(*claims(5))
        assert pending.requests == 3
        assert "max_calls" in str(pending)
        desk.collect()
        assert desk.awaited(*claims(5)).requests == 2
        desk.collect()
        assert len(desk.ask(*claims(5))) == 5


def test_a_cap_that_leaves_no_room_stops_the_run(place: Path) -> None:
    with served() as server:
        desk = Desk(place, server, budget={"max_calls": 0})
        with pytest.raises(BudgetExhaustedError, match="max_calls"):
            desk.ask(*claims(2))
        assert desk.jobs == []


def test_the_caps_of_a_day_get_back_what_the_replies_did_not_take(place: Path) -> None:
    budget = {"max_calls": 100, "max_tokens_a_day": 20_000}
    with served() as server:
        desk = Desk(place, server, budget=budget, max_output_tokens=5_000)
        first = desk.awaited(*claims(8)).requests
        assert 1 <= first <= 3
        assert "max_tokens_a_day" in str(desk.awaited(*claims(8)))
        desk.collect()
        assert desk.awaited(*claims(8)).requests == first


def test_a_reply_that_came_by_batch_serves_a_run_that_asks_at_once(place: Path) -> None:
    with served() as server:
        Desk(place, server).awaited(*claims(2))
        Desk(place, server).collect()
        assert len(Desk(place, server, delivery="now").ask(*claims(2))) == 2
    assert server.stats.asked == 0


def test_requests_that_fail_out_of_step_with_each_other_come_to_an_end(place: Path) -> None:
    """One that was given up must not be sent again while the run waits for another."""

    def play(asked: Asked) -> ServerResponse:
        return says(ACCEPT) if "2 days" in asked.prompt else fails(503, "overloaded")

    with served(play) as server:
        desk = Desk(place, server)
        desk.awaited(claims(3)[0])
        desk.collect()
        first, second, third = desk.rounds(*claims(3))
        assert isinstance(first, TransientModelError)
        assert isinstance(second, TransientModelError)
        assert isinstance(third, Reply)
        assert server.stats.batched == 3 + 3 + 1
        assert desk.items(*claims(3)) == []


def test_what_saw_a_document_is_erased_in_the_book_as_well(place: Path) -> None:
    passage = Passage("c1", "Manual", (), "Wait.", "en", document_id="d1")
    with served(lambda _: says("prose")) as server:
        desk = Desk(place, server)
        desk.awaited(claim("shows it", passages=(passage,)), claim("does not"))
        desk.collect()
        models = desk.models()
        assert models.database.transact(lambda connection: erase_documents(connection, ["d1"])) == 1
        models.close()
        assert [item.request_key for item in desk.items(claim("shows it"), claim("does not"))] == [
            claim("does not").key
        ]


def test_replies_without_metadata_are_distinguished_by_their_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = BatchJobs._response

    def bare(self: BatchJobs, model: str, item: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in whole(self, model, item).items() if name != "metadata"}

    def play(asked: Asked) -> ServerResponse:
        return says(ACCEPT if "1 days" in asked.prompt else REJECT)

    monkeypatch.setattr(BatchJobs, "_response", bare)
    with served(play) as server:
        outcomes = Desk(place, server).rounds(*claims(3))
    assert [one.value for one in outcomes if isinstance(one, Reply)] == [REJECT, ACCEPT, REJECT]
    assert server.stats.batched == 3
