"""A hosted model: what becomes of each kind of reply and fault, and the record of each call."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import stamina

from qa_pipeline.errors import (
    KeyRejectedError,
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    ServerUnavailableError,
    UnreadableReplyError,
)
from qa_pipeline.llm import hosted
from qa_pipeline.llm.base import Reply, Request, TransientModelError
from qa_pipeline.llm.budget import Budget
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.provider import Clock, Provider, RawReply, Throttle
from qa_pipeline.records import Passage, Usage
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings
from qa_pipeline_tests.llm.fakes import MODEL, dollar_a_token
from qa_pipeline_tests.llm.requests import ACCEPT, claim

JSON = ACCEPT.model_dump_json()
USAGE = Usage(10, 5)
BUSY = TransientModelError("busy", is_rate_limit=True)
DOWN = TransientModelError("down")
LOST = TransientModelError("lost", maybe_charged=True)
AWAY = TransientModelError("loading", is_away=True)
DROPPED = TransientModelError("dropped", is_away=True, maybe_charged=True)


class Played(Provider):
    """A provider that plays texts and errors, each after five seconds, and remembers what it was sent."""

    name = MODEL

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
        return RawReply(play, "openai/mine-001", USAGE)

    async def aclose(self) -> None:
        pass


@dataclass
class Asked:
    """What one request came to."""

    outcome: Any
    provider: Played
    budget: Budget

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.outcome.calls]


def ask(
    *plays: str | ModelError,
    request: Request[Any] | None = None,
    others_are_answered: bool = False,
    **settings: Any,
) -> Asked:
    provider, budget = Played(plays), Budget(BudgetSettings(), price_by_name=dollar_a_token)
    clock = Clock(steady=lambda: 1000.0 + provider.seconds)
    throttle = Throttle(clock=clock)
    if others_are_answered:
        provider.others_are_answered = throttle.note_reply
    model = HostedModel(
        provider, LLMSettings(**settings), throttle, budget, run="run-1", most_output=100, clock=clock
    )

    async def run() -> Reply[Any] | ModelError:
        try:
            return await model.complete(request or claim(batch="boilers"))
        except ModelError as error:
            return error

    with stamina.set_testing(True, attempts=1000):
        return Asked(asyncio.run(run()), provider, budget)


def test_a_good_reply_takes_one_call_whose_record_says_everything() -> None:
    asked = ask(JSON)
    assert (asked.outcome.value, asked.outcome.repair) == (ACCEPT, "none")
    (call,) = asked.outcome.calls
    assert (call.run, call.batch, call.role, call.tries) == ("run-1", "boilers", "verify", 1)
    assert (call.asked_model, call.replied_model) == (MODEL, "openai/mine-001")
    assert (call.usage, call.cost, call.currency) == (USAGE, 15, "USD")
    assert (call.request_key, asked.budget.spent.tokens) == (claim().key, 15)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_the_error_shown() -> None:
    asked = ask("I accept.", JSON)
    assert (asked.outcome.value, asked.outcome.repair) == (ACCEPT, "reasked")
    assert asked.outcomes == ["not_json", "replied"]
    first, second = asked.provider.sent
    assert second.prompt.startswith(first.prompt)
    assert "not_json" in second.prompt
    assert re.search(r"<reply-(\w+)>\nI accept\.\n</reply-\1>", second.prompt)
    assert {call.request_key for call in asked.outcome.calls} == {claim().key}


@pytest.mark.parametrize(
    ("reason", "sent"), [("truncated", 2), ("empty", 2), ("blocked_safety", 1), ("refused", 1)]
)
def test_a_reply_is_asked_for_once_more_where_that_may_help_and_then_keeps_its_reason(
    reason: str, sent: int
) -> None:
    asked = ask(*[UnreadableReplyError(reason, "why", raw="half", usage=USAGE) for _ in range(3)])
    assert (asked.outcome.reason, asked.outcomes) == (reason, [reason] * sent)
    assert asked.budget.spent.tokens == 15 * sent


@pytest.mark.parametrize(
    ("plays", "settings", "tries"),
    [
        ([DOWN, BUSY, DOWN, JSON], {}, 4),
        ([*[BUSY] * 30, JSON], {"max_tries": 3}, 31),
        ([*[AWAY] * 30, JSON], {"max_tries": 3}, 31),
        ([*[DROPPED] * 30, JSON], {"max_tries": 3}, 31),
    ],
)
def test_a_fault_that_passes_is_tried_again(plays: Any, settings: dict[str, Any], tries: int) -> None:
    asked = ask(*plays, **settings)
    assert (asked.outcome.value, asked.outcome.calls[-1].tries) == (ACCEPT, tries)


@pytest.mark.parametrize(
    ("plays", "settings", "kind", "most"),
    [
        ([DOWN] * 9, {"max_tries": 3}, TransientModelError, 3),
        ([BUSY] * 400, {}, TransientModelError, 122),  # ten minutes
        ([AWAY] * 100, {"wait_minutes": 2}, ServerUnavailableError, 26),
        ([AWAY, DROPPED] * 100, {"max_tries": 3, "wait_minutes": 1}, TransientModelError, 14),
        # of the first failure nobody knows yet whose fault it is
        ([AWAY] * 9, {"max_tries": 3, "others_are_answered": True}, TransientModelError, 4),
        ([TransientModelError("slow", is_final=True), JSON], {}, TransientModelError, 1),
        (
            [TransientModelError("day", is_rate_limit=True, wait_seconds=121), JSON],
            {},
            PermanentModelError,
            1,
        ),
        ([KeyRejectedError("revoked"), JSON], {}, KeyRejectedError, 1),
    ],
)
def test_a_fault_that_does_not_pass_ends_the_call_or_the_run(
    plays: Any, settings: dict[str, Any], kind: type[ModelError], most: int
) -> None:
    asked = ask(*plays, **settings)
    assert type(asked.outcome) is kind
    assert most - 2 <= len(asked.provider.sent) <= most


def test_a_call_that_may_have_been_charged_is_recorded_although_it_is_tried_again() -> None:
    asked = ask(LOST, JSON)
    assert (asked.outcomes, asked.outcome.repair) == (["model_unavailable", "replied"], "none")
    assert asked.outcome.calls[0].usage == Usage()
    assert asked.budget.spent.calls == 2
    assert asked.budget.spent.tokens > 100  # all that was held counts


def test_calls_that_fail_one_after_the_other_stop_the_run_and_one_that_succeeds_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted, "MOST_GIVEN_UP", 3)
    provider, budget = (
        Played([DOWN, DOWN, JSON, DOWN, DOWN, DOWN]),
        Budget(BudgetSettings(), price_by_name=dollar_a_token),
    )
    model = HostedModel(provider, LLMSettings(max_tries=1), Throttle(), budget, run="r", most_output=9)

    async def run(number: int) -> str:
        try:
            return type(await model.complete(claim(f"{number}"))).__name__
        except ModelError as error:
            return type(error).__name__

    ends = [asyncio.run(run(number)) for number in range(6)]
    failed = "TransientModelError"
    assert ends == [failed, failed, "Reply", failed, failed, "ServerUnavailableError"]


def test_a_request_that_is_too_long_names_its_chunks_and_costs_nothing() -> None:
    shown = (Passage("chunk-1", "t", (), "x", "en"), Passage("chunk-2", "t", (), "x", "en"))
    asked = ask(OversizedRequestError("token count exceeds"), request=claim(passages=shown))
    assert asked.outcome.reason == "context_too_long"
    assert "chunk-1, chunk-2" in str(asked.outcome)
    assert (asked.budget.spent.calls, asked.outcomes) == (0, [])
