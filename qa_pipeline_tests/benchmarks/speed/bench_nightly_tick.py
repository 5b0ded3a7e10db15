"""How long ticks of corpus sensor, automation sensor and the schedule `nightly` take over many batches.

    python -m qa_pipeline_tests.benchmarks.speed.bench_nightly_tick --batches 20000 --changed 5000
    … --postgres postgresql+psycopg2://user@127.0.0.1:5432/an_empty_database

The latter needs dagster-postgres installed.

One small batch is run; the others get links to its tables, and their records are copied in the database, as
if each had been run. Then half of the changed ones are edited and half are new. Each run that a tick requests
is created, as by the daemon, and none of them begins; `requested_twice` counts batches that one of the two,
sensor or schedule, requested again. Each tick has its seconds
by the clock and those of the processor, which a busy machine changes less.
"""

import cProfile
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import dagster as dg
from dagster._core.storage.runs import SqlRunStorage
from sqlalchemy import text

from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.automation import Looked
from qa_pipeline.defs.base import PARTITION, PARTITIONS_NAME, latest_ids, latest_tags
from qa_pipeline.defs.batch_runs import BUILD_BATCH, BUILD_BATCHES, batches_of
from qa_pipeline.defs.corpus import CORPUS, FINGERPRINT_LENGTH, Reports, corpus_of
from qa_pipeline.defs.staleness import steps_of
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.defs.project import Project, instance_at

_TEXT = "The valve is made of brass."
_KEYS_A_STATEMENT = 5000  # SQLite limits the variables of a statement
Seconds = tuple[float, float]
_NIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)

_POSTGRES = """
storage:
  postgres:
    postgres_url: {url}
"""
_COPY_EVENTS = """
INSERT INTO event_logs (run_id, event, dagster_event_type, timestamp, step_key, asset_key, partition)
SELECT run_id, replace(event, :second, copy.partition), dagster_event_type, timestamp, step_key, asset_key,
       copy.partition
FROM event_logs JOIN dynamic_partitions copy ON copy.partition NOT IN (:first, :second)
WHERE event_logs.partition = :second
"""
_COPY_TAGS = """
INSERT INTO asset_event_tags (event_id, asset_key, key, value, event_timestamp)
SELECT copy.id, tag.asset_key, tag.key, tag.value, tag.event_timestamp
FROM asset_event_tags tag JOIN event_logs original ON original.id = tag.event_id
JOIN event_logs copy ON copy.asset_key = original.asset_key AND copy.partition NOT IN (:first, :second)
     AND copy.dagster_event_type = original.dagster_event_type
WHERE original.partition = :second
"""


@contextmanager
def benchmark_instance(folder: Path, postgres: str | None) -> Iterator[dg.DagsterInstance]:
    """The instance the project ships, in SQLite files or in a Postgres database."""
    with instance_at(folder) as instance:
        if postgres is None:
            yield instance
            return
    with (folder / "dagster.yaml").open("a", encoding="utf-8") as file:
        file.write(_POSTGRES.format(url=json.dumps(postgres)))
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        yield instance


def copy_batch(project: Project, first: str, second: str, names: list[str]) -> None:
    """Give batches the files, tables and records of one that has been run; `second` lends short records."""
    out, corpus = project.settings.out, Path(project.settings.corpus)
    files = [*out.glob(f"tables/*/{first}.parquet"), *out.glob(f"indexes/{first}.*")]
    for name in (second, *names):
        (corpus / name).mkdir()
        shutil.copy(corpus / first / "guide.md", corpus / name)
        for file in files:
            os.link(file, file.with_name(file.name.replace(first, name)))
    project.report(second)
    for step in steps_of(build_assets(project.settings)):
        tags = latest_tags(project.instance, step.key, first)
        event = dg.AssetMaterialization(step.key, partition=second, tags=tags)
        project.instance.report_runless_asset_event(event)
    for start in range(0, len(names), _KEYS_A_STATEMENT):
        project.instance.add_dynamic_partitions(PARTITIONS_NAME, names[start : start + _KEYS_A_STATEMENT])
    with project.instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        for statement in (_COPY_EVENTS, _COPY_TAGS):
            connection.execute(text(statement), {"first": first, "second": second})


class Daemon:
    """Ticks as the daemon takes them, with their effects; runs are created and none begins."""

    def __init__(self, project: Project) -> None:
        self.project = project
        definitions = project.definitions
        self.repository = definitions.get_repository_def()
        self.cursors: dict[str, str] = {}
        self.requested: dict[str, list[str]] = {}

    def tick(self, name: str, number: int) -> tuple[Seconds, int]:
        """Take a tick of a sensor, or of the schedule."""
        return self.nightly(number) if name == "nightly" else self.sensor(name)

    def sensor(self, name: str) -> tuple[Seconds, int]:
        """Return seconds, and how many batches were reported or requested."""
        instance = self.project.instance
        context = dg.build_sensor_context(
            instance_ref=instance.get_ref(),
            cursor=self.cursors.get(name),
            resources={"resources": self.project.resources},
            repository_def=self.repository,
            sensor_name=name,
        )
        started = time.perf_counter(), time.process_time()
        data = self.repository.get_sensor_def(name).evaluate_tick(context)
        seconds = time.perf_counter() - started[0], time.process_time() - started[1]
        self.cursors[name] = data.cursor or ""
        for change in data.dynamic_partitions_requests or ():
            if isinstance(change, dg.AddDynamicPartitionsRequest):
                instance.add_dynamic_partitions(PARTITIONS_NAME, change.partition_keys)
        for event in data.asset_events:
            instance.report_runless_asset_event(event)
        requested = self._queue(name, data.run_requests or [])
        return seconds, requested + len({event.partition for event in data.asset_events})

    def nightly(self, number: int) -> tuple[Seconds, int]:
        """Return seconds and requested batches of a tick, the five minutes after the last."""
        with dg.build_schedule_context(
            instance_ref=self.project.instance.get_ref(),
            scheduled_execution_time=_NIGHT + timedelta(minutes=5 * number),
            resources={"resources": self.project.resources},
            repository_def=self.repository,
        ) as context:
            started = time.perf_counter(), time.process_time()
            result = self.repository.get_schedule_def("nightly").evaluate_tick(context)
            seconds = time.perf_counter() - started[0], time.process_time() - started[1]
        return seconds, self._queue("nightly", result.run_requests or [])

    def requested_twice(self) -> int:
        """Return how many requests were for a batch that had been requested already."""
        return sum(len(names) - len(set(names)) for names in self.requested.values())

    def _queue(self, name: str, requests: Sequence[dg.RunRequest]) -> int:
        """Create the runs that are requested; return how many batches they build."""
        count = 0
        for request in requests:
            tags = {**request.tags, "dagster/schedule_name": name}
            if request.partition_key is None:
                run = dg.DagsterRun(BUILD_BATCHES, run_config=request.run_config, tags=tags)
            else:
                run = dg.DagsterRun(BUILD_BATCH, tags={**tags, PARTITION: request.partition_key})
            self.project.instance.add_run(run)
            self.requested.setdefault(name, []).extend(batches_of(run))
            count += len(batches_of(run))
        return count


def take_ticks(tick: Callable[[int], tuple[Seconds, int]], most: int) -> dict[str, Any]:
    """Take ticks until three in a row do nothing: the first only sees what is there."""
    ticks: list[tuple[Seconds, int]] = []
    while len(ticks) < most and (len(ticks) < 3 or any(count for _, count in ticks[-3:])):
        ticks.append(tick(len(ticks)))
        print(len(ticks), *ticks[-1], file=sys.stderr, flush=True)
    return {
        "ticks": len(ticks),
        "first_longest_last": [
            [round(second, 1) for second in seconds] for seconds in (ticks[0][0], max(ticks)[0], ticks[-1][0])
        ],
        "batches": sum(count for _, count in ticks),
    }


def change(project: Project, old: list[str], new: list[str]) -> None:
    """Edit batches and add others."""
    for name in (*old, *new):
        project.write(name, f"{_TEXT} It is in house {name}.")


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=5000)
    parser.add_argument("--changed", type=int, default=0, help="half of them edited, half new")
    parser.add_argument("--ticks", type=int, default=100, help="most ticks of each kind")
    parser.add_argument("--only", nargs="+", default=["corpus_sensor", "automation_sensor", "nightly"])
    parser.add_argument("--profile", type=Path, help="where cProfile's figures of all ticks are written")
    parser.add_argument("--postgres", metavar="URL", help="an empty database, in place of SQLite")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        benchmark_instance(Path(name) / "dagster", options.postgres) as instance,
    ):
        project = Project(Path(name), instance)
        edited = options.changed // 2
        names = [f"b{number:06}" for number in range(options.batches - (options.changed - edited))]
        new = [f"n{number:06}" for number in range(options.changed - edited)]
        project.write(names[0], _TEXT)
        project.launch(names[0])
        copy_batch(project, names[0], names[1], names[2:])
        daemon = Daemon(project)
        listings = corpus_of(project.settings).listing_fingerprints(names)
        ids = latest_ids(instance, CORPUS, names)
        reports = Reports(
            storage=cast("SqlRunStorage", instance.run_storage).get_run_storage_id(),
            by_batch={batch: (ids[batch], str(listings[batch])[:FINGERPRINT_LENGTH]) for batch in names},
        )
        project.resources.layout.listings.write_text(reports.model_dump_json())
        daemon.cursors = {"automation_sensor": Looked(last=max(ids.values())).model_dump_json()}
        change(project, names[2 : 2 + edited], new)
        profile = cProfile.Profile()
        figures = {}
        for kind in options.only:
            with profile if options.profile else nullcontext():
                figures[kind] = take_ticks(partial(daemon.tick, kind), options.ticks)
        if options.profile:
            profile.dump_stats(options.profile)
        print_json(
            {
                "batches": options.batches,
                "changed": options.changed,
                "storage": "postgres" if options.postgres else "sqlite",
                **figures,
                "requested_twice": daemon.requested_twice(),
            }
        )


if __name__ == "__main__":
    main()
