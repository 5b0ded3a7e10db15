"""Rows of the tables `replies` and `calls`, from records and back.

What belongs here: columns. What does not: transactions (`sql.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from qa_pipeline.calls import CallRecord, Usage
from qa_pipeline.llm.store.records import Outcome, Paid
from qa_pipeline.llm.store.texts import count_of, name_of, restored, storable
from qa_pipeline.llm.store_schema import CALLS, REPLIES

Row = dict[str, Any]
_LONGEST_NAME = 400
OUTCOME_COLUMNS: tuple[sa.Column[Any], ...] = (
    REPLIES.c.asked_model,
    REPLIES.c.request_key,
    REPLIES.c.outcome,
    REPLIES.c.raw,
    REPLIES.c.value,
    REPLIES.c.detail,
    REPLIES.c.replied_model,
    REPLIES.c.repair,
    REPLIES.c.input_tokens,
    REPLIES.c.output_tokens,
    REPLIES.c.cached_tokens,
    REPLIES.c.thought_tokens,
)


def outcome_of(row: Iterable[Any]) -> Outcome:
    """The outcome in a row of OUTCOME_COLUMNS."""
    _, _, outcome, raw, value, detail, model, repair, *tokens = row
    told = None if detail is None else restored(detail)
    return Outcome(outcome, restored(raw), value, told, model, repair, Usage(*tokens))


def reply_row(paid: Paid, stored_at: float) -> Row:
    """The row of `replies`."""
    outcome = paid.outcome
    asked_model, request_key = paid.request_id
    return {
        "asked_model": asked_model,
        "request_key": request_key,
        "role": paid.role,
        "batch": storable(paid.batch),
        "outcome": outcome.outcome,
        "detail": None if outcome.detail is None else storable(outcome.detail),
        "raw": storable(outcome.raw),
        "value": outcome.value,
        "replied_model": name_of(outcome.model, _LONGEST_NAME),
        "repair": outcome.repair,
        "stored_at": stored_at,
        **_tokens(outcome.usage),
    }


def call_row(call: CallRecord) -> Row:
    """The row of `calls`."""
    return {
        "call_id": call.call_id,
        "run": call.run,
        "batch": storable(call.batch),
        "role": call.role,
        "asked_model": call.asked_model,
        "replied_model": name_of(call.replied_model, _LONGEST_NAME),
        "request_key": call.request_key,
        "started_at": call.started_at,
        "seconds": call.seconds,
        "tries": call.tries,
        "outcome": call.outcome,
        "repair": call.repair,
        "cost": call.cost,
        "currency": call.currency,
        "prompt": None if call.prompt is None else storable(call.prompt),
        **_tokens(call.usage),
    }


def call_of(row: Mapping[str, Any]) -> CallRecord:
    """The record in a row of `calls`."""
    columns = {column.name: row[column.name] for column in CALLS.c}
    usage = Usage(*(columns.pop(name) for name in _tokens(Usage())))
    columns["batch"] = restored(columns["batch"])
    columns["prompt"] = None if columns["prompt"] is None else restored(columns["prompt"])
    return CallRecord(**columns, usage=usage)


def _tokens(usage: Usage) -> Row:
    return {
        "input_tokens": count_of(usage.input_tokens),
        "output_tokens": count_of(usage.output_tokens),
        "cached_tokens": count_of(usage.cached_tokens),
        "thought_tokens": count_of(usage.thought_tokens),
    }
