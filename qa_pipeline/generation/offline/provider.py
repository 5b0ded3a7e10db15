"""The offline language model: fixed rules that ask about plain statements of a passage.

It neither verifies nor judges, because rules that agree with themselves prove nothing.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from qa_pipeline.errors import PermanentModelError
from qa_pipeline.generation.offline import candidates
from qa_pipeline.generation.offline.candidates import Candidate
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.prompts.loading import refusal
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LEXICONS


class ExtractiveModel:
    """A model that asks and answers by rules, without weights, key, network or randomness."""

    @property
    def name(self) -> str:
        """Return `extractive/` and a hash of the rules' source, so that a changed rule is a new model."""
        return f"extractive/{_rules_hash()}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill the reply model from the request's passages.

        Raises:
            PermanentModelError: the request asks for verification or judgement.
        """
        replies = {"questions": _questions, "standalone": lambda _: {"question": None}, "answer": _answer}
        if request.role not in replies:
            raise PermanentModelError(
                f"the extractive provider writes only questions and answers, and has no role "
                f"{request.role!r}; turn off the judge and verification by a model, or configure "
                "another provider"
            )
        payload = replies[request.role](request)
        value = request.reply_model.model_validate(payload)
        raw = json.dumps(payload, ensure_ascii=False, sort_keys=True)
        return Reply(value=value, raw=raw, model=self.name)


@functools.lru_cache(maxsize=4096)
def find_candidates(passage: Passage) -> tuple[Candidate, ...]:
    """Return every question that the rules find in a passage, best first."""
    if passage.language not in LEXICONS:
        return ()
    by_question: dict[str, Candidate] = {}
    for candidate in candidates.find(passage):
        by_question.setdefault(candidate.question.casefold(), candidate)
    return tuple(by_question.values())


def _questions(request: Request[Any]) -> dict[str, Any]:
    candidates = find_candidates(request.passages[0]) if request.passages else ()
    return {
        "questions": [
            {"question": candidate.question, "question_type": "fact_single"}
            for candidate in candidates[: request.limit]
        ]
    }


def _answer(request: Request[Any]) -> dict[str, Any]:
    """Answer from the first passage whose rules ask exactly this question, or refuse."""
    for number, passage in enumerate(request.passages, start=1):
        for candidate in find_candidates(passage):
            if candidate.question == request.question:
                return {
                    "coverage": "full",
                    "answer": candidate.answer,
                    "used_chunks": [number],
                    "citations": [{"passage": number, "quote": candidate.quote}],
                }
    return {"coverage": "none", "answer": refusal(request.language), "used_chunks": [], "citations": []}


@functools.cache
def _rules_hash() -> str:
    """Hash the source of the rules and of the text package that they use."""
    folder = Path(__file__).parent
    folders = (folder, folder.parents[1] / "text")
    files = sorted(file for root in folders for kind in ("*.py", "*.toml") for file in root.rglob(kind))
    sources = (file.read_bytes().replace(b"\r\n", b"\n") for file in files)
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]
