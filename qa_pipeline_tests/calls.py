"""Records of calls, and noting them as the store of replies does."""

from typing import Any

from qa_pipeline.llm.reply_database import CALLS, Database
from qa_pipeline.records import CallRecord, Role, Usage

STARTED = 1_795_348_800.25


def call(number: int = 0, role: Role = "answer", **changes: Any) -> CallRecord:
    """A call that was answered for a tenth of a cent."""
    fields: dict[str, Any] = {
        "call_id": f"{number:032x}",
        "run": "r",
        "batch": "b",
        "asked_model": "gemini/m",
        "replied_model": "gemini/m-001",
        "request_key": f"{number:064x}",
        "started_at": STARTED + number,
        "seconds": 1.5,
        "tries": 1,
        "outcome": "replied",
        "usage": Usage(100, 20, 10, 5),
        "cost": 0.001,
        "currency": "USD",
    }
    return CallRecord(role=role, **(fields | changes))


def note(database: Database, *calls: CallRecord) -> None:
    """Write them to the table `calls`."""
    rows = []
    for one in calls:
        row = {column.name: getattr(one, column.name, None) for column in CALLS.c}
        usage = one.usage
        row |= {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        row |= {"cached_tokens": usage.cached_tokens, "thought_tokens": usage.thought_tokens}
        rows.append(row)
    database.transact(lambda connection: connection.execute(CALLS.insert(), rows))
