"""What assets yield, and what those have in common that ask a model.

What belongs here: a table with its content hash and what the UI shows of it. What does not: any asset.
"""

from hashlib import sha256
from typing import Any, TypedDict

import dagster as dg
import polars as pl

from qa_pipeline.defs.metadata import frame_metadata
from qa_pipeline.storage import frame_hash
from qa_pipeline.tables import STORED

Frame = pl.DataFrame

LLM_POOL = "llm"


class _Asks(TypedDict):
    """What assets that ask a model have in common; they yield nothing while replies are awaited."""

    kinds: set[str]
    pool: str
    output_required: bool


ASKS: _Asks = {"kinds": {"ai", "parquet"}, "pool": LLM_POOL, "output_required": False}


def result(name: str, frame: Frame, **more: Any) -> dg.MaterializeResult[Frame]:
    """A table with its content hash and what the UI shows of it."""
    metadata = frame_metadata(frame, STORED[name]) | more
    return dg.MaterializeResult(
        value=frame, data_version=dg.DataVersion(frame_hash(frame)), metadata=metadata
    )


def content_version(*files: bytes) -> dg.DataVersion:
    """The data version of an output that is no table."""
    return dg.DataVersion(sha256(b"".join(sha256(file).digest() for file in files)).hexdigest())
