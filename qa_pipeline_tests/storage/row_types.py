"""The types of rows of stored tables that the package names, to read and to write, from `storage/tables.py`.

`python -m qa_pipeline_tests.storage.row_types` writes `qa_pipeline/storage/rows.py` anew.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
from polars.datatypes import DataTypeClass

from qa_pipeline.storage import rows, tables
from qa_pipeline.storage.table_schema import Table

FILE = Path(rows.__file__)
PACKAGE = FILE.parents[1]
FILLED: Mapping[str, tuple[Table, Sequence[str]]] = {
    "DraftedPairRow": (tables.PAIRS, ("question", "answer")),
    "KeptQuestionRow": (tables.QUESTIONS, ("question", "question_type")),
}
"""Types of rows in a state in which columns that may be null are not."""
_HEAD = '''"""Rows of stored tables as Python has them, and structures of their columns: those in use.

Generated from `tables.py` by `python -m qa_pipeline_tests.storage.row_types`; a test compares.
"""

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
    """Return the text of `storage/rows.py`: a class for each structure in use, then for each row in use.

    A row that is written may lack columns, which become null: `ClaimColumns` beside `ClaimRow`.
    """
    structs = {dtype: f"{name.title().replace('_', '')}Struct" for dtype, name in _STRUCTS.items()}
    rows_of_tables = {row_name(table): (table, ()) for table in tables.STORED.values()} | {**FILLED}
    classes = {name: _class(name, _fields(name, dtype, structs)) for dtype, name in structs.items()} | {
        name: _class(name, _columns(table, structs, filled))
        for name, (table, filled) in rows_of_tables.items()
    }
    classes |= {
        name: _class(name, _columns(table, structs, is_written=True), ", total=False")
        for name, table in {columns_name(table): table for table in tables.STORED.values()}.items()
    }
    used = _names_in(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py") if file != FILE)
    needed = classes.keys() & used
    while further := classes.keys() & _names_in(classes[name] for name in needed) - needed:
        needed |= further
    used_classes = [text for name, text in classes.items() if name in needed]
    head = _HEAD
    if any(" datetime" in text for text in used_classes):
        head = head.replace("from typing", "from datetime import datetime\nfrom typing")
    return "\n\n".join([head, *used_classes])


def _names_in(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in re.findall(r"\w+(?:Row|Struct|Columns)\b", text)}


def row_name(table: Table) -> str:
    """Return the class of a table's rows: `ClaimVerdictRow` for `claim_verdicts`."""
    return f"{table.name.removesuffix('s').title().replace('_', '')}Row"


def columns_name(table: Table) -> str:
    """Return the class of rows to be written: `ClaimVerdictColumns` for `claim_verdicts`."""
    return f"{row_name(table).removesuffix('Row')}Columns"


def _class(name: str, lines: Iterator[str], options: str = "") -> str:
    return f"class {name}(TypedDict{options}):\n" + "".join(f"    {line}\n" for line in lines)


def _columns(
    table: Table, structs: dict[pl.Struct, str], filled: Sequence[str] = (), *, is_written: bool = False
) -> Iterator[str]:
    holding = f", with {' and '.join(filled)}" if filled else ""
    if is_written:
        yield f'"""Hold columns of a row of {table.name} to be written; absent ones become null."""\n'
    else:
        yield f'"""Hold one row of {table.name}{holding}."""\n'
    for column in table.columns:
        nullable = " | None" if column.nullable and column.name not in filled else ""
        yield f"{column.name}: {_python(column.dtype, structs)}{nullable}"


def _fields(name: str, struct: pl.Struct, structs: dict[pl.Struct, str]) -> Iterator[str]:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Struct")).lower()
    yield f'"""Hold one value of type `{words}` as columns of tables have it."""\n'
    nullable = " | None" if struct in tables.NULLABLE_STRUCTS else ""
    for field in struct.fields:
        yield f"{field.name}: {_python(field.dtype, structs)}{nullable}"


def _python(dtype: DataTypeClass | pl.DataType, structs: dict[pl.Struct, str]) -> str:
    if isinstance(dtype, pl.List):
        return f"list[{_python(dtype.inner, structs)}]"
    return structs[dtype] if isinstance(dtype, pl.Struct) else _SIMPLE[dtype]


if __name__ == "__main__":
    FILE.write_text(rows_source(), encoding="utf-8")
