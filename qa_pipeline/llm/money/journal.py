"""What the store of replies noted of each call.

What belongs here: reading it. What does not: writing it, which happens together with the reply (`store/`).
"""

import sqlalchemy as sa

from qa_pipeline.calls import CallRecord, Usage
from qa_pipeline.llm.database import Database
from qa_pipeline.llm.store_schema import CALLS

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "thought_tokens")


def read_calls(database: Database, batch: str) -> list[CallRecord]:
    """The calls made for a batch by any run, in the order in which they began.

    Raises:
        ReplyStoreError: the database cannot be used.
    """
    wanted = sa.select(CALLS).where(CALLS.c.batch == batch).order_by(CALLS.c.started_at, CALLS.c.call_id)
    rows = database.transact(lambda connection: connection.execute(wanted).mappings().all())
    return [_record(dict(row)) for row in rows]


def _record(row: dict[str, object]) -> CallRecord:
    usage = Usage(*(row.pop(name) for name in _TOKENS))  # type: ignore[arg-type]
    return CallRecord(**row, usage=usage)  # type: ignore[arg-type]
