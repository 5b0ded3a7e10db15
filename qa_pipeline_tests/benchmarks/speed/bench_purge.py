"""How large Dagster's storage is per run of a small batch, and what the job `purge_runs` leaves of it.

    python -m qa_pipeline_tests.benchmarks.speed.bench_purge --batches 4 --runs 3
    … --postgres

The latter starts a Postgres of its own, and looks after VACUUM FULL: Postgres uses freed space again, but
gives none back by itself.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import sqlalchemy as sa

from qa_pipeline.defs.retention import purge
from qa_pipeline_tests.benchmarks.speed.bench_nightly_tick import benchmark_instance
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.llm.postgres_server import running_server

Size = Callable[[], int]


@contextmanager
def storage(folder: Path, *, in_postgres: bool) -> Iterator[tuple[dg.DagsterInstance, Size]]:
    """An empty instance, and how many bytes its storage has."""
    if not in_postgres:
        with benchmark_instance(folder, None) as instance:
            yield instance, lambda: sum(file.stat().st_size for file in folder.rglob("*.db"))
        return
    with running_server() as server:
        url = server.new_database().replace("postgresql:", "postgresql+psycopg2:")
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

        def size() -> int:
            with engine.connect() as connection:
                connection.execute(sa.text("VACUUM FULL"))
                return int(
                    connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one()
                )

        with benchmark_instance(folder, url) as instance:
            yield instance, size
        engine.dispose()


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3, help="of each batch")
    parser.add_argument("--postgres", action="store_true")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        storage(Path(folder), in_postgres=arguments.postgres) as (instance, size),
    ):
        project = Project(Path(folder), instance)
        batches = [f"b{number}" for number in range(arguments.batches)]
        for batch in batches:
            project.write(batch)
        empty = size()
        for _ in range(arguments.runs):
            project.launch(*batches, force=True)
        full = size()
        deleted, shortened = purge(instance, datetime.now(UTC) + timedelta(days=1))
        print_json(
            {
                "bytes a run": (full - empty) // (arguments.batches * arguments.runs),
                "bytes a batch after purge_runs": (size() - empty) // arguments.batches,
                "runs deleted": deleted,
                "runs shortened": shortened,
            }
        )


if __name__ == "__main__":
    main()
