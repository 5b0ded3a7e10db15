"""Many small batches through a real deployment: processor time and events of each, first to last.

    python -m qa_pipeline_tests.benchmarks.speed.bench_backfill {sensor,backfill} [--batches 20]
        [--minutes 60] [--each 10] [--ray] [--s3]

Daemon, code server and webserver are those of deploy/compose.yaml on loopback, with a Postgres of the
benchmark's own. `sensor` turns `automation_sensor` on, whose runs list `--each` batches as those of the night
do; `backfill` launches one of all batches, as the UI does. Each batch is one short document. `--ray` runs
them on two nodes of Ray, `--s3` writes what is made to SeaweedFS.

Prints a JSON line for each process of runs that has ended, so that a benchmark that is cut still tells:
seconds of the processor a batch (those of its children included), events a batch, memory of daemon and code
server (MB), and the size of the database. At the end it compares the first fifth of these with the last, and
brings all batches up to date once more, unchanged, with the job `build_batches`.
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
from qa_pipeline_tests.support.object_store import BUCKET, access, seaweedfs
from qa_pipeline_tests.system.deployment import NAMES, Deployment
from qa_pipeline_tests.system.ray_nodes import two_nodes

_TICK = os.sysconf("SC_CLK_TCK")
_SECONDS_A_LOOK = 1.0
_RUNS = sa.text("""
    SELECT runs.run_id, runs.pipeline_name, runs.status, runs.start_time, runs.end_time, built_by.value
    FROM runs LEFT JOIN run_tags built_by
    ON built_by.run_id = runs.run_id AND built_by.key = 'qa_pipeline/built_by'
    WHERE runs.pipeline_name IN ('build_batch', 'build_batches', '__ASSET_JOB')
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
    """A deployment whose runs are measured."""

    def __init__(self, deployment: Deployment, meter: Meter, memory_of: dict[str, int]) -> None:
        self._deployment, self._meter, self._memory_of = deployment, meter, memory_of
        url = deployment.database.replace("postgresql:", "postgresql+psycopg2:")
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        self._began = time.time()
        self.lines: list[dict[str, Any]] = []
        self._reported: set[str] = set()

    def report(self) -> None:
        """Print a line for every process of runs that has ended since the last time."""
        with self._engine.connect() as connection:
            runs = list(connection.execute(_RUNS))
            ended = [run for run in runs if run.status in {"SUCCESS", "FAILURE", "CANCELED"}]
            for run in sorted((run for run in ended if run.value is None), key=lambda run: run.end_time or 0):
                if run.run_id not in self._reported:
                    self._reported.add(run.run_id)
                    batches = [of for of in ended if of.value == run.run_id] or (
                        [run] if run.pipeline_name != "build_batches" else []
                    )
                    self._print(connection, run, batches)

    def _print(self, connection: sa.Connection, run: Any, batches: list[Any]) -> None:
        process = connection.execute(_PROCESS, {"run": run.run_id}).scalar()
        events = {of.run_id: connection.execute(_EVENTS, {"run": of.run_id}).scalar_one() for of in batches}
        seconds = self._meter.seconds.get(int(process)) if process else None
        line = {
            "run": len(self.lines),
            "job": run.pipeline_name,
            "status": run.status,
            "batches": len(batches),
            "failed": sum(of.status != "SUCCESS" for of in batches),
            "at": round(run.end_time - self._began, 1),
            "wall": round(run.end_time - run.start_time, 1) if run.start_time else None,
            "cpu": seconds,
            "cpu_a_batch": round(seconds / len(batches), 2) if seconds and batches else None,
            "wall_a_batch": [round(of.end_time - of.start_time, 1) for of in batches if of.start_time],
            "events_a_batch": round(sum(events.values()) / len(batches), 1) if batches else None,
            **{f"mb_{name}": _memory(process) for name, process in self._memory_of.items()},
            "mb_database": round(connection.execute(_SIZE).scalar_one() / 1e6, 1),
            "load": load_now()[0],
        }
        self.lines.append(line)
        print_json(line)

    @property
    def built(self) -> int:
        """How many batches have been."""
        return sum(line["batches"] for line in self.lines)

    def summary(self) -> dict[str, Any]:
        """The first fifth of the processes of runs beside the last."""
        lines = [line for line in self.lines if line["cpu_a_batch"] is not None]
        fifth = max(1, len(lines) // 5)
        result: dict[str, Any] = {"runs": len(lines), "batches": self.built}
        for name in ("cpu_a_batch", "events_a_batch", *(f"mb_{name}" for name in self._memory_of)):
            first, last = (
                statistics.fmean(line[name] for line in part) for part in (lines[:fifth], lines[-fifth:])
            )
            result[name] = [round(first, 2), round(last, 2), round(last / first, 3)]
        result["cpu_a_batch_of_all"] = round(
            sum(line["cpu"] for line in lines) / max(1, sum(line["batches"] for line in lines)), 2
        )
        result["mb_database"] = lines[-1]["mb_database"] if lines else None
        return result


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("way", choices=["sensor", "backfill"])
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--each", type=int, default=10, help="automation.batches_per_run")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which it is cut")
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--s3", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as name, running_server() as postgres, ExitStack() as ended:
        folder, meter = Path(name), Meter()
        shared = {
            "QA_PIPELINE_CACHE": str(folder / "cache"),
            "QA_PIPELINE_JUDGING__ACCEPT_UNJUDGED": "true",
            "QA_PIPELINE_AUTOMATION__BATCHES_PER_RUN": str(options.each),
        }
        if options.s3:
            (folder / "store").mkdir()
            shared |= access(ended.enter_context(seaweedfs(folder / "store")))
            shared["QA_PIPELINE_OUT"] = f"s3://{BUCKET}/out"
        if options.ray:
            shared["RAY_JOBS_ADDRESS"] = ended.enter_context(two_nodes(folder / "ray.log"))[0]
        deployment = Deployment(folder, postgres, "ray" if options.ray else "code-server")
        names = write_corpus(folder / "corpus", options.batches, documents=1, sections=3, pairs=2)
        processes = {
            service: ended.enter_context(deployment.service(service, **shared)).pid
            for service in ("code", "daemon", "webserver")
        }
        ended.enter_context(meter.watching())
        deployment.wait(lambda: deployment.registered() == set(names), "the sensor registers batches")
        watched = Watched(deployment, meter, {name: processes[name] for name in ("daemon", "code")})
        print_json({"benchmark": "backfill", **vars(options), "load": load_now()})
        if options.way == "sensor":
            deployment.start_sensor("automation_sensor")
        else:
            deployment.backfill(NAMES, names)
        while watched.built < options.batches and time.monotonic() < end:
            time.sleep(2)
            watched.report()
        print_json({"way": options.way, **watched.summary()})
        if watched.built >= options.batches:
            started = time.monotonic()
            run = deployment.launch("build_batches", {"ops": {"batches": {"config": {"batches": names}}}})
            deployment.wait(lambda: deployment.status_of(run) in {"SUCCESS", "FAILURE"}, "nothing to do")
            watched.report()
            seconds = round(time.monotonic() - started, 1)
            print_json({"unchanged": options.batches, "seconds": seconds, "cpu": watched.lines[-1]["cpu"]})


if __name__ == "__main__":
    main()
