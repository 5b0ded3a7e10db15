import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qa_pipeline.errors import ModelError, StorageError, UnreadableReplyError
from qa_pipeline.llm.base import Reply, ReplyT, Request, TransientModelError, complete_all
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline.llm.reply_store import Outcome, ReplyStore
from qa_pipeline.records import Usage
from qa_pipeline_tests.llm.outcomes import OUTCOMES, find, put
from qa_pipeline_tests.llm.postgres_server import NewPlace, running_server
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.support.scripted import ScriptedModel

REPLY = Outcome("replied", ACCEPT.model_dump_json(), ACCEPT.model_dump_json())

ASKER = """
import sys
from pathlib import Path
from qa_pipeline.llm.base import complete_all
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline.llm.reply_store import ReplyStore
from qa_pipeline_tests.llm.requests import ACCEPT, claim

place = sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1])
model = CachedModel(ScriptedModel(lambda _: ACCEPT), ReplyStore(place))
outcomes = complete_all(model, [claim(f"{number}") for number in range(300)], workers=8)
print(sum(outcome.value == ACCEPT for outcome in outcomes))
"""


@pytest.fixture
def store(place: Path | str) -> Iterator[ReplyStore]:
    opened = ReplyStore(place)
    yield opened
    opened.close()


class Turns:
    """What each call comes to is drawn beforehand, and paid calls are counted by request."""

    name = "turns"

    def __init__(self, plays: dict[str, list[str]], paid: Counter[str]) -> None:
        self._plays = plays
        self._paid = paid

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        play = self._plays[request.prompt].pop() if self._plays[request.prompt] else "reply"
        for _ in range(len(play)):
            await asyncio.sleep(0)
        if play == "busy":
            raise TransientModelError("busy")
        self._paid[request.prompt] += 1
        if play == "unreadable":
            raise UnreadableReplyError("truncated", "cut", raw=request.prompt)
        value = request.reply_model.model_validate(ACCEPT.model_dump())
        return Reply(value, value.model_dump_json(), self.name, Usage(5, 3))


@given(outcome=OUTCOMES, later=OUTCOMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_outcome_that_is_stored_stays_as_it_was(
    store: ReplyStore, outcome: Outcome, later: Outcome
) -> None:
    request = claim(repr((outcome, later)))
    assert find(store, request.prompt) is None
    assert put(store, request, outcome) == outcome
    assert put(store, request, later) == outcome
    store.close()  # as another process would, it opens the database anew
    assert find(store, request.prompt) == outcome


def test_characters_that_no_database_holds_are_replaced(store: ReplyStore) -> None:
    stored = put(store, claim(), Outcome("replied", raw="a\0b\ud800", value="{}"))
    assert (stored.raw, find(store, claim().prompt)) == ("a\ufffdb\ufffd", stored)


@given(data=st.data())
def test_however_the_askers_of_a_process_interleave_each_request_is_paid_once(
    new_place: NewPlace, data: st.DataObject
) -> None:
    prompts = st.sampled_from("abcd")
    plays = st.lists(st.sampled_from(["reply", "busy", "unreadable"]), max_size=3)
    planned = {prompt: data.draw(plays) for prompt in "abcd"}
    asked = data.draw(st.lists(st.tuples(st.integers(0, 1), prompts, st.booleans()), max_size=24))
    store, paid = ReplyStore(new_place()), Counter[str]()
    models = [CachedModel(Turns(planned, paid), store) for _ in range(2)]

    async def run() -> list[object]:
        tasks = [asyncio.create_task(models[front].complete(claim(prompt))) for front, prompt, _ in asked]
        await asyncio.sleep(0)
        for task, (_, _, cancelled) in zip(tasks, asked, strict=True):
            if cancelled:
                task.cancel()
            await asyncio.sleep(0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(run())
    store.close()
    assert all(isinstance(one, (Reply, ModelError, asyncio.CancelledError)) for one in outcomes)
    assert all(times == 1 for times in paid.values())
    answered = {prompt for (_, prompt, _), one in zip(asked, outcomes, strict=True) if isinstance(one, Reply)}
    assert answered <= paid.keys()


@pytest.mark.slow
def test_two_processes_that_ask_the_same_at_once_are_both_answered(place: Path | str) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ASKER, str(place)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]
    assert [process.communicate()[0].split() for process in started] == [["300"], ["300"]]


@pytest.mark.slow
def test_a_server_that_restarts_while_calls_are_in_flight_loses_none_of_them() -> None:
    with running_server() as server:
        store = ReplyStore(server.new_database())
        asked = [claim(f"{number}") for number in range(20)]

        async def run() -> None:
            assert await asyncio.gather(*(store.find("m", one) for one in asked)) == [None] * 20
            await asyncio.to_thread(server.stop)
            putting = [asyncio.create_task(store.put("m", one, REPLY)) for one in asked]
            await asyncio.to_thread(server.start)
            assert await asyncio.gather(*putting) == [REPLY] * 20
            assert await asyncio.gather(*(store.find("m", one) for one in asked)) == [REPLY] * 20

        asyncio.run(run())
        store.close()


def test_an_error_of_the_store_reaches_whoever_asks_and_the_store_goes_on(
    store: ReplyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(work: Callable[..., Any], *, read_only: bool = False) -> None:
        raise StorageError("the disk is full")

    model = CachedModel(ScriptedModel(lambda _: ACCEPT), store)
    requests = [claim(f"{number % 5}") for number in range(30)]
    with monkeypatch.context() as patched:
        patched.setattr(store.database, "transact", fail)
        with pytest.raises(StorageError):
            complete_all(model, requests, workers=8)
    assert all(isinstance(one, Reply) for one in complete_all(model, requests, workers=8))
