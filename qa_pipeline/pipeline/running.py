"""Batches from files to training examples in this process, without Dagster.

Each table is kept as soon as it is whole. Schedules and retries are those of `qa_pipeline.defs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl

from qa_pipeline.curation.gates.gates import batch_gates, batch_yield, unjudged_pairs
from qa_pipeline.curation.withdrawals import note_origin, withdraw_failed
from qa_pipeline.errors import (
    PermanentModelError,
    QAPipelineError,
    TableError,
)
from qa_pipeline.pipeline.freshness import Finished, batch_basis, note_finished, read_finished
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import STAGES, StageRun, calls_table, pairs_of_file, publish, run_stage
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.retrieval.shard import dump_shard
from qa_pipeline.storage.files import Version, versions_in, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_earlier, write_table
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import (
    CHUNKS,
    LLM_CALLS,
    PAIRS,
    QUESTIONS,
    STORED,
    TRAINING_EXAMPLES,
    VERDICTS,
)

StageObserver = Callable[[str, str], ProgressCallback]
"""Called with (batch, stage) when a stage starts; what it returns is called with its progress."""

BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"

WARNING = "warning: "
"""How the message of a gate begins that does not block."""

LOOK_BACK = 20
"""Earlier batches whose figures a batch is compared with: enough for a mean, however large the corpus is."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of a run of a batch.

    Args:
        batch: its name.
        outcome: succeeded; failed; unchanged since its last run and not run again; or waiting, because
            pairs passed source verification and wait for people or a model to judge them.
        error: what stopped the batch, or what it waits for.
        failed_gates: what failed and why, warnings among them.
    """

    batch: str
    outcome: Literal["succeeded", "failed", "unchanged", "waiting"]
    error: str | None = None
    failed_gates: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether the batch's tables are complete and behind passed gates."""
        return self.outcome in ("succeeded", "unchanged", "waiting")


def no_observer(batch: str, stage: str) -> ProgressCallback:
    """Tell nobody."""
    return no_progress


def run_batches(
    resources: Resources,
    batches: Sequence[str],
    watch: StageObserver = no_observer,
    *,
    force: bool = False,
) -> list[BatchOutcome]:
    """Bring batches up to date one after the other; one that fails takes no other down.

    Args:
        resources: settings and models.
        batches: batches of the corpus.
        watch: called for every stage that starts.
        force: run batches too in which nothing changed; stored replies and vectors are used all the same.

    Raises:
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    return [_run_alone(resources, batch, watch, force=force) for batch in batches]


def validate_pairs(
    resources: Resources, batch: str, pairs_file: Path, watch: StageObserver = no_observer
) -> BatchOutcome:
    """Verify and judge the pairs of a file against a folder of documents; nothing is generated.

    Raises:
        PermanentModelError: the model can answer no further request.
        InputError: the file as a whole cannot be read.
        CorpusError: the folder cannot be used.
    """
    return run_batch(resources, batch, watch, pairs_file=pairs_file)


def _run_alone(resources: Resources, batch: str, watch: StageObserver, *, force: bool) -> BatchOutcome:
    try:
        return _run_where_due(resources, batch, watch, force=force)
    except PermanentModelError:
        raise
    except QAPipelineError as error:
        return BatchOutcome(batch, "failed", error=str(error))


def _run_where_due(resources: Resources, batch: str, watch: StageObserver, *, force: bool) -> BatchOutcome:
    layout = resources.layout
    basis = batch_basis(resources, batch)  # before the run: what changes during it counts as changed
    before = None if force else read_finished(layout, batch, basis)
    if before is not None and before.blocked:
        return BatchOutcome(batch, "failed", f"{BLOCKED}; nothing has changed since", before.failed_gates)
    if before is not None:
        note_origin(layout, batch, resources.settings.corpus)
        return BatchOutcome(batch, "unchanged", before.error, before.failed_gates)
    outcome = run_batch(resources, batch, watch)
    blocked = outcome.error == BLOCKED
    if outcome.passed or blocked:
        finished = Finished(
            basis=basis, error=outcome.error, failed_gates=outcome.failed_gates, blocked=blocked
        )
        note_finished(resources, batch, finished)
    return outcome


def run_batch(
    resources: Resources,
    batch: str,
    watch: StageObserver = no_observer,
    *,
    pairs_file: Path | None = None,
    replaced: Mapping[str, Callable[[StageRun], Any]] | None = None,
) -> BatchOutcome:
    """Run one batch from its files to its training examples, keeping each table as soon as it is whole.

    With `pairs_file` its pairs take the place of generated ones and of those beside the documents. For
    stages in `replaced` its functions run. A batch whose blocking gates fail has no training examples, and
    what was published of it before is moved aside.

    Raises:
        QAPipelineError: the batch cannot be run; the tables of the stages before are kept.
    """
    replaced = replaced or {}
    if pairs_file is not None:
        replaced = {
            "index": lambda _: None,
            QUESTIONS.name: lambda _: QUESTIONS.empty(),
            PAIRS.name: lambda run: pairs_of_file(run, pairs_file),
        }
    try:
        made = _run_stages(resources, batch, watch, replaced)
    finally:  # a batch that failed has cost something too
        write_table(resources.layout.table(LLM_CALLS.name, batch), calls_table(resources, batch), LLM_CALLS)
    if pairs_file is not None:
        note_origin(resources.layout, batch, None)
    return _published(resources, batch, made)


def _run_stages(
    resources: Resources, batch: str, watch: StageObserver, replaced: Mapping[str, Callable[[StageRun], Any]]
) -> dict[str, Any]:
    """Run every stage of a batch; return its tables, and the shard under `index`.

    Training examples are kept only behind the gates, and the calls are counted at the very end.
    """
    made: dict[str, Any] = {}
    for stage in STAGES.values():
        if stage.name == LLM_CALLS.name:
            continue
        path = resources.layout.table(stage.name, batch)
        previous = read_earlier(path, STORED[stage.name]) if stage.keeps else None
        inputs = {name: made[name] for name in stage.inputs}
        run = StageRun(resources, batch, inputs, previous, watch(batch, stage.name))
        output = made[stage.name] = run_stage(replace(stage, run=replaced.get(stage.name, stage.run)), run)
        if stage.name == "index":
            if output is not None:
                write_bytes(resources.layout.index(batch), dump_shard(output))
        elif stage.name != TRAINING_EXAMPLES.name:
            write_table(path, output, STORED[stage.name])
    return made


def _published(resources: Resources, batch: str, made: Mapping[str, Any]) -> BatchOutcome:
    frames = {name: made[name] for name in STORED if name in made}
    gates = batch_gates(frames, resources.settings.quality, earlier_yields(resources.layout, batch))
    messages = tuple(
        f"{'' if gate.blocking else WARNING}{gate.name}: {gate.detail}" for gate in gates if not gate.passed
    )
    blocking = {gate.name: gate.detail for gate in gates if gate.blocking and not gate.passed}
    if blocking:
        withdraw_failed(resources.layout, batch, blocking)
        return BatchOutcome(batch, "failed", BLOCKED, messages)
    examples = frames[TRAINING_EXAMPLES.name]
    write_table(resources.layout.table(TRAINING_EXAMPLES.name, batch), examples, TRAINING_EXAMPLES)
    publish(resources.layout, batch, examples)
    return passed_outcome(batch, frames[VERDICTS.name], messages)


def passed_outcome(batch: str, verdicts: pl.DataFrame, warnings: tuple[str, ...]) -> BatchOutcome:
    """Return the outcome of a batch whose blocking gates pass: it succeeded, or waits for a judge."""
    unjudged = unjudged_pairs(verdicts)
    if not unjudged:
        return BatchOutcome(batch, "succeeded", failed_gates=warnings)
    pairs = "1 verified pair waits" if unjudged == 1 else f"{unjudged} verified pairs wait"
    advice = "record what people decide with qa-pipeline decide, and run again"
    return BatchOutcome(batch, "waiting", f"{pairs} for a judge; {advice}", warnings)


def earlier_yields(layout: Layout, batch: str) -> tuple[float, ...]:
    """Return the yields of the `LOOK_BACK` nearest batches before this one by name.

    A batch whose tables cannot be read counts for nothing here: it fails in its own run and in `status`,
    and must not take this one down.
    """
    ledgers, chunks = (_files_before(layout, batch, table) for table in (VERDICTS, CHUNKS))
    yields = [_yield_of(ledgers[other], chunks[other]) for other in ledgers if other in chunks]
    return tuple(value for value in yields if value is not None)


File = tuple[Path, Version]


def _files_before(layout: Layout, batch: str, table: Table) -> dict[str, File]:
    """Return the files of a table of the nearest batches before one, by batch, from one listing."""
    folder = layout.table(table.name, batch).parent
    versions = versions_in(folder, ".parquet")
    before = sorted(name for name in versions if name < batch)[-LOOK_BACK:]
    return {name: (folder / f"{name}.parquet", versions[name]) for name in before}


# Of each file once in a process: twenty batches have forty tables, which each of their neighbours would read.
_YIELDS_REMEMBERED = 1000


@lru_cache(_YIELDS_REMEMBERED)
def _yield_of(ledger: File, chunks: File) -> float | None:
    verdicts, cut = _read(ledger, VERDICTS), _read(chunks, CHUNKS)
    return None if verdicts is None or cut is None else batch_yield(verdicts, cut)


def _read(file: File, table: Table) -> pl.DataFrame | None:
    try:
        return read_earlier(file[0], table)
    except TableError:
        return None
