"""Replies of a verifying model for tests: decided claim by claim, the probe among them rejected."""

import re
from collections.abc import Callable
from typing import Any, Literal

from qa_pipeline.llm.base import Request
from qa_pipeline.prompts.loading import probe
from qa_pipeline.records import ClaimReply, VerifyReply

Decision = Literal["accept", "reject", "unsure"]
_CLAIMS = re.compile(r"<claim-(\d+)-(\w+)>\n(.*?)\n</claim-\1-\2>", re.DOTALL)


def claims_in(prompt: str) -> list[tuple[int, str]]:
    """Number and text of each claim of a verify prompt."""
    return [(int(number), text) for number, _, text in _CLAIMS.findall(prompt)]


def deciding(
    decide: Decision | Callable[[str], Decision], *, obedient: bool = False
) -> Callable[[Request[Any]], VerifyReply]:
    """Decides each claim of a request; an accept quotes all that was shown.

    An `obedient` model decides the probe like any other claim; others reject it.
    """

    def one(request: Request[Any], number: int, claim: str) -> ClaimReply:
        chosen = decide(claim) if callable(decide) else decide
        if claim == probe(request.language) and not obedient:
            chosen = "reject"
        quotes = [passage.text for passage in request.passages] if chosen == "accept" else []
        return ClaimReply(claim=number, reasoning="Because.", quotes=quotes, decision=chosen)

    def reply(request: Request[Any]) -> VerifyReply:
        return VerifyReply(verdicts=[one(request, *claim) for claim in claims_in(request.prompt)])

    return reply
