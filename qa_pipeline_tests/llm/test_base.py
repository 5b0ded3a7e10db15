import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import BudgetExhaustedError, UnreadableReplyError
from qa_pipeline.llm.base import Reply, ReplyT, Request, TransientModelError, complete_all
from qa_pipeline.llm.replies import parse_reply
from qa_pipeline.records import AnswerReply, ReplyModel
from qa_pipeline_tests.llm.requests import Decision, claim, judgement


class Watched:
    """Takes a moment for each request, and remembers how many were in flight and what was closed."""

    name = "watched"

    def __init__(self, outcomes: Mapping[str, Exception] | None = None, wait: float | None = None) -> None:
        self.outcomes = outcomes or {}
        self.wait = wait
        self.in_flight = 0
        self.peak = 0
        self.started: list[str] = []
        self.finished: list[str] = []
        self.closed = 0

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.started.append(request.prompt)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        error = self.outcomes.get(request.prompt)
        # later requests reply sooner, so that order cannot come from timing
        usual = 0.02 - 0.001 * len(self.started) if self.wait is None else self.wait
        await asyncio.sleep(0.001 if error else usual)
        self.in_flight -= 1
        if error:
            raise error
        self.finished.append(request.prompt)
        value = request.reply_model.model_validate({"reasoning": request.prompt, "decision": "accept"})
        return Reply(value=value, raw=value.model_dump_json(), model=self.name)

    async def aclose(self) -> None:
        self.closed += 1


@given(
    system=st.text(st.characters(codec=None, categories=None)),
    prompt=st.text(st.characters(codec=None, categories=None)),
    temperature=st.floats(0, 2),
    seed=st.integers(),
    reply_model=st.sampled_from([Decision, AnswerReply]),
)
def test_a_key_is_that_of_the_releases_before_so_that_what_is_stored_is_found(
    system: str, prompt: str, temperature: float, seed: int, reply_model: type[ReplyModel]
) -> None:
    request = Request("judge", system, prompt, reply_model, temperature, seed)
    parts = {
        "role": "judge",
        "system": system,
        "prompt": prompt,
        "schema": reply_model.model_json_schema(),
        "temperature": temperature,
        "seed": seed,
    }
    assert request.key == hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def prompts(count: int) -> list[Request[Decision]]:
    return [claim(f"claim {number}") for number in range(count)]


def test_outcomes_come_in_the_order_of_the_requests_with_at_most_workers_in_flight() -> None:
    busy, cut = TransientModelError("busy"), UnreadableReplyError("truncated", "cut")
    model, told = Watched({"claim 1": busy, "claim 3": cut}), list[int]()
    outcomes = complete_all(model, prompts(12), workers=3, notify=lambda done, _: told.append(done))
    assert (outcomes[1], outcomes[3], model.peak, told) == (busy, cut, 3, list(range(1, 13)))
    replied = [outcome.value.reasoning for outcome in outcomes if isinstance(outcome, Reply)]
    assert replied == [f"claim {number}" for number in range(12) if number not in (1, 3)]


def test_after_a_permanent_error_nothing_more_is_asked_and_paid_calls_in_flight_finish() -> None:
    model = Watched({"claim 1": BudgetExhaustedError("spent")})
    with pytest.raises(BudgetExhaustedError):
        complete_all(model, prompts(40), workers=3)
    assert model.started == ["claim 0", "claim 1", "claim 2"]
    assert sorted(model.finished) == ["claim 0", "claim 2"]


def test_a_fault_of_the_program_cancels_what_is_in_flight() -> None:
    model = Watched({"claim 1": LookupError("a bug")}, wait=600)  # cancelled, however busy the machine is
    with pytest.raises(LookupError):
        complete_all(model, prompts(40), workers=3)
    assert len(model.started) == 3
    assert model.finished == []
    assert model.closed == 1


def test_whatever_can_change_a_reply_changes_the_key_and_what_the_prompt_already_says_does_not() -> None:
    changes: list[dict[str, Any]] = [
        {"prompt": "x"}, {"system": "x"}, {"temperature": 0.1}, {"seed": 1}, {"role": "judge"}
    ]  # fmt: skip
    keys = {claim(**changed).key for changed in changes} | {judgement().key, claim().key}
    assert len(keys) == len(changes) + 2
    assert claim(question="Why?", limit=3, prompt_hash="other").key == claim().key


def test_the_reason_never_repeats_the_reply() -> None:
    raw = json.dumps({"reasoning": "r", "decision": "<script>", "<b>field</b>": "secret"})
    with pytest.raises(UnreadableReplyError) as caught:
        parse_reply(raw, Decision)
    assert not any(text in str(caught.value) for text in ("script", "<b>", "secret"))
