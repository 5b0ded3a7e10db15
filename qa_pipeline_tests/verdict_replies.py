"""Replies of reviewing models for tests: claims decided one by one, the probe among them rejected; scores."""

import re
from collections.abc import Callable
from typing import Any, Literal

from qa_pipeline.llm.base import Request
from qa_pipeline.records import ClaimReply, JudgeReply, VerifyReply
from qa_pipeline.verification.falsehoods import probe_of

SCORES = ("question_quality", "relevance", "correctness", "completeness")
Decision = Literal["accept", "reject", "unsure"]
_CLAIMS = re.compile(r"<claim-(\d+)-(\w+)>\n(.*?)\n</claim-\1-\2>", re.DOTALL)


def claims_in(prompt: str) -> list[tuple[int, str]]:
    """Number and text of each claim of a verify prompt."""
    return [(int(number), text) for number, _, text in _CLAIMS.findall(prompt)]


def probe_in(request: Request[Any]) -> int | None:
    """Number of the claim of a request that is the probe among them; None where none is."""
    numbered = claims_in(request.prompt)
    for number, claim in numbered:
        others = [text for other, text in numbered if other != number]
        if others and claim.endswith(probe_of(request.passages, others, request.language)):
            return number
    return None


def deciding(
    decide: Decision | Callable[[str], Decision], *, obedient: bool = False
) -> Callable[[Request[Any]], VerifyReply]:
    """Decides each claim of a request; an accept quotes all that was shown.

    An `obedient` model decides the probe like any other claim; others reject it.
    """

    def one(request: Request[Any], number: int, claim: str, probe: int | None) -> ClaimReply:
        chosen = decide(claim) if callable(decide) else decide
        if number == probe and not obedient:
            chosen = "reject"
        quotes = [passage.text for passage in request.passages] if chosen == "accept" else []
        return ClaimReply(claim=number, reasoning="Because.", quotes=quotes, decision=chosen)

    def reply(request: Request[Any]) -> VerifyReply:
        probe = probe_in(request)
        return VerifyReply(verdicts=[one(request, *claim, probe) for claim in claims_in(request.prompt)])

    return reply


def scored_reply(score: float = 1.0, reason: str = "Because.", **scores: float) -> JudgeReply:
    """A judge's reply with the same score and reason for each dimension but those named."""
    fields = {name: scores.get(name, score) for name in SCORES}
    return JudgeReply.model_validate({**fields, **{f"{name}_reason": reason for name in SCORES}})
