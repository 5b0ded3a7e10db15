"""The offline language model: fixed rules that ask what a passage plainly states.

What belongs here: the `LanguageModel` protocol over the rules, and which rules read which language. What
does not: the rules. It writes questions and answers them word for word from the passages; it neither
verifies nor judges, because a rule that agrees with itself proves nothing.
"""

import functools
import hashlib
import json
from importlib import resources
from typing import Any

from qa_pipeline.errors import PermanentModelError
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.extractive import english, german, structure, swedish
from qa_pipeline.llm.extractive.candidates import Candidate, Rule, ranked, well_formed
from qa_pipeline.records import Passage

RULES: dict[str, tuple[Rule, ...]] = {
    "en": (structure.find, english.find),
    "sv": (structure.find, swedish.find),
    "de": (structure.find, german.find),
}


class ExtractiveModel:
    """Writes and answers questions by rules: no model, no key, no network, no randomness."""

    @property
    def name(self) -> str:
        """`extractive/` and a hash of the rules' source, so that a changed rule is another model."""
        return f"extractive/{_rules_hash()}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill the reply model from the request's passages.

        Raises:
            PermanentModelError: the request asks for verification or judgement.
        """
        if request.role == "questions":
            payload = _questions(request)
        elif request.role == "answer":
            payload = _answer(request)
        else:
            raise PermanentModelError(
                f"the extractive provider writes questions and answers, it has no role {request.role!r}; "
                "switch verification by a model and the judge off, or configure another provider"
            )
        value = request.reply_model.model_validate(payload)
        raw = json.dumps(payload, ensure_ascii=False, sort_keys=True)
        return Reply(value=value, raw=raw, model=self.name)


@functools.lru_cache(maxsize=4096)
def find_candidates(passage: Passage) -> tuple[Candidate, ...]:
    """Every question the rules find in a passage, best first; empty for a language without rules."""
    found = [candidate for rule in RULES.get(passage.language, ()) for candidate in rule(passage)]
    return tuple(ranked(candidate for candidate in found if well_formed(candidate, passage)))


def _questions(request: Request[Any]) -> dict[str, Any]:
    found = find_candidates(request.passages[0]) if request.passages else ()
    return {
        "questions": [
            {"question": candidate.question, "question_type": candidate.question_type}
            for candidate in found[: request.limit]
        ]
    }


def _answer(request: Request[Any]) -> dict[str, Any]:
    """Answer from the first passage whose rules ask this very question; refuse when none does."""
    for number, passage in enumerate(request.passages, start=1):
        for candidate in find_candidates(passage):
            if candidate.question == request.question:
                return {
                    "coverage": "full",
                    "answer": candidate.answer,
                    "used_chunks": [number],
                    "citations": [{"passage": number, "quote": candidate.quote}],
                }
    from qa_pipeline.prompts.loading import refusal

    return {"coverage": "none", "answer": refusal(request.language), "used_chunks": [], "citations": []}


@functools.cache
def _rules_hash() -> str:
    """Hash the source of the rules and of the sentence splitter they rest on."""
    folders = ("qa_pipeline.llm.extractive", "qa_pipeline.text")
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(resources.files(folder).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".py"):
                digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:12]
