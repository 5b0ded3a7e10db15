import asyncio
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.calls import Usage
from qa_pipeline.errors import ModelError, PermanentModelError, ReplyStoreError, TransientModelError
from qa_pipeline.llm.asking import ask_all
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.cached import CachedModel, ReplyStore
from qa_pipeline.llm.scripted import ScriptedModel
from qa_pipeline.records import ClaimReply
from qa_pipeline_tests.llm.asking import ACCEPT, REJECT, SCORES, claim, judgement

WRITER = """
import asyncio, sys
from pathlib import Path
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.scripted import ScriptedModel
from qa_pipeline_tests.llm.asking import ACCEPT, claim

async def write() -> None:
    model = CachedModel(ScriptedModel(lambda _: ACCEPT), Path(sys.argv[1]))
    number = 0
    while True:
        await model.complete(claim(f"{number}"))
        print(number, flush=True)
        number += 1

asyncio.run(write())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "replies.db"


class Gated:
    """Replies, or fails, when its gate opens, so that a test can have calls in flight."""

    name = "gated"

    def __init__(self, error: ModelError | None = None) -> None:
        self.error = error
        self.opened = asyncio.Event()
        self.asked = 0

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.asked += 1
        await self.opened.wait()
        if self.error is not None:
            raise self.error
        value = request.reply_model.model_validate(ACCEPT.model_dump())
        return Reply(value=value, raw=value.model_dump_json(), model="gated-1", usage=Usage(5, 3))


def ask(model: CachedModel, request: Request[ClaimReply]) -> Reply[ClaimReply]:
    return asyncio.run(model.complete(request))


def test_a_reply_is_asked_once_and_then_comes_from_the_store_unchanged(path: Path) -> None:
    class Metered(ScriptedModel):
        async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
            reply = await super().complete(request)
            return Reply(reply.value, reply.raw, "metered-2026-01", Usage(5, 3))

    model = CachedModel(Metered([ACCEPT]), path)
    first, second = ask(model, claim()), ask(model, claim())
    assert (first.cached, second.cached) == (False, True)
    assert (second.value, second.raw, second.model, second.usage) == (
        first.value,
        first.raw,
        "metered-2026-01",
        Usage(5, 3),
    )
    assert (model.calls, model.hits) == (1, 1)


@given(st.lists(st.sampled_from("abcde"), max_size=20), st.integers(1, 4))
def test_any_sequence_of_requests_costs_one_call_for_each_different_one(
    tmp_path_factory: pytest.TempPathFactory, asked: list[str], workers: int
) -> None:
    inner = ScriptedModel(lambda request: ClaimReply(reasoning=request.prompt, decision="accept"))
    model = CachedModel(inner, tmp_path_factory.mktemp("cached") / "replies.db")
    replies = ask_all(model, [claim(prompt) for prompt in asked], workers=workers)
    assert [reply.value.reasoning for reply in replies if isinstance(reply, Reply)] == asked
    assert model.calls == len(inner.asked) == len(set(asked))
    assert model.hits == len(asked) - len(set(asked))
    model.close()


def test_another_process_of_the_same_run_later_pays_nothing(path: Path) -> None:
    ask(CachedModel(ScriptedModel([ACCEPT]), path), claim())
    later = CachedModel(ScriptedModel([]), path)
    assert ask(later, claim()).value == ACCEPT
    assert (later.calls, later.hits) == (0, 1)


def test_another_model_is_asked_for_itself(path: Path) -> None:
    ask(CachedModel(ScriptedModel([ACCEPT], name="one"), path), claim())
    other = CachedModel(ScriptedModel([REJECT], name="two"), path)
    assert ask(other, claim()).value == REJECT


def test_the_same_prompt_with_another_reply_model_is_another_request(path: Path) -> None:
    model = CachedModel(ScriptedModel({"verify": [ACCEPT], "judge": [SCORES]}), path)
    ask(model, claim("same"))
    assert asyncio.run(model.complete(judgement("same"))).value == SCORES


def test_an_error_is_not_stored(path: Path) -> None:
    model = CachedModel(ScriptedModel([TransientModelError("busy"), "not json", ACCEPT]), path)
    with pytest.raises(TransientModelError):
        ask(model, claim())
    outcome = ask_all(model, [claim()], workers=1)[0]
    assert not isinstance(outcome, Reply)
    assert ask(model, claim()).value == ACCEPT
    assert (model.calls, model.hits) == (3, 0)


def test_equal_requests_in_flight_share_one_call(path: Path) -> None:
    async def run() -> None:
        inner = Gated()
        model = CachedModel(inner, path)
        tasks = [asyncio.create_task(model.complete(claim())) for _ in range(5)]
        await asyncio.sleep(0)
        inner.opened.set()
        replies = await asyncio.gather(*tasks)
        assert inner.asked == 1
        assert sorted(reply.cached for reply in replies) == [False, True, True, True, True]

    asyncio.run(run())


def test_a_cancelled_call_leaves_its_place_to_a_waiting_one(path: Path) -> None:
    async def run() -> None:
        inner = Gated()
        model = CachedModel(inner, path)
        leading = asyncio.create_task(model.complete(claim()))
        waiting = asyncio.create_task(model.complete(claim()))
        await asyncio.sleep(0)
        leading.cancel()
        inner.opened.set()
        assert (await waiting).value == ACCEPT
        assert leading.cancelled()
        assert inner.asked == 2

    asyncio.run(run())


def test_a_cancelled_waiter_leaves_the_call_and_the_other_waiters_alone(path: Path) -> None:
    async def run() -> None:
        inner = Gated()
        model = CachedModel(inner, path)
        leading, waiting, other = [asyncio.create_task(model.complete(claim())) for _ in range(3)]
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        inner.opened.set()
        assert [(await task).value for task in (leading, other)] == [ACCEPT, ACCEPT]
        assert inner.asked == 1

    asyncio.run(run())


def test_an_error_in_flight_is_shared_by_those_who_wait_for_it(path: Path) -> None:
    async def run() -> None:
        inner = Gated(PermanentModelError("refused"))
        model = CachedModel(inner, path)
        tasks = [asyncio.create_task(model.complete(claim())) for _ in range(3)]
        await asyncio.sleep(0)
        inner.opened.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert outcomes == [inner.error] * 3
        assert inner.asked == 1

    asyncio.run(run())


def test_threads_with_event_loops_of_their_own_share_store_and_flights(path: Path) -> None:
    lock, asked = threading.Lock(), list[str]()

    class Slow:
        name = "slow"

        async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
            with lock:
                asked.append(request.prompt)
            await asyncio.sleep(0.01)
            value = request.reply_model.model_validate(ACCEPT.model_dump())
            return Reply(value=value, raw=value.model_dump_json(), model=self.name)

    model = CachedModel(Slow(), path)
    requests = [claim(f"{number}") for number in range(10)]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: ask_all(model, requests, workers=3), range(4)))
    assert all(isinstance(outcome, Reply) for run in runs for outcome in run)
    assert sorted(asked) == sorted(request.prompt for request in requests)


def test_of_two_processes_that_ask_at_once_the_first_stored_reply_counts(path: Path) -> None:
    slower = CachedModel(ScriptedModel([REJECT]), path)

    class Overtaken(ScriptedModel):
        async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
            await slower.complete(request)
            return await super().complete(request)

    reply = ask(CachedModel(Overtaken([ACCEPT]), path), claim())
    assert reply.value == REJECT
    assert reply.cached


def test_every_acknowledged_reply_is_there_after_a_kill(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    model = CachedModel(ScriptedModel([]), path)
    for number in acknowledged:
        assert ask(model, claim(f"{number}")).cached
    assert acknowledged == list(range(len(acknowledged)))


def test_the_store_is_in_wal_mode_with_normal_durability(path: Path) -> None:
    store = ReplyStore(path)
    assert store.get("m", "k") is None
    with store._open() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)


def test_a_damaged_reply_is_an_error_that_names_it_and_is_not_asked_again(path: Path) -> None:
    model = CachedModel(ScriptedModel([ACCEPT]), path)
    ask(model, claim())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET raw = substr(raw, 1, 10)")
    connection.close()
    with pytest.raises(ReplyStoreError, match=rf"{claim().key} of scripted .* is damaged"):
        ask(model, claim())
    assert model.calls == 1


def test_a_file_that_is_no_store_is_an_error_that_says_what_to_do(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(ReplyStoreError, match=r"cannot be used: file is not a database.*restore it"):
        ask(CachedModel(ScriptedModel([ACCEPT]), path), claim())


def test_a_place_that_cannot_hold_a_file_is_an_error_that_names_it(path: Path) -> None:
    path.parent.write_bytes(b"a file where a folder should be")
    with pytest.raises(ReplyStoreError, match=r"deep/replies\.db cannot be used"):
        ask(CachedModel(ScriptedModel([ACCEPT]), path), claim())


def test_a_store_of_a_later_version_is_left_alone(path: Path) -> None:
    ask(CachedModel(ScriptedModel([ACCEPT]), path), claim())
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=2")
    connection.close()
    with pytest.raises(ReplyStoreError, match="version 2, this program reads version 1"):
        ask(CachedModel(ScriptedModel([]), path), claim())


def test_making_a_model_touches_no_file(path: Path) -> None:
    model = CachedModel(ScriptedModel([ACCEPT]), path)
    assert not path.parent.exists()
    model.close()


def test_a_closed_store_opens_again(path: Path) -> None:
    model = CachedModel(ScriptedModel([ACCEPT]), path)
    ask(model, claim())
    model.close()
    assert ask(model, claim()).cached


def test_connections_of_the_wrapped_model_are_closed_through_the_wrapper(path: Path) -> None:
    class Connected(ScriptedModel):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    inner = Connected([ACCEPT])
    ask_all(CachedModel(inner, path), [claim()], workers=1)
    assert inner.closed == 1
