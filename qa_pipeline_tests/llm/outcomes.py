"""Outcomes that the tests of this folder store."""

import asyncio
from typing import Any

from hypothesis import strategies as st

from qa_pipeline.llm.base import Request
from qa_pipeline.llm.reply_store import Outcome, ReplyStore
from qa_pipeline.records import Usage
from qa_pipeline_tests.llm.requests import claim

HOSTILE = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
COUNTS = st.none() | st.integers(0, 2**63 - 1)
OUTCOMES = st.one_of(
    st.builds(
        Outcome,
        outcome=st.just("replied"),
        raw=HOSTILE,
        value=st.just('{"a": 1}'),
        replied_model=st.sampled_from(["m-1", "m-2"]),
        repair=st.sampled_from(["none", "repaired", "reasked"]),
        usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    ),
    st.builds(Outcome, outcome=st.sampled_from(["truncated", "not_json"]), raw=HOSTILE, detail=HOSTILE),
)


def put(store: ReplyStore, request: Request[Any], outcome: Outcome, *calls: Any) -> Outcome:
    """Store an outcome of the model `m`."""
    return asyncio.run(store.put("m", request, outcome, calls))


def find(store: ReplyStore, prompt: str) -> Outcome | None:
    """Return what is stored of a request to the model `m`."""
    return asyncio.run(store.find("m", claim(prompt)))
