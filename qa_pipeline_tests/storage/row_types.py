"""The types of the rows of stored tables, written from `storage/tables.py`.

`python -m qa_pipeline_tests.storage.row_types` writes `qa_pipeline/storage/rows.py` anew.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from polars.datatypes import DataTypeClass

from qa_pipeline.storage import rows, tables
from qa_pipeline.storage.table_schema import Table

FILE = Path(rows.__file__)
FILLED = {
    "DraftedPairRow": (tables.PAIRS, ("question", "answer")),
    "EditRow": (tables.DECISIONS, ("answer",)),
    "KeptQuestionRow": (tables.QUESTIONS, ("question", "question_type")),
}
"""Types of rows in a state in which columns that may be null are not."""
_HEAD = '''"""One row of each stored table as Python has it, and of each structure in its columns.

Generated from `tables.py` by `python -m qa_pipeline_tests.storage.row_types`; a test compares.
"""

from datetime import datetime
from typing import TypedDict
'''
_SIMPLE: dict[DataTypeClass | pl.DataType, str] = {
    pl.String(): "str",
    pl.Boolean(): "bool",
    pl.Int32(): "int",
    pl.Int64(): "int",
    pl.Float32(): "float",
    pl.Float64(): "float",
    pl.Datetime("us", "UTC"): "datetime",
}
_STRUCTS = {value: name for name, value in vars(tables).items() if isinstance(value, pl.Struct)}


def rows_source() -> str:
    """Return the text of `storage/rows.py`: a class for each structure, then for each table."""
    structs = {dtype: f"{name.title().replace('_', '')}Struct" for dtype, name in _STRUCTS.items()}
    parts = [
        _HEAD,
        *(_class(name, _fields(dtype, structs)) for dtype, name in structs.items()),
        *(_class(row_name(table), _columns(table, structs)) for table in tables.STORED.values()),
        *(_class(name, _columns(table, structs, filled)) for name, (table, filled) in FILLED.items()),
    ]
    return "\n\n".join(parts)


def row_name(table: Table) -> str:
    """Return the class of a table's rows: `ClaimVerdictRow` for `claim_verdicts`."""
    return f"{table.name.removesuffix('s').title().replace('_', '')}Row"


def _class(name: str, lines: Iterator[str]) -> str:
    return f"class {name}(TypedDict):\n" + "".join(f"    {line}\n" for line in lines)


def _columns(table: Table, structs: dict[pl.Struct, str], filled: Sequence[str] = ()) -> Iterator[str]:
    holding = f", in which {' and '.join(filled)} are not null" if filled else ""
    yield f'"""Hold one row of {table.name}{holding}."""\n'
    for column in table.columns:
        nullable = " | None" if column.nullable and column.name not in filled else ""
        yield f"{column.name}: {_python(column.dtype, structs)}{nullable}"


def _fields(struct: pl.Struct, structs: dict[pl.Struct, str]) -> Iterator[str]:
    yield '"""Hold the fields of one value."""\n'
    nullable = " | None" if struct in tables.NULLABLE_STRUCTS else ""
    for field in struct.fields:
        yield f"{field.name}: {_python(field.dtype, structs)}{nullable}"


def _python(dtype: DataTypeClass | pl.DataType, structs: dict[pl.Struct, str]) -> str:
    if isinstance(dtype, pl.List):
        return f"list[{_python(dtype.inner, structs)}]"
    return structs[dtype] if isinstance(dtype, pl.Struct) else _SIMPLE[dtype]


if __name__ == "__main__":
    FILE.write_text(rows_source(), encoding="utf-8")
