"""A step of a run: it reads tables of its batch, stores the one that it makes, and evaluates the gates."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.defs.base import MODEL_POOL, OWNERS, content_version, document_batches
from qa_pipeline.defs.checks import check_specs, evaluate, gates_of
from qa_pipeline.defs.metadata import described, frame_metadata, shard_metadata
from qa_pipeline.errors import QAPipelineError, StorageError
from qa_pipeline.llm.tracing import stage_span
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun, calls_table
from qa_pipeline.retrieval.shard import Shard, dump_shard, load_shard_for
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.parquet import frame_hash, read_earlier, read_table, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import LLM_CALLS, STORED

SECONDS_A_LINE = 30.0
"""Seconds between two lines of a long step in the run's log."""


def table_asset(
    table: Table, group: str, *, kind: str = "polars", asks_a_model: bool = False
) -> dict[str, Any]:
    """Return the arguments of `dg.asset` that the assets of all tables declare in the same way."""
    return {
        "group_name": group,
        "partitions_def": document_batches,
        "kinds": {kind, "parquet"},
        "owners": OWNERS,
        "metadata": described(table),
        "check_specs": check_specs(table.name),
        "pool": MODEL_POOL if asks_a_model else None,
    }


class Step:
    """A step at work on a batch."""

    def __init__(self, context: dg.AssetExecutionContext, resources: Resources, name: str) -> None:
        self.resources = resources
        self.batch = context.partition_key
        self.name = name
        self.run = StageRun(resources, self.batch, notify=self._notify(context))

    def read(self, table: Table) -> pl.DataFrame:
        """Return a table of the batch."""
        return read_table(self.resources.layout.table(table.name, self.batch), table)

    def read_all(self, *tables: Table) -> dict[str, pl.DataFrame]:
        """Return tables of the batch by name."""
        return {table.name: self.read(table) for table in tables}

    def previous(self, table: Table) -> StageRun:
        """Return the run with the table as the last run left it, from which rows are kept."""
        earlier = read_earlier(self.resources.layout.table(table.name, self.batch), table)
        return StageRun(self.resources, self.batch, earlier, self.run.notify)

    def read_index(self) -> Shard:
        """Return the index of the batch."""
        path = self.resources.layout.index(self.batch)
        return load_shard_for(self.resources.embedder, path.read_bytes(), str(path))

    def store_beside(self, table: Table, frame: pl.DataFrame) -> pl.DataFrame:
        """Store a table that belongs to the asset's own, and return it."""
        write_table(self.resources.layout.table(table.name, self.batch), frame, table)
        return frame

    def store(self, table: Table, frame: pl.DataFrame, **metadata: Any) -> dg.MaterializeResult:
        """Store the table of the asset and evaluate its gates over it."""
        path = self.resources.layout.table(table.name, self.batch)
        write_table(path, frame, table)
        checks = self.checked(table, frame)
        if any(check.severity == dg.AssetCheckSeverity.ERROR and not check.passed for check in checks):
            self.note_calls()
        return dg.MaterializeResult(
            metadata={**frame_metadata(frame, table), **metadata, "path": dg.MetadataValue.path(str(path))},
            data_version=dg.DataVersion(frame_hash(frame)),
            check_results=checks,
        )

    def note_calls(self) -> None:
        """Store the calls of a batch whose run ends here: it has cost something too."""
        calls = calls_table(self.resources, self.batch)
        if calls.height:
            self.store_beside(LLM_CALLS, calls)

    def store_index(self, shard: Shard) -> dg.MaterializeResult:
        """Store the index of the batch."""
        path, content = self.resources.layout.index(self.batch), dump_shard(shard)
        write_bytes(path, content)
        return dg.MaterializeResult(
            metadata={**shard_metadata(shard), "path": dg.MetadataValue.path(str(path))},
            data_version=content_version(content),
        )

    def checked(self, table: Table, frame: pl.DataFrame) -> list[dg.AssetCheckResult]:
        """Return the results of the gates of a table."""
        gates = gates_of(table.name)
        others = {name for gate in gates for name in gate.reads} - {table.name}
        frames = {**self.read_all(*(STORED[name] for name in sorted(others))), table.name: frame}
        return [evaluate(self.resources, self.batch, gate, frames) for gate in gates]

    def refuse_stopped(self) -> None:
        """Raise Dagster's error of an interruption if the command was interrupted that started the run."""
        if self.resources.stopping.is_set():
            raise dg.DagsterExecutionInterruptedError

    def _notify(self, context: dg.AssetExecutionContext) -> Callable[[int, int], None]:
        watch, due = self.resources.watch(self.batch, self.name), monotonic() + SECONDS_A_LINE

        def notify(done: int, total: int) -> None:
            nonlocal due
            self.refuse_stopped()
            watch(done, total)
            if monotonic() >= due:
                due = monotonic() + SECONDS_A_LINE
                context.log.info(f"{self.name}: {done} of {total}")

        return notify


@contextmanager
def step_of(context: dg.AssetExecutionContext, resources: Resources) -> Iterator[Step]:
    """Yield the step, alone on its batch: a run that finds another one at work on it waits.

    Raises:
        dg.Failure: an error of ours; run again it would fail again.
    """
    name = context.asset_key.to_user_string()
    step = Step(context, resources, name)
    asks_a_model = context.assets_def.op.pool == MODEL_POOL
    lock = resources.layout.batch_lock(step.batch)
    try:
        with ExitStack() as alone:
            try:
                alone.enter_context(locked(lock))
            except StorageError:
                context.log.warning(f"another run is at work on batch {step.batch}; this step waits for it")
                alone.enter_context(locked(lock, wait=True))
            alone.enter_context(stage_span(resources.settings, step.batch, name, asks_a_model=asks_a_model))
            step.refuse_stopped()
            try:
                yield step
            except QAPipelineError:
                step.note_calls()
                raise
    except QAPipelineError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
