"""The store of replies: hits and puts through CachedModel, and two processes that ask the same.

    python -m qa_pipeline_tests.benchmarks.speed.bench_store [--postgres] [--requests 10000] [--workers 128]

Uses a SQLite file in a temporary folder and, with --postgres, a server that it starts itself (Debian's
postgresql, under the user postgres). The wrapped model costs nothing, so that the figures are those of
complete_all, the store and parsing alone. Prints one JSON line: a second each for hits and puts, milliseconds
of processor time for each of both, what is added to a bare complete_all over the same model; and how often
the two processes asked together for the same 1,000 things, of which each takes 20 ms.
"""

import argparse
import asyncio
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline.records import Passage
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.llm.postgres_server import running_server
from qa_pipeline_tests.llm.requests import ACCEPT, Decision, claim

SHARED = 1_000
PROMPT = "What the passage says, over and over. " * 50
PASSAGE = Passage("c", "Title", (), PROMPT, "en", "d" * 32)


class Free:
    """Replies at once, or after a while."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.name = f"free-{uuid.uuid4().hex}" if not seconds else "slow"
        self.asked = 0
        self._seconds = seconds

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Count and reply."""
        self.asked += 1
        if self._seconds:
            await asyncio.sleep(self._seconds)
        value = request.reply_model.model_validate(ACCEPT.model_dump())
        return Reply(value=value, raw=value.model_dump_json(), model=self.name)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        print(_ask_shared(arguments.ask))
        return
    result: dict[str, Any] = {
        "benchmark": "store",
        "requests": arguments.requests,
        "workers": arguments.workers,
    }
    with TemporaryDirectory() as folder:
        numbers = iter(range(10))
        result["sqlite"] = _measured(lambda: f"{folder}/{next(numbers)}.sqlite", arguments)
    if arguments.postgres:
        with running_server() as server:
            result["postgres"] = _measured(server.new_database, arguments)
    print_json(result)


def _measured(new_place: Callable[[], str], arguments: argparse.Namespace) -> dict[str, Any]:
    inner = Free()
    count, workers = arguments.requests, arguments.workers
    with _timed(count) as bare:
        _ask(inner, count, workers)
    model = CachedModel(inner, open_replies(_place(new_place())))
    with _timed(count) as puts:
        _ask(model, count, workers)
    with _timed(count) as hits:
        _ask(model, count, workers)
    assert (model.calls, model.hits) == (count, count)
    model.close()
    return {
        "puts_per_second": puts["per_second"],
        "hits_per_second": hits["per_second"],
        "cpu_ms_added_to_a_paid_call": round(puts["cpu_ms"] - bare["cpu_ms"], 4),
        "cpu_ms_of_a_hit": hits["cpu_ms"],
        "two_processes": _two_processes(new_place()),
    }


def _ask(model: LanguageModel, count: int, workers: int) -> None:
    requests = [claim(f"{PROMPT}{number}", passages=(PASSAGE,)) for number in range(count)]
    replies = complete_all(model, requests, workers=workers)
    assert all(isinstance(reply, Reply) and isinstance(reply.value, Decision) for reply in replies)


def _two_processes(place: str) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, "--ask", place]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    asked = [int(process.communicate()[0]) for process in processes]
    return {"asked_for": 2 * SHARED, "paid": sum(asked), "by_process": asked}


def _ask_shared(place: str) -> int:
    inner = Free(0.02)
    model = CachedModel(inner, open_replies(_place(place)))
    requests = [claim(f"{number}") for number in range(SHARED)]
    random.shuffle(requests)  # or the process that starts later would follow the other one to the end
    replies = complete_all(model, requests, workers=32)
    assert all(isinstance(reply, Reply) for reply in replies)
    model.close()
    return inner.asked


def _place(place: str) -> Path | str:
    return place if "://" in place else Path(place)


@contextmanager
def _timed(count: int) -> Iterator[dict[str, float]]:
    told: dict[str, float] = {}
    begun, worked = time.perf_counter(), time.process_time()
    yield told
    told["per_second"] = round(count / (time.perf_counter() - begun))
    told["cpu_ms"] = round((time.process_time() - worked) / count * 1_000, 4)


if __name__ == "__main__":
    main()
