"""Many small batches through a real deployment: processor time and events of each, first to last.

    python -m qa_pipeline_tests.benchmarks.speed.bench_backfill [--batches 20] [--minutes 60]

Daemon, code server and webserver are those of deploy/compose.yaml on loopback, with a Postgres of the
benchmark's own. A backfill of all batches is launched, as the UI does. Each batch is one short document.

Prints a JSON line for each run that has ended: processor seconds, events, memory of daemon and code server
(MB), and the size of the database. At the end it compares the first fifth of the runs with the last.
"""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import write_corpus
from qa_pipeline_tests.llm.postgres_server import running_server
from qa_pipeline_tests.system.deployment import NAMES, Deployment

_TICK = os.sysconf("SC_CLK_TCK")
_SECONDS_A_LOOK = 1.0
_RUNS = sa.text("""
    SELECT run_id, status, start_time, end_time FROM runs
    WHERE status IN ('SUCCESS', 'FAILURE', 'CANCELED') ORDER BY end_time
""")
_EVENTS = sa.text("SELECT count(*) FROM event_logs WHERE run_id = :run")
_PROCESS = sa.text("""
    SELECT event::json -> 'dagster_event' ->> 'pid' FROM event_logs
    WHERE run_id = :run AND dagster_event_type = 'STEP_START' LIMIT 1
""")
_SIZE = sa.text("SELECT pg_database_size(current_database())")


class Meter:
    """Processor seconds of all processes below this one, remembered when they are gone."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look each second while entered."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SECONDS_A_LOOK):
            self.seconds |= dict(_processes())


def _processes() -> Iterator[tuple[int, float]]:
    """Every process with its processor seconds and those of its children that have ended."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), sum(map(int, fields[11:15])) / _TICK


def _memory(process: int) -> float:
    """Resident memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0")
    return round(int(line.split()[1]) * 1024 / 1e6, 1)


class Watched:
    """Hold a deployment and measure its runs."""

    def __init__(self, deployment: Deployment, meter: Meter, memory_of: dict[str, int]) -> None:
        self._deployment, self._meter, self._memory_of = deployment, meter, memory_of
        url = deployment.database.replace("postgresql:", "postgresql+psycopg2:")
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self._began = time.time()
        self.lines: list[dict[str, Any]] = []
        self._reported: set[str] = set()

    def report(self) -> None:
        """Print a line for every run that has ended since the last time."""
        with self._engine.connect() as connection:
            for run in connection.execute(_RUNS):
                if run.run_id not in self._reported:
                    self._reported.add(run.run_id)
                    self._print(connection, run)

    def _print(self, connection: sa.Connection, run: Any) -> None:
        process = connection.execute(_PROCESS, {"run": run.run_id}).scalar()
        line = {
            "run": len(self.lines),
            "status": run.status,
            "at": round(run.end_time - self._began, 1),
            "wall": round(run.end_time - run.start_time, 1) if run.start_time else None,
            "cpu": self._meter.seconds.get(int(process)) if process else None,
            "events": connection.execute(_EVENTS, {"run": run.run_id}).scalar_one(),
            **{f"mb_{name}": _memory(process) for name, process in self._memory_of.items()},
            "mb_database": round(connection.execute(_SIZE).scalar_one() / 1e6, 1),
            "load": load_now()[0],
        }
        self.lines.append(line)
        print_json(line)

    def summary(self) -> dict[str, Any]:
        """Compare the first fifth of the runs with the last."""
        lines = [line for line in self.lines if line["cpu"] is not None]
        fifth = max(1, len(lines) // 5)
        result: dict[str, Any] = {"runs": len(lines), "mb_database": lines[-1]["mb_database"]}
        for name in ("cpu", "events", *(f"mb_{name}" for name in self._memory_of)):
            first, last = (
                statistics.fmean(line[name] for line in part) for part in (lines[:fifth], lines[-fifth:])
            )
            result[name] = [round(first, 2), round(last, 2), round(last / first, 3)]
        return result


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60.0, help="after which it is cut")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as name, running_server() as postgres, ExitStack() as ended:
        folder, meter = Path(name), Meter()
        shared = {
            "QA_PIPELINE_CACHE": str(folder / "cache"),
            "QA_PIPELINE_JUDGING__ACCEPT_UNJUDGED": "true",
        }
        deployment = Deployment(folder, postgres)
        names = write_corpus(folder / "corpus", options.batches, documents=1, sections=3, pairs=2)
        processes = {
            service: ended.enter_context(deployment.service(service, **shared)).pid
            for service in ("code", "daemon", "webserver")
        }
        ended.enter_context(meter.watching())
        deployment.wait(lambda: bool(deployment.repositories()), "the code location is loaded")
        deployment.register(*names)
        watched = Watched(deployment, meter, {name: processes[name] for name in ("daemon", "code")})
        print_json({"benchmark": "backfill", **vars(options), "load": load_now()})
        deployment.backfill(NAMES, names)
        while len(watched.lines) < options.batches and time.monotonic() < end:
            time.sleep(2)
            watched.report()
        print_json(watched.summary())


if __name__ == "__main__":
    main()
