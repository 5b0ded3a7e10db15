import asyncio
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from qa_pipeline.errors import (
    OversizedRequestError,
    StorageError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import LanguageModel, Reply, Request
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline.llm.reply_store import ReplyStore
from qa_pipeline.records import Usage
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim
from qa_pipeline_tests.support.scripted import ScriptedModel

WRITER = """
import asyncio, sys
from pathlib import Path
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline.llm.reply_store import ReplyStore
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


def ask(model: CachedModel, request: Request[Decision]) -> Reply[Decision]:
    return asyncio.run(model.complete(request))


def test_a_reply_that_cannot_be_used_was_paid_for_and_fails_the_same_way_again(path: Path) -> None:
    cut = UnreadableReplyError("truncated", "cut", raw='{"rea', model="m-1", usage=Usage(5, 10))
    cut.calls = (call(call_id="c1"),)
    for failure in (cut, OversizedRequestError("9 of 8")):
        request = claim(failure.detail)
        with pytest.raises(type(failure)):
            ask(stored(ScriptedModel([failure]), path), request)
        with pytest.raises(type(failure)) as again:
            ask(stored(ScriptedModel([]), path), request)
        assert again.value.calls == ()
        assert (again.value.reason, again.value.usage) == (failure.reason, failure.usage)
        assert (again.value.detail, again.value.raw) == (failure.detail, failure.raw)


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
    with pytest.raises(StorageError, match=claim().key):
        ask(model, claim())
