"""Never submitted twice: whoever dies, and however many ask at once."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.errors import RepliesPendingError, TransientModelError
from qa_pipeline.llm.base import Reply, Request
from qa_pipeline.llm.batch_jobs.collecting import DOUBT_SECONDS
from qa_pipeline.llm.batch_jobs.submitting import Basket, DeferredModel
from qa_pipeline.llm.gemini.batch_api import GeminiBatches
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.llm.batch_jobs.desk import Desk, claims
from qa_pipeline_tests.llm.postgres_server import NewPlace
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.support.servers import GeminiServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

ASKER = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from qa_pipeline.errors import RepliesPendingError
from qa_pipeline.llm.batch_jobs import book as jobs, collecting, submitting
from qa_pipeline.llm.gemini.batch_api import GeminiBatches
from qa_pipeline_tests.llm.batch_jobs.desk import Desk, claims

place, url, moment, work = sys.argv[1:5]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(owner, name):
    whole = getattr(owner, name)
    async def then_die(*arguments, **named):
        await whole(*arguments, **named)
        die()
    setattr(owner, name, then_die)

match moment:
    case "before the book":
        jobs.JobBook.open = die
    case "before the provider":
        GeminiBatches.create = die
    case "after the provider":
        after(GeminiBatches, "create")
    case "after all":
        after(submitting.DeferredModel, "submit_all")
    case "before the results":
        after(GeminiBatches, "look")
    case "amid the results":
        collecting.set_items = die

desk = Desk(Path(place) if "://" not in place else place, SimpleNamespace(url=url))
print("ready", flush=True)
sys.stdin.readline()
if work == "collect":
    desk.collect()
else:
    try:
        desk.ask(*claims(6))
    except RepliesPendingError as pending:
        print(pending.requests)
"""


def start(place: Path | str, server: GeminiServer, moment: str, work: str = "ask") -> "subprocess.Popen[str]":
    started = subprocess.Popen(
        [sys.executable, "-c", ASKER, str(place), server.url, moment, work],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def finish(started: "subprocess.Popen[str]") -> tuple[int, str]:
    told, _ = started.communicate("go\n")
    return started.returncode, told


def served(**plan: Any) -> GeminiServer:
    return GeminiServer(lambda _: says(ACCEPT), plan=ServerPlan(**({"batch_polls": 0} | plan)))


@pytest.mark.parametrize(
    "moment", ["before the book", "before the provider", "after the provider", "after all"]
)
def test_a_submission_killed_at_any_moment_is_taken_up_and_no_request_is_sent_twice(
    tmp_path: Path, moment: str
) -> None:
    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server)
        code, _ = finish(start(desk.place, server, moment))
        assert code == -signal.SIGKILL
        if moment == "before the provider":
            # for a while nobody can know that it is not on its way
            assert desk.awaited(*claims(6)).requests == 6
            assert (desk.collect().awaited, server.stats.batched) == (1, 0)
            desk.clock.slept.append(DOUBT_SECONDS)
            assert desk.collect().freed == 6
            assert [item.attempts for item in desk.items(*claims(6))] == [0] * 6
        assert all(isinstance(one, Reply) for one in desk.rounds(*claims(6)))
    assert server.stats.batched == 6
    assert len(desk.calls) == 6


@pytest.mark.parametrize("moment", ["before the results", "amid the results"])
def test_collecting_killed_at_any_moment_loses_and_doubles_nothing(tmp_path: Path, moment: str) -> None:
    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server)
        desk.awaited(*claims(6))
        code, _ = finish(start(desk.place, server, moment, "collect"))
        assert (code, desk.calls) == (-signal.SIGKILL, [])
        assert desk.collect().stored == 6
        assert len(desk.ask(*claims(6))) == len(desk.calls) == 6
    assert server.stats.batched == 6


def test_two_processes_that_ask_the_same_at_once_submit_it_once(new_place: NewPlace) -> None:
    with served() as server:
        desk = Desk(new_place(), server)
        twins = [start(desk.place, server, "never") for _ in range(2)]
        for twin in twins:
            assert twin.stdin is not None
            twin.stdin.write("go\n")
            twin.stdin.flush()
        assert [twin.communicate()[0] for twin in twins] == ["6\n", "6\n"]
        collectors = [start(desk.place, server, "never", "collect") for _ in range(2)]
        for collector in collectors:
            assert finish(collector)[0] == 0
        assert len(desk.ask(*claims(6))) == len(desk.calls) == 6
    assert sum(job.requests for job in desk.jobs) == server.stats.batched == 6


def test_a_lost_connection_while_a_job_is_created_leaves_it_to_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = GeminiBatches.create

    async def cut(self: GeminiBatches, display_name: str, requests: Mapping[str, Request[Any]]) -> str:
        await create(self, display_name, requests)
        raise TransientModelError("the line broke", maybe_charged=True)

    monkeypatch.setattr(GeminiBatches, "create", cut)
    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server)
        assert desk.awaited(*claims(2)).requests == 2
        assert [job.provider_name for job in desk.jobs] == [None]
        assert desk.collect().stored == 2
    assert server.stats.batched == 2


def test_a_provider_that_takes_no_job_at_present_is_asked_again_and_then_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    async def full(self: GeminiBatches, display_name: str, requests: Mapping[str, Request[Any]]) -> str:
        tried.append(display_name)
        raise TransientModelError("too many jobs", limited=True)

    monkeypatch.setattr(GeminiBatches, "create", full)
    monkeypatch.setattr("qa_pipeline.llm.batch_jobs.submitting._FIRST_WAIT", 0.0)
    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server, max_tries=3)
        with pytest.raises(TransientModelError, match="too many jobs"):
            desk.ask(claim())
        assert len(tried) == 3
        assert desk.jobs == []
        monkeypatch.undo()
        assert desk.awaited(claim()).requests == 1


def test_a_job_given_up_as_lost_that_comes_alive_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped for longer than any submission takes, and then goes on."""
    create = GeminiBatches.create
    cancelled = []

    async def late(self: GeminiBatches, display_name: str, requests: Mapping[str, Request[Any]]) -> str:
        desk.clock.slept.append(DOUBT_SECONDS)
        await asyncio.to_thread(desk.collect)
        return await create(self, display_name, requests)

    async def cancel(self: GeminiBatches, provider_name: str) -> None:
        cancelled.append(provider_name)

    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server)
        monkeypatch.setattr(GeminiBatches, "create", late)
        monkeypatch.setattr(GeminiBatches, "cancel", cancel)
        with pytest.raises(RepliesPendingError):
            desk.ask(claim())
        monkeypatch.setattr(GeminiBatches, "create", create)
        assert len(cancelled) == 1
        assert desk.awaited(claim()).requests == 1


def test_a_reply_that_comes_while_a_run_is_about_to_submit_its_request_is_not_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has looked into store and book; then another process collects."""
    submit = DeferredModel.submit_all

    with served() as server:
        desk = Desk(tmp_path / "replies.sqlite", server)

        async def late(self: DeferredModel, basket: Basket) -> None:
            monkeypatch.setattr(DeferredModel, "submit_all", submit)
            await asyncio.to_thread(desk.awaited, *claims(2))
            await asyncio.to_thread(desk.collect)
            await submit(self, basket)

        monkeypatch.setattr(DeferredModel, "submit_all", late)
        assert "meanwhile" in str(desk.awaited(*claims(2)))
        assert len(desk.ask(*claims(2))) == 2
    assert server.stats.batched == 2
