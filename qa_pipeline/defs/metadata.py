"""Metadata of tables for the Dagster UI: columns, counts of rows, and the first rows."""

import json
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.text.rendering import shorten

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
    """Return row count, rows by kind, and a preview."""
    metadata: dict[str, Any] = {"dagster/partition_row_count": frame.height}
    if not frame.height:
        return metadata
    for name in (column.name for column in table.columns if column.counted):
        counts = frame.group_by(pl.col(name).fill_null("(none)")).len("rows")
        metadata[f"rows by {name}"] = frame_table(counts.sort(["rows", name], descending=[True, False]))
    preview = frame.head(PREVIEW_ROWS)
    for name in ("evidence", "citations"):
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
