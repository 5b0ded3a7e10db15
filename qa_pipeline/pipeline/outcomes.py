"""What a run of a batch came to, and the yields of the batches that it is compared with."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import polars as pl

from qa_pipeline.curation.gates.gates import batch_yield, unjudged_pairs
from qa_pipeline.errors import TableError
from qa_pipeline.storage.files import Version, versions_in
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import CHUNKS, VERDICTS

BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"
NO_PAIRS = "it gave no pair"

WARNING = "warning: "
"""How the message of a gate begins that does not block."""

LOOK_BACK = 20
"""Earlier batches whose figures a batch is compared with: enough for a mean, however large the corpus is."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of a run of a batch.

    Args:
        batch: its name.
        outcome: succeeded; empty, because it gave no pair; failed; unchanged since its last run and not run
            again; or waiting, because verified pairs wait for people or a model to judge them.
        error: what stopped the batch, or what it waits for.
        failed_gates: what failed and why, warnings among them.
    """

    batch: str
    outcome: Literal["succeeded", "empty", "failed", "unchanged", "waiting"]
    error: str | None = None
    failed_gates: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Return True if the batch's tables are complete and its blocking gates pass."""
        return self.outcome != "failed"


def passed_outcome(batch: str, verdicts: pl.DataFrame, warnings: tuple[str, ...]) -> BatchOutcome:
    """Return the outcome of a batch whose blocking gates pass."""
    if not verdicts.height:
        return BatchOutcome(batch, "empty", NO_PAIRS, warnings)
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
