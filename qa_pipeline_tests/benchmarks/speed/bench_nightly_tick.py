"""How long a tick of the schedule `nightly` takes over batches that are all up to date.

    python -m qa_pipeline_tests.benchmarks.speed.bench_nightly_tick --batches 5000
    … --postgres postgresql+psycopg2://user@127.0.0.1:5432/an_empty_database

The latter needs dagster-postgres installed; 0.29.27 fails with psycopg 3, which SQLAlchemy 2.1 takes for a
plain `postgresql://`.

One small batch is run; the others get copies of its tables and records of the same materializations, as if
each had been run. First ticks examine what they have not seen; the last ones are those of every later night.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from qa_pipeline.defs.assets import build_assets
from qa_pipeline.defs.staleness import steps_of
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.defs.project import Project, instance_at

_TEXT = "The valve is made of brass."
_NIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)


_POSTGRES = """
storage:
  postgres:
    postgres_url: {url}
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


def copy_batch(project: Project, first: str, names: list[str]) -> None:
    """Give batches the files, tables and records of one that has been run."""
    keys = [spec.key for spec in steps_of(build_assets(project.settings))]
    tags = {key: latest_tags(project.instance, key, first) for key in keys}
    out = project.settings.out
    files = [*out.glob(f"tables/*/{first}.parquet"), *out.glob(f"indexes/{first}.*")]
    for name in names:
        project.write(name, _TEXT)
        for file in files:
            shutil.copy(file, file.with_name(file.name.replace(first, name)))
    project.report(*names)
    for name in names:
        for key in keys:  # equal files, so that the recorded versions are right for each batch
            event = dg.AssetMaterialization(key, partition=name, tags=tags[key])
            project.instance.report_runless_asset_event(event)


def latest_tags(instance: dg.DagsterInstance, key: dg.AssetKey, batch: str) -> dict[str, str]:
    """Return the tags of the latest materialization of a batch."""
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[batch])
    (record,) = instance.fetch_materializations(wanted, limit=1).records
    event = record.asset_materialization
    assert event is not None
    return dict(event.tags or {})


def tick(project: Project, night: datetime) -> tuple[float, Any]:
    """Evaluate the schedule as the daemon does; return the seconds and what came of it."""
    definitions = project.definitions
    repository = definitions.get_repository_def()
    schedule = definitions.resolve_schedule_def("nightly")
    started = time.perf_counter()
    with dg.build_schedule_context(
        instance=project.instance,
        scheduled_execution_time=night,
        resources={"resources": project.resources},
        repository_def=repository,
    ) as context:
        result = schedule.evaluate_tick(context)
    return time.perf_counter() - started, result


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=5000)
    parser.add_argument("--ticks", type=int, default=14, help="ticks of five minutes each")
    parser.add_argument("--postgres", metavar="URL", help="an empty database, in place of SQLite")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        benchmark_instance(Path(name) / "dagster", options.postgres) as instance,
    ):
        project = Project(Path(name), instance)
        names = [f"b{number:05}" for number in range(options.batches)]
        project.write(names[0], _TEXT)
        project.launch(names[0])
        copy_batch(project, names[0], names[1:])
        ticks = [tick(project, _NIGHT + timedelta(minutes=5 * number)) for number in range(options.ticks)]
        print_json(
            {
                "batches": options.batches,
                "storage": "postgres" if options.postgres else "sqlite",
                "seconds_of_each_tick": [round(seconds, 1) for seconds, _ in ticks],
                "requested": [len(result.run_requests or []) for _, result in ticks],
                "last_message": ticks[-1][1].skip_message,
            }
        )


if __name__ == "__main__":
    main()
