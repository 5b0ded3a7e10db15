import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import ModelError, ReplyStoreError, TransientModelError, UnreadableReplyError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.store import Outcome, SqlReplyStore
from qa_pipeline.llm.store.writer import Done, ReplyFront, open_replies
from qa_pipeline.records import Usage
from qa_pipeline_tests.llm.postgres_server import NewPlace, Server, running_server
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.support.scripted import ScriptedModel

REPLY = Outcome("replied", ACCEPT.model_dump_json(), ACCEPT.model_dump_json())

ASKER = """
import sys
from pathlib import Path
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline_tests.llm.requests import ACCEPT, claim

place = sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1])
inner = ScriptedModel(lambda _: ACCEPT)
model = CachedModel(inner, open_replies(place))
outcomes = complete_all(model, [claim(f"{number}") for number in range(int(sys.argv[2]))], workers=8)
model.close()
print(len(inner.asked), sum(outcome.value == ACCEPT for outcome in outcomes))
"""

HOLDER = """
import asyncio, sys
from pathlib import Path
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline_tests.llm.requests import claim

async def hold() -> None:
    front = open_replies(Path(sys.argv[1]))
    assert await front.claim("m", claim()) is None
    print("held", flush=True)
    await asyncio.sleep(600)

asyncio.run(hold())
"""


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


def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


@given(data=st.data())
def test_however_two_fronts_interleave_each_request_is_paid_once(
    new_place: NewPlace, data: st.DataObject
) -> None:
    prompts = st.sampled_from("abcd")
    plays = st.lists(st.sampled_from(["reply", "busy", "unreadable"]), max_size=3)
    planned = {prompt: data.draw(plays) for prompt in "abcd"}
    asked = data.draw(st.lists(st.tuples(st.integers(0, 1), prompts, st.booleans()), max_size=24))
    place, paid = new_place(), Counter[str]()
    models = [CachedModel(Turns(planned, paid), open_replies(place)) for _ in range(2)]

    async def run() -> list[object]:
        tasks = [asyncio.create_task(models[front].complete(claim(prompt))) for front, prompt, _ in asked]
        await asyncio.sleep(0)
        for task, (_, _, cancelled) in zip(tasks, asked, strict=True):
            if cancelled:
                task.cancel()
            await asyncio.sleep(0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(run())
    for model in models:
        model.close()
    assert all(isinstance(one, (Reply, ModelError, asyncio.CancelledError)) for one in outcomes)
    assert all(times == 1 for times in paid.values())
    assert {
        prompt for (_, prompt, _), one in zip(asked, outcomes, strict=True) if isinstance(one, Reply)
    } <= paid.keys()


@pytest.mark.slow
def test_two_processes_that_ask_the_same_pay_once(place: Path | str) -> None:
    processes = [start(ASKER, place, 300) for _ in range(2)]
    told = [process.communicate()[0].split() for process in processes]
    assert [int(answered) for _, answered in told] == [300, 300]
    assert sum(int(asked) for asked, _ in told) == 300


@pytest.mark.slow
def test_a_killed_process_does_not_block_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with start(HOLDER, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    front = open_replies(path)
    assert asyncio.run(asyncio.wait_for(front.claim("m", claim()), 10)) is None
    front.close()
    assert list((tmp_path / ".replies.sqlite.owners").iterdir()) == []


def test_who_waits_for_another_process_takes_over_when_that_fails(place: Path | str) -> None:
    async def run() -> None:
        first, second = open_replies(place), open_replies(place)
        assert await first.claim("m", claim()) is None
        waiting = asyncio.create_task(second.claim("m", claim()))
        assert await second.find("m", claim()) is None
        await first.release("m", claim(), TransientModelError("busy"))
        assert await waiting is None
        second.hand_over("m", claim())
        first.close()
        second.close()

    asyncio.run(run())


def test_who_waits_for_another_process_gets_what_it_stored(place: Path | str) -> None:
    async def run() -> None:
        first, second = open_replies(place), open_replies(place)
        assert await first.claim("m", claim()) is None
        waiting = asyncio.create_task(second.claim("m", claim()))
        assert await second.find("m", claim()) is None
        await first.put("m", claim(), REPLY, ())
        assert await waiting == REPLY
        first.close()
        second.close()

    asyncio.run(run())


def test_a_closed_front_lets_others_ask_what_it_held(place: Path | str) -> None:
    first, second = open_replies(place), open_replies(place)
    assert asyncio.run(first.claim("m", claim())) is None
    first.close()
    assert asyncio.run(asyncio.wait_for(second.claim("m", claim()), 10)) is None
    second.close()


@pytest.mark.slow
def test_a_lease_that_ran_out_is_taken_over_and_one_that_runs_is_not(server: Server) -> None:
    place = server.new_database()
    wanted = ("m", "k")
    no_progress, second = (SqlReplyStore(Database(place), lease_seconds=0.0) for _ in range(2))
    third = SqlReplyStore(Database(place))
    assert no_progress.claim(wanted) is True
    assert second.claim(wanted) is True
    second.release(wanted)
    assert third.claim(wanted) is True
    assert second.claim(wanted) is False
    for store in (no_progress, second, third):
        store.close()


@pytest.mark.slow
def test_a_server_that_restarts_while_calls_are_in_flight_loses_none_of_them() -> None:
    async def run(server: Server) -> None:
        front = open_replies(server.new_database())
        asked = [claim(f"{number}") for number in range(20)]
        assert await asyncio.gather(*(front.claim("m", one) for one in asked)) == [None] * 20
        await asyncio.to_thread(server.stop)
        putting = [asyncio.create_task(front.put("m", one, REPLY, ())) for one in asked]
        await asyncio.to_thread(server.start)
        assert await asyncio.gather(*putting) == [REPLY] * 20
        assert await asyncio.gather(*(front.claim("m", one) for one in asked)) == [REPLY] * 20
        await asyncio.to_thread(front.close)

    with running_server() as server:
        asyncio.run(run(server))


class Failing(SqlReplyStore):
    """Fails when told to, as on a full disk."""

    fails = False

    def _write(self, work: Callable[[sa.Connection], Done]) -> Done:
        if self.fails:
            raise ReplyStoreError("the disk is full")
        return super()._write(work)


def test_after_a_put_that_failed_another_process_may_ask(place: Path | str) -> None:
    store = Failing(Database(place))

    async def run() -> None:
        first, second = ReplyFront(store), open_replies(place)
        assert await first.claim("m", claim()) is None
        behind = asyncio.create_task(first.claim("m", claim()))
        assert await first.find("m", claim()) is None
        store.fails = True
        for failing in (first.put("m", claim(), REPLY, ()), behind):
            with pytest.raises(ReplyStoreError):
                await failing
        store.fails = False
        assert await first.claim("m", claim("another")) is None
        assert await asyncio.wait_for(second.claim("m", claim()), 10) is None
        first.close()
        second.close()

    asyncio.run(run())


def test_an_error_of_the_store_reaches_whoever_asks_and_the_front_goes_on(place: Path | str) -> None:
    store = Failing(Database(place))
    model = CachedModel(ScriptedModel(lambda _: ACCEPT), ReplyFront(store))
    store.fails = True
    with pytest.raises(ReplyStoreError):
        complete_all(model, [claim(f"{number}") for number in range(30)], workers=8)
    store.fails = False
    assert all(isinstance(one, Reply) for one in complete_all(model, [claim("0")], workers=1))
    model.close()
