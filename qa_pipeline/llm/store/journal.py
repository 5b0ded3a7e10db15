"""The journal of calls: what was asked of providers, and what it took.

What belongs here: reading it. What does not: writing it, which each round does with its replies (`sql.py`),
and adding it up.
"""

import sqlalchemy as sa

from qa_pipeline.calls import CallRecord
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store.rows import call_of
from qa_pipeline.llm.store.texts import storable
from qa_pipeline.llm.store_schema import CALLS


def read_calls(database: Database, batch: str | None = None) -> list[CallRecord]:
    """The calls of a batch, or of all, in the order of time.

    Raises:
        ReplyStoreError: the store cannot be used.
    """
    chosen = sa.select(CALLS).order_by(CALLS.c.started_at, CALLS.c.call_id)
    if batch is not None:
        chosen = chosen.where(CALLS.c.batch == storable(batch))
    return database.read(
        lambda connection: [call_of(dict(row)) for row in connection.execute(chosen).mappings()]
    )
