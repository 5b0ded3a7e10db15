"""Kills at seeded moments of a deployment at work, and what is looked at afterwards.

The services are those of `Deployment`: Postgres, code server, daemon and webserver with the settings that are
shipped, and a loopback server in the place of a hosted model. A moment is a number of finished tables.
"""

import io
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import polars as pl
import psycopg

from qa_pipeline_tests.llm.postgres_server import Server
from qa_pipeline_tests.support.processes import children_of
from qa_pipeline_tests.support.servers import ChatServer
from qa_pipeline_tests.system.deployment import HASHED, NAMES, Deployment
from qa_pipeline_tests.system.servers import ENDED

WORKERS = 2
"""Requests that a run has in flight at once."""
LONGEST_OUTAGE = 5.0
"""Seconds until what was killed is started again."""
LONGEST_RUN = 100
"""Seconds after which a run counts as lost."""
LONGEST_REST = 30
"""Seconds without a run at work after which nothing is awaited any more."""
LONGEST_END = 200.0
"""Seconds in which what was killed alone, and left its runs behind, has them end."""
LATENCY = 0.5
LOOKS_APART = 2.0
"""Seconds between two looks whether something must be launched again."""
_AWAY = (OSError, AssertionError, ValueError)
_TORN = (pl.exceptions.PolarsError, ValueError)


@dataclass
class Outcome:
    """What was seen of a deployment that was hit, and how its tables differ from undisturbed ones.

    Args:
        needed: requests that an undisturbed run sends.
        hit: runs that were at work at each kill, by what was killed.
        retried: runs that Dagster began anew by itself.
        reads: files that a reader read meanwhile.
        torn: those of them that were no whole file.
        drafts: files of writers, which are there at the end.
        different: tables that are other ones than those of an undisturbed run.
        asked: requests that the model answered.
        paid_twice: requests that were answered again after their reply was stored.
        left_running: services of which processes live on.
    """

    needed: int
    hit: dict[str, int] = field(default_factory=dict)
    retried: int = 0
    reads: int = 0
    torn: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    asked: int = 0
    paid_twice: int = 0
    left_running: int = 0

    @property
    def problems(self) -> dict[str, Any]:
        """Whatever breaks a promise, by name; empty where all hold."""
        most = self.needed + WORKERS * sum(self.hit.values())
        broken = {
            "torn": self.torn,
            "drafts": self.drafts,
            "different": self.different,
            "asked too often": max(0, self.asked - most),
            "paid twice": self.paid_twice,
            "left running": self.left_running,
        }
        return {name: value for name, value in broken.items() if value}


def tables(out: Path) -> dict[str, bytes]:
    """The bytes of all tables but the calls: they say which run paid, and that is who came first."""
    files = (out / "tables").rglob("*.parquet")
    return {
        file.relative_to(out).as_posix(): file.read_bytes()
        for file in files
        if file.parent.name != "llm_calls"
    }


def drafts(out: Path) -> list[str]:
    """Files that only a writer at work may have."""
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*.tmp"))


class Reader:
    """Somebody who reads every file of an output folder again and again, as soon as it is another one."""

    def __init__(self, out: Path) -> None:
        self.reads = 0
        self.torn: list[str] = []
        self._out = out
        self._seen: dict[Path, tuple[int, int]] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._read_all, daemon=True)

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _read_all(self) -> None:
        while not self._ends.wait(0.1):
            for path in self._files():
                with suppress(FileNotFoundError):
                    status = path.stat()
                    stamp = (status.st_ino, status.st_mtime_ns)
                    if self._seen.get(path) != stamp:
                        self._seen[path] = stamp
                        self._read(path, path.read_bytes())

    def _files(self) -> Iterator[Path]:
        """Files that a reader takes: nothing whose name, or whose folder's, begins with a dot."""
        for folder, folders, names in os.walk(self._out):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths = (Path(folder, name) for name in names if not name.startswith("."))
            yield from (path for path in paths if path.suffix in _PARSERS)

    def _read(self, path: Path, content: bytes) -> None:
        self.reads += 1
        try:
            _PARSERS[path.suffix](content)
        except _TORN as error:
            self.torn.append(f"{path}: {error}")


def _parse_lines(content: bytes) -> None:
    if content and not content.endswith(b"\n"):
        raise ValueError("its last line has no end")
    for line in content.splitlines():
        json.loads(line)


_PARSERS: dict[str, Callable[[bytes], Any]] = {
    ".parquet": lambda content: pl.read_parquet(io.BytesIO(content)),
    ".jsonl": _parse_lines,
    ".json": json.loads,
}


def hosted(models: ChatServer) -> dict[str, str]:
    """The variables of a run that asks a hosted model."""
    return {
        "OPENAI_API_KEY": str(models.key),
        "QA_PIPELINE_LLM__BASE_URL": models.url,
        "QA_PIPELINE_LLM__MODEL": "m",
        "QA_PIPELINE_LLM__PROVIDER": "openai",
        "QA_PIPELINE_LLM__WORKERS": str(WORKERS),
        "QA_PIPELINE_QUALITY__MIN_PASS_RATE": "0",
    }


class Target(Deployment):
    """A deployment whose services are killed and started again one by one."""

    def __init__(self, folder: Path, postgres: Server, models: ChatServer, batches: Sequence[str]) -> None:
        super().__init__(folder, postgres, location=HASHED)
        self.postgres, self.models, self.batches = postgres, models, batches
        for batch in batches:
            self.write(batch)
        instance = self.home / "dagster.yaml"
        shipped = instance.read_text(encoding="utf-8")
        quicker = shipped.replace("poll_interval_seconds: 30", "poll_interval_seconds: 2")
        # a run that its code server took along is found by its time alone
        quicker = quicker.replace("max_runtime_seconds: 21600", f"max_runtime_seconds: {LONGEST_RUN}")
        # and one whose code server was killed as it was launched
        quicker = quicker.replace("start_timeout_seconds: 600", "start_timeout_seconds: 60")
        assert "poll_interval_seconds: 2" in quicker
        assert "start_timeout_seconds: 60\n" in quicker
        assert str(LONGEST_RUN) in quicker
        instance.write_text(quicker, encoding="utf-8")
        self.changes = hosted(models)
        self.services: dict[str, Popen[bytes]] = {}
        self.current, self.resting = "", time.monotonic()
        self._groups: list[int] = []
        self._stacks: dict[str, ExitStack] = {}

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def tables_there(self) -> int:
        return len(list(self.out.glob("tables/*/*.parquet")))

    def run_undisturbed(self, out: Path) -> int:
        """Make all batches in one process and return the number of requests that it took."""
        environment = self.environment(**self.changes, QA_PIPELINE_OUT=str(out))
        del environment["QA_PIPELINE_LLM__STORE__URL"]
        before = self.models.stats.answered
        self.run(sys.executable, "-m", HASHED, environment=environment)
        return self.models.stats.answered - before

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """All services, until the block ends."""
        try:
            for name in ("code", "daemon", "webserver"):
                self.start(name)
            yield
        finally:
            for name in list(self.services):
                self._stacks.pop(name).close()

    def start(self, name: str) -> None:
        """Start a service and wait until it is healthy."""
        self._stacks[name] = ExitStack()
        self.services[name] = self._stacks[name].enter_context(self.service(name, **self.changes))
        self._groups.append(self.services[name].pid)

    def workers(self) -> list[int]:
        """Processes of runs, without their own children."""
        return [child for child in children_of(self.services["code"].pid) if _is_run(child)]

    def paid_twice(self) -> int:
        """Requests that were answered again after their reply was stored: a call is stored with its reply."""
        query = "SELECT request_key FROM calls WHERE outcome = 'replied' GROUP BY 1 HAVING count(*) > 1"
        with psycopg.connect(self.database) as connection:
            return len(connection.execute(query).fetchall())

    def is_loaded(self) -> bool:
        """Whether the webserver knows all batches, which are registered."""
        with suppress(*_AWAY):
            if self.repositories():
                self.register(*set(self.batches) - self.registered())
                return True
        return False

    def launch_batches(self, batches: Iterable[str]) -> None:
        """Launch a backfill of batches, once they are known."""
        self.wait(self.is_loaded, "the code location is loaded")
        self.current = self.backfill(NAMES, sorted(batches))

    def unmade(self) -> set[str]:
        """The batches whose newest run did not end well."""
        return {batch for batch in self.batches if self.runs().get(batch, [""])[0] != "SUCCESS"}

    def is_made(self) -> bool:
        """Whether all is made; what a backfill did not make is launched again once it ended.

        A run whose code server was killed as it was launched ends with the promise of another one, which a
        daemon that was killed too may never start (Dagster 1.13.27); the backfill goes on for ever then.
        """
        with suppress(*_AWAY):
            states = [state for runs in self.runs().values() for state in runs]
            if not set(states) <= {"SUCCESS", "FAILURE", "CANCELED"}:
                self.resting = time.monotonic()
            rests = time.monotonic() - self.resting > LONGEST_REST
            if rests or self.backfill_status(self.current) in ENDED:
                if not (unmade := self.unmade()):
                    return True
                self.launch_batches(unmade)
                self.resting = time.monotonic()
        return False

    def hit(self, kind: str, tables_there: int, lots: random.Random) -> int:
        """Strike once so many tables are there and a run is at work; return the number of runs.

        Where all is made, it is made again.
        """
        looked = time.monotonic()
        while True:
            if (workers := self.workers()) and self.tables_there >= tables_there:
                break
            if time.monotonic() - looked > LOOKS_APART:
                if self.is_made():
                    self.launch_batches(self.batches)
                looked = time.monotonic()
            time.sleep(0.1)
        KINDS[kind](self, lots)
        return len(workers)

    def kill_run(self, lots: random.Random) -> None:
        """Kill the process of a run, in which its steps are."""
        os.kill(lots.choice(self.workers()), signal.SIGKILL)

    def kill_code_server(self, lots: random.Random) -> None:
        """Kill the code server with its runs, or alone, so that they go on as nobody's children."""
        if lots.random() < 0.5:
            os.killpg(self.services["code"].pid, signal.SIGKILL)
        self._kill("code", lots)

    def kill_daemon(self, lots: random.Random) -> None:
        """Kill the daemon: the queue of runs, their monitoring, sensors."""
        self._kill("daemon", lots)

    def restart_postgres(self, lots: random.Random) -> None:
        """Stop Postgres as for maintenance, or as in a crash, and start it again."""
        self.postgres.stop(lots.choice(("fast", "immediate")))
        time.sleep(lots.uniform(0, LONGEST_OUTAGE))
        self.postgres.start()

    def _kill(self, name: str, lots: random.Random) -> None:
        self.services[name].kill()
        self.services[name].wait()
        self._stacks[name].close()
        time.sleep(lots.uniform(0, LONGEST_OUTAGE))
        self.start(name)

    def left_running(self) -> int:
        """Services of which processes live on though they had time to end; they are ended."""
        end = time.monotonic() + LONGEST_END
        while (groups := [group for group in self._groups if _is_alive(group)]) and time.monotonic() < end:
            time.sleep(0.5)
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return len(groups)


def _is_run(process: int) -> bool:
    with suppress(FileNotFoundError):
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


KINDS: dict[str, Callable[[Target, random.Random], None]] = {
    "run": Target.kill_run,
    "code server": Target.kill_code_server,
    "daemon": Target.kill_daemon,
    "postgres": Target.restart_postgres,
}


def run_under_kills(folder: Path, postgres: Server, batches: Sequence[str], seed: int) -> Outcome:
    """Make batches while each kind strikes once, make again what failed, and compare with an undisturbed run.

    Args:
        folder: an empty one.
        postgres: a server that may be stopped.
        batches: their names.
        seed: of the order of the kinds and of their moments.
    """
    lots = random.Random(seed)
    with ChatServer() as models:
        target = Target(folder, postgres, models, batches)
        outcome = Outcome(target.run_undisturbed(folder / "undisturbed"))
        models.slow_down(LATENCY)
        undisturbed = tables(folder / "undisturbed")
        kinds = lots.sample(list(KINDS), len(KINDS))
        moments = sorted(lots.sample(range(1, len(undisturbed) * 4 // 5), len(kinds)))
        with target.at_work(), Reader(target.out) as reader:
            target.launch_batches(batches)
            for kind, moment in zip(kinds, moments, strict=True):
                outcome.hit[kind] = target.hit(kind, moment, lots)
            target.wait(target.is_made, "every batch is made")
            outcome.retried = target.retried()
        outcome.left_running = target.left_running()
        outcome.reads, outcome.torn = reader.reads, reader.torn
        outcome.asked = models.stats.answered - outcome.needed
        outcome.paid_twice = target.paid_twice()
    outcome.drafts = drafts(target.out)
    outcome.different = sorted(dict(undisturbed.items() ^ tables(target.out).items()))
    return outcome
