"""Types of columns, and columns that several tables have.

What belongs here: structs, and columns shared by tables. What does not: tables (`tables.py`,
`checking_tables.py`).
"""

from typing import Any

import polars as pl

from qa_pipeline.table_schema import Column

STRINGS = pl.List(pl.String())
SPAN = {"start": pl.Int64(), "end": pl.Int64()}
SECTION = pl.Struct({"heading_path": STRINGS, "level": pl.Int32(), **SPAN})
PAGE = pl.Struct({"number": pl.Int32(), **SPAN})
LEFT_OUT = pl.Struct({"what": pl.String(), "pieces": pl.Int32(), "characters": pl.Int64()})
MASKED = pl.Struct({"kind": pl.String(), "count": pl.Int32()})
LANGUAGE_SHARE = pl.Struct({"language": pl.String(), "share": pl.Float64()})
DECLARED = pl.Struct(
    {"title": pl.String(), "language": pl.String(), "source_uri": pl.String(), "licence": pl.String()}
)
CITATION = pl.Struct(
    {
        "raw": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        "quote": pl.String(),
        "number": pl.Int32(),
        "resolution": pl.String(),
    }
)
QUOTE = pl.Struct(
    {
        "given": pl.String(),
        "found": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        **SPAN,
        "kind": pl.String(),
    }
)
FLAGGED = pl.Struct({**SPAN, "score": pl.Float64()})
UNSUPPORTED = pl.Struct({**SPAN, "reason": pl.String()})
MESSAGES = pl.List(pl.Struct({"role": pl.String(), "content": pl.String()}))
LAYOUTS = ("closed_book", "with_context", "with_distractors")
MESSAGE_COLUMNS = {
    "closed_book": "messages",
    "with_context": "messages_with_context",
    "with_distractors": "messages_with_distractors",
}
"""Column of each layout. Trainers such as TRL read `messages`, so that it must never be null."""
EVIDENCE = pl.Struct(
    {
        "claim": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        "path": pl.String(),
        "content_sha256": pl.String(),
        **SPAN,
        "page": pl.Int32(),
        "quote": pl.String(),
    }
)
PROVENANCE = pl.Struct(
    {
        "origin": pl.String(),
        "generator": pl.String(),
        "prompt_hash": pl.String(),
        "judge": pl.String(),
        "thresholds_id": pl.String(),
        "citation_quality": pl.Float64(),
        "citation_precision": pl.Float64(),
        "source_uris": STRINGS,
        "licences": STRINGS,
    }
)


def column(name: str, dtype: Any, description: str, *, nullable: bool = False) -> Column:
    """A column; `dtype` is a type or an instance of one."""
    return Column(name, dtype() if isinstance(dtype, type) else dtype, description, nullable)


S, I32, I64, F64, B = pl.String(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Boolean()
BATCH = column("batch", S, "Name of the document batch, also the Dagster partition key.")
REASON = column("reason", S, "Reason code; null when there is nothing to explain.", nullable=True)
DETAIL = column("detail", S, "What happened in words, for people.", nullable=True)
PAIR_ID = column("pair_id", S, "Content hash of question, answer and sources.")
