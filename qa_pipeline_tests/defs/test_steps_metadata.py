import dagster as dg
import polars as pl
import pytest

from qa_pipeline.defs.steps import (
    CELL_LENGTH,
    PREVIEW_ROWS,
    frame_metadata,
)
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import STORED


def rows_of(table: dg.TableMetadataValue) -> list[list[object]]:
    return [list(record.data.values()) for record in table.records]


@pytest.mark.parametrize("table", STORED.values(), ids=lambda table: table.name)
def test_a_preview_has_few_rows_and_bounded_cells(table: Table) -> None:
    row = {name: "x" * 10_000 if kind == pl.String else None for name, kind in table.schema.items()}
    shown = rows_of(frame_metadata(pl.DataFrame([row] * 50, schema=table.schema), table)["preview"])
    assert len(shown) == PREVIEW_ROWS
    assert all(len(str(cell)) <= CELL_LENGTH for cells in shown for cell in cells)
