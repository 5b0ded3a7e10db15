"""Outcomes that the tests of this folder store."""

from typing import Any

from hypothesis import strategies as st

from qa_pipeline.llm.store.schema import RequestId
from qa_pipeline.llm.store.store import Outcome, Paid
from qa_pipeline.records import Usage

HOSTILE = st.text(st.characters(codec=None, categories=None), max_size=30) | st.sampled_from(
    ["\0", "\ud800", "\ue000json:1", "'; DROP TABLE replies; --"]
)
COUNTS = st.none() | st.integers(0, 2**63 - 1)
OUTCOMES = st.one_of(
    st.builds(
        Outcome,
        outcome=st.just("replied"),
        raw=HOSTILE,
        value=st.just('{"a": 1}'),
        model=st.sampled_from(["m-1", "m-2"]),
        repair=st.sampled_from(["none", "repaired", "reasked"]),
        usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    ),
    st.builds(Outcome, outcome=st.sampled_from(["truncated", "not_json"]), raw=HOSTILE, detail=HOSTILE),
)


def paid(request_id: RequestId, outcome: Outcome, **changes: Any) -> Paid:
    """An outcome as it is put."""
    fields: dict[str, Any] = {"role": "verify", "batch": "hr", "documents": ()} | changes
    return Paid(request_id=request_id, outcome=outcome, **fields)
