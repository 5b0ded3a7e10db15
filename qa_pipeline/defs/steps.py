"""A step of a run: it reads the inputs of an asset, stores its table and evaluates its gates."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.defs.base import OWNERS, document_batches
from qa_pipeline.defs.checks import check_specs, evaluate, gates_of
from qa_pipeline.defs.metadata import frame_metadata, table_schema
from qa_pipeline.errors import QAPipelineError, SettingsError, StorageError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.parquet import frame_hash, read_table, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import LLM_CALLS, STORED


@contextmanager
def stage_span(settings: Settings, batch: str, stage: str) -> Iterator[None]:
    """Wrap the stage of a batch in a span, which records errors."""
    if not settings.monitoring.spans:
        yield
        return
    if find_spec("opentelemetry") is None:
        raise SettingsError("monitoring.spans needs the otel extra: pip install 'qa-pipeline[otel]'")
    from opentelemetry import trace

    attributes = {"qa_pipeline.batch": batch, "qa_pipeline.stage": stage}
    tracer = trace.get_tracer_provider().get_tracer("qa_pipeline")
    with tracer.start_as_current_span(f"stage {stage}", attributes=attributes):
        yield


MODEL_POOL = "llm"
"""Pool of steps that may call a language model; its limit bounds concurrent steps."""
SECONDS_A_LINE = 30.0
"""Seconds between log lines of a long step."""


def batch_asset(group: str, *kinds: str) -> dict[str, Any]:
    """Return the arguments of `dg.asset` that all assets of a batch share."""
    return {"group_name": group, "partitions_def": document_batches, "kinds": {*kinds}, "owners": OWNERS}


def table_asset(table: Table, group: str) -> dict[str, Any]:
    """Return the arguments of `batch_asset`, with the columns and gates of a table."""
    facts = {"dagster/column_schema": table_schema(table), "dagster/table_name": table.name}
    arguments = {"metadata": facts, "check_specs": check_specs(table.name)}
    return batch_asset(group, "polars", "parquet") | arguments


def model_asset(table: Table, group: str) -> dict[str, Any]:
    """Return the arguments of `table_asset` for a step that may call a language model."""
    return table_asset(table, group) | {"kinds": {"ai", "parquet"}, "pool": MODEL_POOL}


class Step:
    """A running step of a batch."""

    def __init__(self, context: dg.AssetExecutionContext, resources: Resources) -> None:
        self.asset = context.assets_def
        self.name = context.asset_key.to_user_string()
        self.batch = context.partition_key
        self.resources = resources
        self.run = StageRun(resources, self.batch, self._notify(context.log.info))

    def inputs(self, *others: Table) -> dict[str, pl.DataFrame]:
        """Return the tables that the asset depends on, and other tables, by name."""
        names = [dep.asset_key.to_user_string() for dep in self.asset.get_asset_spec().deps]
        tables = [name for name in names if name in STORED]  # corpus and index are no tables
        return self._read([*tables, *(table.name for table in others)])

    def store(self, frame: pl.DataFrame, **metadata: Any) -> dg.MaterializeResult:
        """Store the asset's table, and evaluate its gates on this and other tables that they read."""
        table = STORED[self.name]
        self.store_beside(table, frame)
        gates = gates_of(self.name)
        others = {name for gate in gates for name in gate.reads} - {self.name}
        frames = {**self._read(others), self.name: frame}
        path = dg.MetadataValue.path(str(self.resources.layout.table(self.name, self.batch)))
        return dg.MaterializeResult(
            metadata={**frame_metadata(frame, table), **metadata, "path": path},
            data_version=dg.DataVersion(frame_hash(frame)),
            check_results=[evaluate(self.resources, self.batch, gate, frames) for gate in gates],
        )

    def store_beside(self, table: Table, frame: pl.DataFrame) -> pl.DataFrame:
        """Store another table, and return it."""
        write_table(self.resources.layout.table(table.name, self.batch), frame, table)
        return frame

    def refuse_stopped(self) -> None:
        """Raise DagsterExecutionInterruptedError if the command that started the run was interrupted."""
        if self.resources.stopping.is_set():
            raise dg.DagsterExecutionInterruptedError

    def _read(self, names: Iterable[str]) -> dict[str, pl.DataFrame]:
        layout = self.resources.layout
        return {name: read_table(layout.table(name, self.batch), STORED[name]) for name in names}

    def _notify(self, log: Callable[[str], None]) -> Callable[[int, int], None]:
        """Return a callback that shows the progress, logs it now and then, and ends a stopped step."""
        show_progress = self.resources.watch(self.batch, self.name)
        next_line = monotonic() + SECONDS_A_LINE

        def notify(done: int, total: int) -> None:
            nonlocal next_line
            self.refuse_stopped()
            show_progress(done, total)
            if monotonic() >= next_line:
                next_line = monotonic() + SECONDS_A_LINE
                log(f"{self.name}: {done} of {total}")

        return notify


@contextmanager
def step_of(context: dg.AssetExecutionContext, resources: Resources) -> Iterator[Step]:
    """Yield the step with a lock on its batch; another run of the batch waits.

    Errors of this package become failures without retries, since another try would fail again.
    """
    step = Step(context, resources)
    lock = resources.layout.batch_lock(step.batch)
    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(lock))
            except StorageError:
                context.log.warning(f"another run is processing batch {step.batch}; this step waits for it")
                stack.enter_context(locked(lock, wait=True))
            stack.enter_context(stage_span(resources.settings, step.batch, step.name))
            step.refuse_stopped()
            try:
                yield step
            finally:  # a failed run has costs too
                if step.asset.op.pool == MODEL_POOL:
                    calls = resources.calls(step.batch)
                    if calls.height:
                        step.store_beside(LLM_CALLS, calls)
    except QAPipelineError as error:
        resources.error = error
        raise dg.Failure(str(error), allow_retries=False) from error
