"""Define the schema of a stored table, and check frames against it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_type_hints

import polars as pl
import pyarrow as pa

from qa_pipeline.errors import TableError


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. In `nullable` columns, null means unknown and is never a default."""

    name: str
    dtype: pl.DataType
    description: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A stored table.

    Args:
        name: name of the table and its files.
        grain: description of a row.
        key: the columns that identify a row.
        columns: all columns in stored order.
        preview: the columns shown in the UI, few enough to fit its width.
        counted: columns of codes whose values are counted in the UI.
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    preview: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pl.Schema:
        """Return the column names and types in stored order."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    @cached_property
    def _arrow(self) -> pa.Schema:
        return self.empty().to_arrow(compat_level=pl.CompatLevel.oldest()).schema

    def empty(self) -> pl.DataFrame:
        """Return an empty frame with the schema."""
        return pl.DataFrame(schema=self.schema)

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        """Build a conforming frame from row dictionaries. Missing keys become null.

        Raises:
            TableError: the rows break the schema.
        """
        # Arrow builds nested columns faster than polars
        return self.conform(
            pl.DataFrame(pa.Table.from_pylist(list(rows), schema=self._arrow), schema=self.schema)
        )

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Check `frame` against the schema and return it in stored column order.

        Raises:
            TableError: a column is missing, unknown, of another type or null although it is not nullable,
                or the key repeats. The message lists all problems.
        """
        problems = self.problems(frame)
        if problems:
            raise TableError(f"table {self.name}: " + "; ".join(problems))
        return frame.select(column.name for column in self.columns)

    def problems(self, frame: pl.DataFrame) -> list[str]:
        """List all problems of `frame` with the schema; an empty list if it conforms."""
        expected, actual = self.schema, frame.schema
        missing = [name for name in expected if name not in actual]
        unknown = [name for name in actual if name not in expected]
        retyped = [
            f"column {name} is {actual[name]}, expected {dtype}"
            for name, dtype in expected.items()
            if name in actual and actual[name] != dtype
        ]
        if missing or unknown or retyped:
            return (
                [f"column {name} is missing" for name in missing]
                + [f"column {name} is unknown" for name in unknown]
                + retyped
            )
        nulls = [
            f"column {column.name} has {count} nulls"
            for column in self.columns
            if not column.nullable and (count := frame[column.name].null_count())
        ]
        repeated = frame.height - frame.n_unique(subset=list(self.key)) if frame.height else 0
        return nulls + ([f"key {', '.join(self.key)} repeats in {repeated} rows"] if repeated else [])


Row = TypeVar("Row")


def typed_rows(frame: pl.DataFrame, row_type: type[Row]) -> Iterator[Row]:
    """Return the rows of a frame as dictionaries of a type from `rows.py` or a subclass.

    Raises:
        TableError: a column of the type is missing in the frame, or has nulls that the type does not allow.
    """
    types = get_type_hints(row_type)
    if missing := sorted(types.keys() - set(frame.columns)):
        raise TableError(f"rows for {row_type.__name__} lack the columns {', '.join(missing)}")
    required = [name for name, of in types.items() if NoneType not in get_args(of)]
    if empty := [name for name in required if frame[name].null_count()]:
        raise TableError(f"rows for {row_type.__name__} have nulls in {', '.join(empty)}")
    return cast("Iterator[Row]", frame.iter_rows(named=True))
