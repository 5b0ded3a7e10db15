"""What lies in the output folder, counted over batches: for the screen, for programs, for `status`.

What belongs here: reading tables one batch at a time and adding up. What does not: the counts of one
batch (`waterfall.py`), printing (`console.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.layout import Layout
from qa_pipeline.storage import read_table
from qa_pipeline.tables import TABLES
from qa_pipeline.waterfall import known_answers, summarise, yield_waterfall

KNOWN_KEY = ["expected_verdict", "expected_kind"]


@dataclass(frozen=True, slots=True)
class Report:
    """Counts over batches.

    `tables` holds rows by table, `steps` the yield waterfall, `known` hits and misses on known-answer
    pairs, `batches` the verdicts of each batch; `incomplete` names batches that lack tables.
    """

    tables: dict[str, int]
    steps: pl.DataFrame
    known: pl.DataFrame
    batches: pl.DataFrame
    incomplete: tuple[str, ...]


def finished_batches(layout: Layout) -> list[str]:
    """Batches of which any table is there, by name."""
    return sorted({path.stem for name in TABLES for path in layout.tables(name)})


def report(layout: Layout, batches: Sequence[str]) -> Report:
    """Count the tables of the given batches; a batch that lacks a table is named and left out."""
    whole = [batch for batch in batches if _is_whole(layout, batch)]
    counted = [_count(layout, batch) for batch in whole]
    return Report(
        tables={name: sum(one[0][name] for one in counted) for name in TABLES},
        steps=_added([one[1] for one in counted], ["stage", "what", "reason"]),
        known=_added([one[2] for one in counted], KNOWN_KEY),
        batches=pl.DataFrame([one[3] for one in counted]),
        incomplete=tuple(batch for batch in batches if batch not in whole),
    )


def _is_whole(layout: Layout, batch: str) -> bool:
    return all(layout.table(name, batch).is_file() for name in TABLES)


def _count(
    layout: Layout, batch: str
) -> tuple[dict[str, int], pl.DataFrame, pl.DataFrame, dict[str, object]]:
    frames = {name: read_table(layout.table(name, batch), table) for name, table in TABLES.items()}
    summary = summarise(frames["verdicts"])
    row = {
        "batch": batch,
        "documents": frames["documents"].height,
        "parsed": frames["documents"].filter(pl.col("status") == "parsed").height,
        "chunks": frames["chunks"].height,
        "pairs": summary.total,
        "accepted": summary.accepted,
        "rejected": summary.rejected,
        "needs_review": summary.needs_review,
        "failed": summary.failed,
        "pass_rate": summary.pass_rate,
        "average_score": summary.average_score,
        "examples": frames["training_examples"].height,
    }
    rows = {name: frame.height for name, frame in frames.items()}
    known = known_answers(frames["pairs"], frames["verdicts"])
    return rows, yield_waterfall(frames), known, row


def _added(frames: list[pl.DataFrame], key: list[str]) -> pl.DataFrame:
    """Add up the counts of equal rows, in the order in which they first appear."""
    if not frames:
        return pl.DataFrame()
    added = pl.concat(frames).group_by(key, maintain_order=True).sum()
    # A reason that only a later batch has belongs beside the others of its stage.
    order = added[key[0]].unique(maintain_order=True).to_list()
    return added.sort(pl.col(key[0]).cast(pl.Enum(order)), maintain_order=True)
