"""Read the catalogue of stored tables, `tables.toml`: their keys, columns, types and descriptions.

Parquet files, the Dagster UI and the documentation use these definitions. Frames are checked in
`table_schema.py`.
"""

import tomllib
from pathlib import Path

import polars as pl

from qa_pipeline.storage.table_schema import Column, Table

SCHEMA_VERSION = 16

_CATALOGUE = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
_TYPES: dict[str, pl.DataType] = {
    "string": pl.String(),
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "float32": pl.Float32(),
    "float64": pl.Float64(),
    "bool": pl.Boolean(),
    "datetime": pl.Datetime("us", "UTC"),
}


def _type_of(name: str) -> pl.DataType:
    """Return the type of a name such as `int32`, `section` or `list[string]`."""
    if name.startswith("list["):
        return pl.List(_TYPES[name.removeprefix("list[").removesuffix("]")])
    return _TYPES[name]


def _read_column(name: str, type_name: str, description: str) -> Column:
    """Return a column; `or null` at the end of its type means that it is nullable."""
    plain_name = type_name.removesuffix(" or null")
    return Column(name, _type_of(plain_name), description, nullable=plain_name != type_name)


def _read_table(name: str) -> Table:
    entry = _CATALOGUE["tables"][name]
    return Table(
        name=name,
        grain=entry["grain"],
        key=tuple(entry["key"]),
        columns=tuple(_read_column(column, *fields) for column, fields in entry["columns"].items()),
        preview=tuple(entry["preview"]),
        counted=tuple(entry["counted"]),
    )


_STRUCTS = {
    name: pl.Struct({field: _type_of(type_name) for field, type_name in fields.items()})
    for name, fields in _CATALOGUE["structs"].items()
}
_TYPES.update(_STRUCTS)

STRINGS = _type_of("list[string]")
MESSAGES = _type_of("list[message]")
EVIDENCE, PROVENANCE, UNSUPPORTED = _STRUCTS["evidence"], _STRUCTS["provenance"], _STRUCTS["unsupported"]

DOCUMENTS = _read_table("documents")
CHUNKS = _read_table("chunks")
EMBEDDINGS = _read_table("embeddings")
QUESTIONS = _read_table("questions")
PAIRS = _read_table("pairs")
CLAIMS = _read_table("claims")
CLAIM_VERDICTS = _read_table("claim_verdicts")
REFUSALS = _read_table("refusals")
ASSESSMENTS = _read_table("assessments")
ROUND_TRIPS = _read_table("round_trips")
VERDICTS = _read_table("verdicts")
TRAINING_EXAMPLES = _read_table("training_examples")
LLM_CALLS = _read_table("llm_calls")
CANARIES = _read_table("canaries")
DECISIONS = _read_table("decisions")
RELEASED = _read_table("released")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        DOCUMENTS, CHUNKS, EMBEDDINGS, QUESTIONS, PAIRS, CLAIMS, CLAIM_VERDICTS, REFUSALS, ASSESSMENTS,
        ROUND_TRIPS, VERDICTS, TRAINING_EXAMPLES,
    )
}  # fmt: skip
"""Tables of the pipeline, from documents to training examples."""

SIDE_TABLES: dict[str, Table] = {table.name: table for table in (LLM_CALLS, CANARIES, DECISIONS)}
"""Records of a batch outside the pipeline's flow. They are never released or checked for conservation."""

STORED: dict[str, Table] = TABLES | SIDE_TABLES
"""Every stored table."""
