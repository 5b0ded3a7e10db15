"""Shared parts of all assets: partitions, gates as checks, the step that stores a table, and metadata.

A blocking check only stops later assets of the same run. So a failing gate also withdraws the batch's
published rows, and `training_examples` refuses to run while another gate fails.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.curation.batch_gates import GATES
from qa_pipeline.curation.gate import GateSpec
from qa_pipeline.curation.withdrawals import note_gate, tombstone_of
from qa_pipeline.errors import QAPipelineError, SettingsError
from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.fingerprint import code_version
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.parquet import frame_hash, read_table, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import LLM_CALLS, STORED, TRAINING_EXAMPLES
from qa_pipeline.text.rendering import shorten

ResourcesParam = dg.ResourceParam[Resources]
PARTITIONS_NAME = "document_batches"
document_batches = dg.DynamicPartitionsDefinition(name=PARTITIONS_NAME)
OWNERS = ["team:training-data"]
MODEL_POOL = "llm"
"""Pool of steps that may call a language model; its limit bounds concurrent steps."""
WARNS = "warns_"
"""Prefix of checks that never block, since lists of the UI show only the name."""
SECONDS_A_LINE = 30.0
"""Seconds between log lines of a long step."""
PARTITION = "dagster/partition"
"""A documented tag of Dagster without an exported constant."""
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


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


def versioned(asset: dg.AssetsDefinition, settings: Settings) -> dg.AssetsDefinition:
    """Return an asset with a code version from its settings, prompts and package."""
    version = code_version(asset.key.to_user_string(), settings)
    return asset.map_asset_specs(lambda spec: spec.replace_attributes(code_version=version))


def partitioned_check(
    name: str, asset: str, partitions: dg.PartitionsDefinition, description: str, *, blocking: bool = False
) -> dg.AssetCheckSpec:
    """Return a check of each partition of an asset."""
    with warnings.catch_warnings():
        # Partitioned checks are a preview feature, so the requirements pin dagster's minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name, asset=asset, description=description, blocking=blocking, partitions_def=partitions
        )


def gates_of(asset: str) -> list[GateSpec]:
    """Return the gates of an asset."""
    return [gate for gate in GATES if gate.asset == asset]


def check_specs(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the gates of an asset as checks of its partitions."""
    return [
        partitioned_check(
            name=check_name(gate),
            asset=asset,
            partitions=document_batches,
            description=f"{'Blocks' if gate.blocking else 'Warns'}. {gate.description}",
            blocking=gate.blocking,
        )
        for gate in gates_of(asset)
    ]


def check_name(gate: GateSpec) -> str:
    """Return the name of a gate's check."""
    return gate.name if gate.blocking else f"{WARNS}{gate.name}"


def evaluate(
    resources: Resources, batch: str, spec: GateSpec, frames: Mapping[str, pl.DataFrame]
) -> dg.AssetCheckResult:
    """Evaluate a gate on tables of a batch; a failing blocking gate withdraws the batch."""
    result = spec.check(frames, resources.settings.quality)
    if spec.blocking:  # the result of such a gate may still only warn
        problem = result.detail if result.blocking and not result.passed else None
        note_gate(resources.layout, batch, result.name, problem)  # None clears an earlier problem
    figures = {"value": result.value, "threshold": result.threshold, "rows": result.n, **result.counts}
    return dg.AssetCheckResult(
        check_name=check_name(spec),
        passed=result.passed,
        severity=dg.AssetCheckSeverity.ERROR if result.blocking else dg.AssetCheckSeverity.WARN,
        description=result.detail,
        # as text, since Dagster would plot numbers of unrelated batches as a series
        metadata={name: f"{value:.4g}" for name, value in figures.items() if value is not None},
    )


def refuse_blocked(resources: Resources, batch: str) -> None:
    """Refuse to publish a batch while a gate of another asset fails, even in a run of this asset alone."""
    tombstone = tombstone_of(resources.layout, batch)
    own_gates = {gate.name for gate in gates_of(TRAINING_EXAMPLES.name)}  # they run after this
    if tombstone and tombstone.reason == "gate_failed" and set(tombstone.details) - own_gates:
        problem = f"batch {batch} is withdrawn: {tombstone.message()}"
        raise dg.Failure(f"{problem}; run job build_batch for the whole batch", allow_retries=False)


def stage_span(settings: Settings, batch: str, stage: str) -> AbstractContextManager[object]:
    """Return an OpenTelemetry span of a stage, which records errors, if the settings ask for it."""
    if not settings.monitoring.spans:
        return nullcontext()
    try:
        from opentelemetry import trace
    except ImportError:
        problem = "monitoring.spans needs the otel extra: pip install 'qa-pipeline[otel]'"
        raise SettingsError(problem) from None
    attributes = {"qa_pipeline.batch": batch, "qa_pipeline.stage": stage}
    return trace.get_tracer("qa_pipeline").start_as_current_span(f"stage {stage}", attributes=attributes)


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
        return self._read_tables([*tables, *(table.name for table in others)])

    def store(self, frame: pl.DataFrame, **metadata: Any) -> dg.MaterializeResult:
        """Store the asset's table, and evaluate its gates on this and other tables that they read."""
        table = STORED[self.name]
        self.store_table(table, frame)
        gates = gates_of(self.name)
        others = {name for gate in gates for name in gate.reads} - {self.name}
        frames = {**self._read_tables(others), self.name: frame}
        path = dg.MetadataValue.path(str(self.resources.layout.table(self.name, self.batch)))
        return dg.MaterializeResult(
            metadata={**frame_metadata(frame, table), **metadata, "path": path},
            data_version=dg.DataVersion(frame_hash(frame)),
            check_results=[evaluate(self.resources, self.batch, gate, frames) for gate in gates],
        )

    def store_table(self, table: Table, frame: pl.DataFrame) -> pl.DataFrame:
        """Store a table of the batch without its gates, and return it."""
        write_table(self.resources.layout.table(table.name, self.batch), frame, table)
        return frame

    def raise_if_stopped(self) -> None:
        """Raise DagsterExecutionInterruptedError if the command that started the run was interrupted."""
        if self.resources.stopping.is_set():
            raise dg.DagsterExecutionInterruptedError

    def _read_tables(self, names: Iterable[str]) -> dict[str, pl.DataFrame]:
        layout = self.resources.layout
        return {name: read_table(layout.table(name, self.batch), STORED[name]) for name in names}

    def _notify(self, log: Callable[[str], None]) -> Callable[[int, int], None]:
        """Return a callback that shows the progress, logs it now and then, and ends a stopped step."""
        show_progress = self.resources.watch(self.batch, self.name)
        next_line = monotonic() + SECONDS_A_LINE

        def notify(done: int, total: int) -> None:
            nonlocal next_line
            self.raise_if_stopped()
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
        with locked(lock, wait=True), stage_span(resources.settings, step.batch, step.name):
            step.raise_if_stopped()  # the lock may have taken long
            try:
                yield step
            finally:  # a failed run has costs too
                if step.asset.op.pool == MODEL_POOL:
                    calls = resources.calls(step.batch)
                    if calls.height:
                        step.store_table(LLM_CALLS, calls)
    except QAPipelineError as error:
        resources.error = error  # for `run_batches`, since Dagster passes on only its text
        raise dg.Failure(str(error), allow_retries=False) from error


PREVIEW_ROWS = 5
MOST_SHOWN = 100
"""Most rows of another table in the UI; all rows are counted."""
CELL_LENGTH, TYPE_LENGTH = 200, 60
"""Most characters of a cell, and of a column's type, in the UI; the tables keep the full text."""


def table_schema(table: Table) -> dg.TableSchema:
    """Return the columns with types and descriptions, for the asset's page."""
    columns = [
        dg.TableColumn(column.name, shorten(str(column.dtype), TYPE_LENGTH), column.description)
        for column in table.columns
    ]
    return dg.TableSchema(columns, constraints=dg.TableConstraints([f"key: {', '.join(table.key)}"]))


def frame_metadata(frame: pl.DataFrame, table: Table) -> dict[str, Any]:
    """Return the row count, the counts of codes by column, and a preview of the first rows."""
    metadata: dict[str, Any] = {"dagster/partition_row_count": frame.height}
    if not frame.height:
        return metadata
    for name in (column.name for column in table.columns if column.counted):
        counts = frame.group_by(pl.col(name).fill_null("(none)")).len("rows")
        metadata[f"rows by {name}"] = frame_table(counts.sort(["rows", name], descending=[True, False]))
    preview = frame.head(PREVIEW_ROWS)
    for name in ("evidence", "citations"):  # lists of quotes; a table has at most one of these columns
        if name in frame.columns:
            preview = preview.with_columns(quote=pl.col(name).list.first().struct.field("quote"))
    preview = preview.select(name for name in table.preview if name in preview.columns)
    return {**metadata, "preview": frame_table(preview)}


def frame_table(frame: pl.DataFrame) -> dg.TableMetadataValue:
    """Return the first rows as a table for the UI, which shows texts without interpreting markup."""
    records = [
        dg.TableRecord({name: _cell(value) for name, value in row.items()})
        for row in frame.head(MOST_SHOWN).iter_rows(named=True)
    ]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(name) for name in frame.columns]))


def _cell(value: object) -> str | int | float | bool:
    """Return a number rounded, and other values as text of limited length."""
    if value is None:
        return ""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text, CELL_LENGTH)


def plotted(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the known figures, floats with four digits; Dagster plots the numbers."""
    return {
        name.replace("_", " "): float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in figures.items()
        if value is not None
    }


def cost_metadata(calls: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return cost and tokens by stage and per accepted pair; empty without calls."""
    summary = cost_summary(calls, verdicts)
    if not summary.calls:
        return {}
    names = ("cost", "cost_per_accepted_pair", "currency", "tokens", "calls_without_cost")
    figures = plotted({name: getattr(summary, name) for name in names})
    return figures | {"cost by stage": frame_table(summary.stages)}
