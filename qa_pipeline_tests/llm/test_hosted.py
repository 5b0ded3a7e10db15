"""A hosted model: what becomes of each kind of reply and fault, and the record of each call."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import pytest
import stamina

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    ServerUnavailableError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm import hosted
from qa_pipeline.llm.base import Reply, Request
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.provider import Clock, Provider, RawReply
from qa_pipeline.llm.throttle import Throttle
from qa_pipeline.records import Passage, Usage
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.llm.requests import ACCEPT, claim

JSON = ACCEPT.model_dump_json()
USAGE = Usage(10, 5)
BUSY = TransientModelError("busy", limited=True)
DOWN = TransientModelError("down")
LOST = TransientModelError("lost", maybe_charged=True)
AWAY = TransientModelError("loading", is_away=True)
DROPPED = TransientModelError("dropped", is_away=True, maybe_charged=True)


class Played(Provider):
    """A provider that plays texts and errors, each after five seconds, and remembers what it was sent."""

    name = "played/m"

    def __init__(self, plays: Sequence[str | ModelError]) -> None:
        self.plays = list(plays)
        self.sent: list[Request[Any]] = []
        self.others_are_answered: Callable[[], None] = lambda: None

    @property
    def seconds(self) -> float:
        return 5.0 * len(self.sent)

    async def send(self, request: Request[Any]) -> RawReply:
        if self.sent:
            self.others_are_answered()
        self.sent.append(request)
        play = self.plays.pop(0)
        if isinstance(play, ModelError):
            raise play
        return RawReply(play, "played/m-001", USAGE)

    async def aclose(self) -> None:
        pass


@dataclass
class Kept:
    """Accounts that remember what became of each reservation."""

    currency: str = "USD"
    ends: list[str] = field(default_factory=list)

    async def reserve(
        self, request: Request[Any], asked_model: str, tokens_in: int, most_tokens_out: int
    ) -> "Kept":
        return self

    def settle(self, usage: Usage) -> Decimal | None:
        self.ends.append("settled" if usage.input_tokens is not None else "settled unknown")
        return Decimal("0.25") if usage.input_tokens is not None else None

    def cancel(self) -> None:
        self.ends.append("cancelled")


@dataclass
class Asked:
    """What one request came to."""

    outcome: Reply[Any] | ModelError
    provider: Played
    accounts: Kept

    @property
    def reply(self) -> Reply[Any]:
        assert isinstance(self.outcome, Reply)
        return self.outcome

    @property
    def error(self) -> ModelError:
        assert isinstance(self.outcome, ModelError)
        return self.outcome

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.outcome.calls]


def ask(
    *plays: str | ModelError,
    request: Request[Any] | None = None,
    others_are_answered: bool = False,
    **settings: Any,
) -> Asked:
    provider, accounts = Played(plays), Kept()
    clock = Clock(steady=lambda: 1000.0 + provider.seconds)
    throttle = Throttle(clock=clock)
    if others_are_answered:
        provider.others_are_answered = throttle.replied
    budget = cast("Budget", accounts)
    hosted_model = HostedModel(
        provider, LLMSettings(**settings), throttle, budget, run="run-1", most_output=100, clock=clock
    )

    async def run() -> Reply[Any] | ModelError:
        try:
            return await hosted_model.complete(request or claim(batch="boilers"))
        except ModelError as error:
            return error

    with stamina.set_testing(True, attempts=1000):
        return Asked(asyncio.run(run()), provider, accounts)


def test_a_good_reply_takes_one_call_whose_record_says_everything() -> None:
    asked = ask(JSON)
    assert (asked.reply.value, asked.reply.repair, asked.accounts.ends) == (ACCEPT, "none", ["settled"])
    (call,) = asked.reply.calls
    assert (call.run, call.batch, call.role, call.tries) == ("run-1", "boilers", "verify", 1)
    assert (call.asked_model, call.replied_model) == ("played/m", "played/m-001")
    assert (call.usage, call.cost, call.currency, call.prompt) == (USAGE, 0.25, "USD", None)
    assert call.request_key == claim().key


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_the_error_shown() -> None:
    asked = ask("I accept.", JSON)
    assert (asked.reply.value, asked.reply.repair) == (ACCEPT, "reasked")
    assert asked.outcomes == ["not_json", "replied"]
    first, second = asked.provider.sent
    assert second.prompt.startswith(first.prompt)
    assert "not_json" in second.prompt
    assert re.search(r"<reply-(\w+)>\nI accept\.\n</reply-\1>", second.prompt)
    assert {call.request_key for call in asked.reply.calls} == {claim().key}


@pytest.mark.parametrize("reason", ["blocked_safety", "blocked_recitation", "refused"])
def test_what_a_second_asking_would_not_mend_is_not_asked_again(reason: str) -> None:
    asked = ask(UnreadableReplyError(reason, "why", raw="half", usage=USAGE))
    assert (asked.error.reason, asked.outcomes, asked.accounts.ends) == (reason, [reason], ["settled"])


def test_passing_faults_are_tried_again_and_counted_in_tries() -> None:
    asked = ask(DOWN, BUSY, DOWN, JSON)
    assert asked.reply.calls[0].tries == 4
    assert asked.accounts.ends == ["cancelled"] * 3 + ["settled"]


def test_a_call_that_may_have_been_charged_is_recorded_although_it_is_tried_again() -> None:
    asked = ask(LOST, JSON)
    assert asked.outcomes == ["model_unavailable", "replied"]
    assert asked.reply.repair == "none"
    assert asked.accounts.ends == ["settled unknown", "settled"]
    assert asked.reply.calls[0].usage == Usage()


def test_refusals_for_being_asked_too_much_are_capped_in_time_only() -> None:
    asked = ask(*[BUSY] * 30, JSON, max_tries=3)
    assert asked.reply.calls[0].tries == 31
    late = ask(*[BUSY] * 400, JSON)
    assert isinstance(late.error, TransientModelError)
    assert 550 < late.provider.seconds < 650


@pytest.mark.parametrize("fault", [AWAY, DROPPED])
def test_a_server_that_is_away_for_everybody_is_waited_for_without_counting_tries(fault: ModelError) -> None:
    asked = ask(*[fault] * 30, JSON, max_tries=3)
    assert asked.reply.value == ACCEPT
    assert asked.reply.calls[-1].tries == 31


def test_a_server_that_is_waited_for_in_vain_stops_the_run() -> None:
    asked = ask(*[AWAY] * 100, wait_minutes=2)
    assert isinstance(asked.error, ServerUnavailableError)
    assert isinstance(asked.error, PermanentModelError)
    assert "llm.wait_minutes" in str(asked.error)
    assert 120 < asked.provider.seconds < 140


def test_a_wait_of_more_than_two_minutes_is_a_quota_of_the_day_and_stops_the_run() -> None:
    asked = ask(TransientModelError("busy", limited=True, wait_seconds=121.0), JSON)
    assert type(asked.error) is PermanentModelError
    assert len(asked.provider.sent) == 1


@pytest.mark.parametrize("fault", [AWAY, DROPPED])
def test_a_request_that_alone_finds_the_server_away_has_its_tries_only(fault: ModelError) -> None:
    asked = ask(*[fault] * 9, others_are_answered=True, max_tries=3)
    assert isinstance(asked.error, TransientModelError)
    assert len(asked.provider.sent) == 4  # of the first failure nobody knows yet whose fault it is


def test_a_request_that_brings_the_server_down_whenever_it_arrives_does_not_stop_every_run() -> None:
    asked = ask(*[AWAY, DROPPED] * 100, max_tries=3, wait_minutes=1)
    assert isinstance(asked.error, TransientModelError)


def test_a_fault_that_would_repeat_itself_is_not_tried_again() -> None:
    asked = ask(TransientModelError("slow", maybe_charged=True, is_final=True), JSON)
    assert isinstance(asked.error, TransientModelError)
    assert len(asked.provider.sent) == 1


def test_calls_that_fail_one_after_the_other_stop_the_run_and_one_that_succeeds_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted, "MOST_FAILED_CALLS", 3)
    provider, throttle = Played([DOWN, DOWN, JSON, DOWN, DOWN, DOWN]), Throttle()
    settings = LLMSettings(max_tries=1)
    accounts = cast("Budget", Kept())
    model = HostedModel(provider, settings, throttle, accounts, run="r", most_output=9)
    outcomes = complete_all(model, [claim(f"{number}") for number in range(5)], workers=1)
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [False, False, True, False, False]
    with pytest.raises(ServerUnavailableError):
        complete_all(model, [claim("last")], workers=1)


def test_a_permanent_error_costs_nothing_and_is_raised_at_once() -> None:
    asked = ask(KeyRejectedError("revoked"))
    assert isinstance(asked.error, KeyRejectedError)
    assert (asked.accounts.ends, asked.outcomes) == (["cancelled"], [])


def test_a_request_that_is_too_long_names_its_chunks_and_costs_nothing() -> None:
    shown = (Passage("chunk-1", "t", (), "x", "en"), Passage("chunk-2", "t", (), "x", "en"))
    asked = ask(OversizedRequestError("token count exceeds"), request=claim(passages=shown))
    assert asked.error.reason == "context_too_long"
    assert "chunk-1, chunk-2" in str(asked.error)
    assert asked.accounts.ends == ["cancelled"]
