"""Convert the records of calls into a table."""

from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl

from qa_pipeline.records import CallRecord
from qa_pipeline.storage.tables import LLM_CALLS

TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "thought_tokens")


def calls_frame(calls: Sequence[CallRecord]) -> pl.DataFrame:
    """Return the rows of `llm_calls`, in the order of starting times."""
    rows = [
        {
            **{name: getattr(call, name) for name in LLM_CALLS.schema if name not in TOKENS},
            **{name: getattr(call.usage, name) for name in TOKENS},
            "started_at": datetime.fromtimestamp(call.started_at, UTC),
        }
        for call in calls
    ]
    return LLM_CALLS.frame(rows).sort("started_at", "call_id")
