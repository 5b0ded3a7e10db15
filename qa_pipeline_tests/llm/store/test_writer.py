import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
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
from qa_pipeline.llm.store.leases import is_alive
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


LEAVER = """
import asyncio, sys
from pathlib import Path
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline_tests.llm.store.test_writer import REPLY
from qa_pipeline_tests.llm.requests import claim

front = open_replies(Path(sys.argv[1]))

async def leave() -> None:
    assert await front.claim("m", claim()) is None
    asyncio.create_task(front.put("m", claim(), REPLY, ()))
    await asyncio.sleep(0)

asyncio.run(leave())
"""

FORKER = """
import asyncio, os, sys
from pathlib import Path
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline_tests.llm.requests import claim

front = open_replies(Path(sys.argv[1]))
print("parent", asyncio.run(front.claim("m", claim())), flush=True)
child = os.fork()
try:
    found = asyncio.run(front.find("m", claim()))
except RuntimeError as error:
    print(error, flush=True)
    sys.exit()
os.waitpid(child, 0)
print("parent", found, flush=True)
"""


PARENT = """
import os, signal, sys
from pathlib import Path
from qa_pipeline.llm.store.leases import ProcessLock

owner = ProcessLock(Path(sys.argv[1]))
ready, say = os.pipe()
child = os.fork()
if child == 0:
    os.write(say, b"x")
    signal.pause()
os.read(ready, 1)
print(owner.name, child, flush=True)
signal.pause()
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


def test_a_loop_that_ends_without_its_coroutines_leaves_no_claim(place: Path | str) -> None:
    front = open_replies(place)
    loop = asyncio.new_event_loop()
    asking = front.claim("m", claim())
    task = loop.create_task(asking)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asking.close()
    assert not task.done()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    assert asyncio.run(asyncio.wait_for(front.claim("m", claim()), 10)) is None
    front.close()


def test_a_closed_front_lets_others_ask_what_it_held(place: Path | str) -> None:
    first, second = open_replies(place), open_replies(place)
    assert asyncio.run(first.claim("m", claim())) is None
    first.close()
    assert asyncio.run(asyncio.wait_for(second.claim("m", claim()), 10)) is None
    second.close()


def test_a_coroutine_that_waits_while_the_front_is_closed_is_told_so(place: Path | str) -> None:
    async def run() -> None:
        front = open_replies(place)
        assert await front.claim("m", claim()) is None
        waiting = asyncio.create_task(front.claim("m", claim()))
        assert await front.find("m", claim()) is None
        await asyncio.to_thread(front.close)
        with pytest.raises(ReplyStoreError, match="was closed while it was being asked"):
            await waiting

    asyncio.run(run())


def new_threads(known: set[threading.Thread]) -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("qa-pipeline-replies")} - known


def test_a_front_that_is_forgotten_ends_its_thread(tmp_path: Path) -> None:
    known = new_threads(set())
    front = open_replies(tmp_path / "replies.sqlite")
    assert asyncio.run(front.find("m", claim())) is None
    (thread,) = new_threads(known)
    del front
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_asking_in_one_loop_after_another_uses_one_thread(place: Path | str) -> None:
    known, seen = new_threads(set()), set[threading.Thread]()
    model = CachedModel(ScriptedModel(lambda _: ACCEPT), open_replies(place))
    for _ in range(3):
        complete_all(model, [claim()], workers=1)
        seen |= new_threads(known)
    model.close()
    assert len(seen) == 1
    assert (model.calls, model.hits) == (1, 2)


@pytest.mark.slow
def test_what_was_put_is_stored_when_the_process_ends_without_closing(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with start(LEAVER, path) as process:
        assert process.wait(60) == 0
    front = open_replies(path)
    assert asyncio.run(front.find("m", claim())) == REPLY
    front.close()
    assert list((tmp_path / ".replies.sqlite.owners").iterdir()) == []


@pytest.mark.slow
def test_a_forked_process_is_told_to_open_its_own(tmp_path: Path) -> None:
    with start(FORKER, tmp_path / "replies.sqlite") as process:
        told, _ = process.communicate()
        assert "a forked process has no thread of its parent" in told
        assert told.endswith("parent None\n")


@pytest.mark.slow
def test_a_killed_parent_does_not_live_on_in_a_forked_child(tmp_path: Path) -> None:
    with start(PARENT, tmp_path) as process:
        assert process.stdout is not None
        name, child = process.stdout.readline().split()
        assert is_alive(tmp_path, name)
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            assert not is_alive(tmp_path, name)
        finally:
            os.kill(int(child), signal.SIGKILL)


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
            with pytest.raises(ReplyStoreError, match="the disk is full"):
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
    with pytest.raises(ReplyStoreError, match="the disk is full"):
        complete_all(model, [claim(f"{number}") for number in range(30)], workers=8)
    store.fails = False
    assert all(isinstance(one, Reply) for one in complete_all(model, [claim("0")], workers=1))
    model.close()


class Lent(SqlReplyStore):
    """Renews its leases all the time, where they end by themselves, and counts it."""

    beat_seconds = 0.01

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.beaten = threading.Semaphore(0)

    def beat(self) -> None:
        if self._database.is_postgres:
            super().beat()
        self.beaten.release()


@pytest.mark.slow
def test_leases_are_renewed_while_anything_is_held(server: Server) -> None:
    store = Lent(Database(server.new_database()))
    front = ReplyFront(store)

    async def run() -> None:
        assert await front.claim("m", claim()) is None
        for _ in range(3):
            assert await asyncio.to_thread(store.beaten.acquire, timeout=10)
        await front.put("m", claim(), REPLY, ())

    asyncio.run(run())
    front.close()
    assert store.find(("m", claim().key)) == REPLY
    store.close()
