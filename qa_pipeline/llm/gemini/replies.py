"""What Gemini sends back: the text of a finished reply, or the reason why there is none.

What belongs here: finish reasons, blocked prompts, token counts. What does not: HTTP errors (`errors.py`),
the JSON inside the text (`qa_pipeline.llm.replies`).
"""

from typing import TYPE_CHECKING

from qa_pipeline.calls import Usage
from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.provider import RawReply

if TYPE_CHECKING:
    from google.genai.types import Candidate, GenerateContentResponse

_FINISHED = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_REASONS = {
    "MAX_TOKENS": "truncated",
    "CONTINUATION": "truncated",
    "SAFETY": "blocked_safety",
    "PROHIBITED_CONTENT": "blocked_safety",
    "BLOCKLIST": "blocked_safety",
    "SPII": "blocked_safety",
    "MODEL_ARMOR": "blocked_safety",
    "RECITATION": "blocked_recitation",
}
"""Reason codes of finish and block reasons; any other is `blocked`, with its name in the detail."""


def read_response(response: "GenerateContentResponse", asked: str) -> RawReply:
    """Return the text of a finished reply.

    Args:
        response: what the client parsed.
        asked: the model that was asked, for a server that does not name the one that replied.

    Raises:
        UnreadableReplyError: `truncated`, `blocked…` or `empty`, with the text there is and the tokens taken.
    """
    model = f"gemini/{response.model_version or asked}"
    usage = read_usage(response)
    text, problem = "", _prompt_problem(response)
    if problem is None and response.candidates:
        text, problem = _joined(response.candidates[0]), _finish_problem(response.candidates[0])
    if problem is None and not text.strip():
        problem = ("empty", "the reply has no text" if response.candidates else "no candidate")
    if problem is not None:
        raise UnreadableReplyError(*problem, raw=text, model=model, usage=usage)
    return RawReply(text, model, usage)


def read_usage(response: "GenerateContentResponse") -> Usage:
    """Return the tokens of a reply; thoughts are written, and paid for, like the reply itself."""
    usage = response.usage_metadata
    if usage is None:
        return Usage()
    thoughts = usage.thoughts_token_count
    written = [n for n in (usage.candidates_token_count, thoughts) if n is not None]
    return Usage(
        usage.prompt_token_count,
        sum(written) if written else None,
        usage.cached_content_token_count,
        thoughts,
    )


def _prompt_problem(response: "GenerateContentResponse") -> tuple[str, str] | None:
    feedback = response.prompt_feedback
    if feedback is None or feedback.block_reason is None:
        return None
    name = feedback.block_reason.name
    return _REASONS.get(name, "blocked"), f"prompt: {name}"


def _finish_problem(candidate: "Candidate") -> tuple[str, str] | None:
    name = candidate.finish_reason.name if candidate.finish_reason else "FINISH_REASON_UNSPECIFIED"
    return None if name in _FINISHED else (_REASONS.get(name, "blocked"), f"reply: {name}")


def _joined(candidate: "Candidate") -> str:
    parts = (candidate.content.parts if candidate.content else None) or []
    return "".join(part.text for part in parts if part.text and not part.thought)
