import asyncio
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qa_pipeline.errors import (
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    ReplyStoreError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.store.store import ReplyStore
from qa_pipeline.records import Usage
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.support.scripted import ScriptedModel

WRITER = """
import asyncio, sys
from pathlib import Path
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline.llm.store.store import ReplyStore
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.requests import ACCEPT, claim

async def write() -> None:
    model = CachedModel(ScriptedModel(lambda _: ACCEPT), ReplyStore(Path(sys.argv[1])))
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


def stored(model: LanguageModel, path: Path) -> CachedModel:
    return CachedModel(model, ReplyStore(path))


class Gated:
    """Replies, or fails, when its gate opens, so that a test can have calls in flight."""

    name = "gated"

    def __init__(self, error: ModelError | None = None) -> None:
        self.error = error
        self.opened = asyncio.Event()
        self.reached = asyncio.Event()
        self.asked = 0

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.asked += 1
        self.reached.set()
        await self.opened.wait()
        if self.error is not None:
            raise self.error
        value = request.reply_model.model_validate(ACCEPT.model_dump())
        return Reply(value=value, raw=value.model_dump_json(), model="gated-1", usage=Usage(5, 3))


def ask(model: CachedModel, request: Request[Decision]) -> Reply[Decision]:
    return asyncio.run(model.complete(request))


def test_a_reply_is_asked_once_and_then_comes_from_the_store_unchanged(path: Path) -> None:
    class Metered(ScriptedModel):
        async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
            reply = await super().complete(request)
            return Reply(reply.value, reply.raw, "metered-2026-01", Usage(5, 3))

    model = stored(Metered([ACCEPT]), path)
    first, second = ask(model, claim()), ask(model, claim())
    assert (first.cached, second.cached) == (False, True)
    assert (second.value, second.raw, second.model, second.usage) == (
        first.value,
        first.raw,
        "metered-2026-01",
        Usage(5, 3),
    )


def test_an_error_that_cost_nothing_is_not_stored(path: Path) -> None:
    model = stored(ScriptedModel([TransientModelError("busy"), PermanentModelError("no"), ACCEPT]), path)
    for error in (TransientModelError, PermanentModelError):
        with pytest.raises(error):
            ask(model, claim())
    assert ask(model, claim()).value == ACCEPT


def test_a_reply_that_cannot_be_used_was_paid_for_and_fails_the_same_way_again(path: Path) -> None:
    failure = UnreadableReplyError(
        "truncated", "cut at 10 tokens", raw='{"rea', model="m-1", usage=Usage(5, 10)
    )
    failure.calls = (call(call_id="c1"),)
    with pytest.raises(UnreadableReplyError):
        ask(stored(ScriptedModel([failure]), path), claim())
    later = stored(ScriptedModel([]), path)
    with pytest.raises(UnreadableReplyError) as again:
        ask(later, claim())
    told = again.value
    assert (told.reason, told.detail, told.raw, told.model, told.usage) == (
        "truncated",
        "cut at 10 tokens",
        '{"rea',
        "m-1",
        Usage(5, 10),
    )
    assert told.calls == ()


def test_a_request_that_is_too_long_is_told_so_again(path: Path) -> None:
    for model in (
        stored(ScriptedModel([OversizedRequestError("9 of 8")]), path),
        stored(ScriptedModel([]), path),
    ):
        with pytest.raises(OversizedRequestError, match="9 of 8"):
            ask(model, claim())


def test_a_cancelled_call_leaves_its_place_to_a_waiting_one(path: Path) -> None:
    async def run() -> None:
        inner = Gated()
        model = stored(inner, path)
        leading = asyncio.create_task(model.complete(claim()))
        waiting = asyncio.create_task(model.complete(claim()))
        await inner.reached.wait()
        leading.cancel()
        inner.opened.set()
        assert (await waiting).value == ACCEPT
        assert leading.cancelled()
        assert inner.asked == 2

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

    model = stored(Slow(), path)
    requests = [claim(f"{number}") for number in range(10)]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: complete_all(model, requests, workers=3), range(4)))
    assert all(isinstance(outcome, Reply) for run in runs for outcome in run)
    assert sorted(asked) == sorted(request.prompt for request in requests)


@pytest.mark.slow
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
    model = stored(ScriptedModel([]), path)
    for number in acknowledged:
        assert ask(model, claim(f"{number}")).cached
    assert acknowledged == list(range(len(acknowledged)))


def test_a_damaged_reply_is_an_error_that_names_it_and_is_not_asked_again(path: Path) -> None:
    model = stored(ScriptedModel([ACCEPT]), path)
    ask(model, claim())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET value = substr(value, 1, 10)")
    connection.close()
    with pytest.raises(ReplyStoreError, match=claim().key):
        ask(model, claim())
