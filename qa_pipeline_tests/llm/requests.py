"""Requests and replies that the tests of this folder ask and play."""

from typing import Any, Literal

from qa_pipeline.llm.base import Request
from qa_pipeline.records import JudgeReply, ReplyModel, Role


class Decision(ReplyModel):
    """A reply of two fields, as any stage may want one."""

    reasoning: str
    decision: Literal["accept", "reject", "unsure"]


ACCEPT = Decision(reasoning="The passage says so.", decision="accept")


def claim(prompt: str = "Is it 25 days?", **changes: Any) -> Request[Decision]:
    """A request to verify one claim."""
    role: Role = "verify"
    fields: dict[str, Any] = {"role": role, "system": "Check.", "temperature": 0.0, "seed": 0} | changes
    return Request(prompt=prompt, reply_model=Decision, **fields)


def judgement(prompt: str = "How good is it?") -> Request[JudgeReply]:
    """A request to judge one pair."""
    return Request(role="judge", system="Judge.", prompt=prompt, reply_model=JudgeReply, temperature=0.0)
