"""The offline language model: fixed rules that ask what a passage plainly states.

It neither verifies nor judges, because a rule that agrees with itself proves nothing.
"""

import functools
import hashlib
import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from qa_pipeline.errors import PermanentModelError
from qa_pipeline.generation.offline import statements, structure
from qa_pipeline.generation.offline.passages import MAX_ANSWER, Candidate
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.records import Passage
from qa_pipeline.text.blocks import blocks
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import LEXICONS, lexicon
from qa_pipeline.text.sentences import split_sentences

MAX_QUESTION = 200
"""Characters of a question; longer ones have swallowed part of the answer."""
_NAMED_TITLE = "Fjell 8"
"""Stands for any title that names something."""
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_TORN = re.compile(r"\s[.,;](?:\s|$)|\\(?:f[BIPR]|-)|\(\s*\)(?<!\w\(\))|\b([^\W\d]{3,}) \1\b")
"""The gap that a picture or a link without text left: "click on , then", "the button ()"; marks of roff:
"\\fIfile\\fP"; a heading that has run into its text: "Plugins Plugins are"."""


class ExtractiveModel:
    """A model that asks and answers by rules: no model, no key, no network, no randomness."""

    @property
    def name(self) -> str:
        """Return `extractive/` and a hash of the rules' source, so that a changed rule is another model."""
        return f"extractive/{_rules_hash()}"

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Fill the reply model from the request's passages.

        Raises:
            PermanentModelError: the request asks for verification or judgement.
        """
        replies = {"questions": _questions, "standalone": _standalone, "answer": _answer}
        if request.role not in replies:
            raise PermanentModelError(
                f"the extractive provider writes questions and answers, it has no role {request.role!r}; "
                "switch verification by a model and the judge off, or configure another provider"
            )
        payload = replies[request.role](request)
        value = request.reply_model.model_validate(payload)
        raw = json.dumps(payload, ensure_ascii=False, sort_keys=True)
        return Reply(value=value, raw=raw, model=self.name)


@functools.lru_cache(maxsize=4096)
def find_candidates(passage: Passage) -> tuple[Candidate, ...]:
    """Return every question that the rules find in a passage, best first; empty without a lexicon."""
    if passage.language not in LEXICONS:
        return ()
    phrases = lexicon(passage.language).wording
    if passage.section_path and phrases.references.fullmatch(passage.section_path[-1]):
        return ()
    candidates = [*structure.find(passage, phrases), *statements.find(passage, phrases)]
    return tuple(_ranked(candidate for candidate in candidates if _is_well_formed(candidate, passage)))


def lacks_name(passage: Passage) -> bool:
    """Return whether the rules would ask a passage something if its document's title named a thing."""
    return bool(find_candidates(replace(passage, title=_NAMED_TITLE)))


def _is_well_formed(candidate: Candidate, passage: Passage) -> bool:
    """Return whether a candidate is what every language demands."""
    question, answer = candidate.question, candidate.answer
    return (
        question.endswith("?")
        and "\n" not in question
        and len(question) <= MAX_QUESTION
        and 0 < len(answer) <= MAX_ANSWER
        and not answer.rstrip().endswith("?")  # it asks, and states nothing that could be verified
        and passage.text[candidate.start : candidate.end] == candidate.quote
        and not _TORN.search(f"{question}\n{answer}")
        and _balanced(question)
        and _balanced(answer)
    )


def _ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates best first, then as in the text; keep one of each question and quoted span.

    A step of instructions that are asked for as a whole is not asked for again.
    """
    best: list[Candidate] = []
    questions: set[str] = set()
    spans: set[tuple[int, int]] = set()
    for candidate in sorted(
        candidates, key=lambda scored: (-scored.score, scored.start, scored.end, scored.question)
    ):
        folded = candidate.question.casefold()
        span = (candidate.start, candidate.end)
        is_step = candidate.question_type == "procedure" and any(
            whole.start <= candidate.start and candidate.end <= whole.end
            for whole in best
            if whole.question_type == "procedure"
        )
        if folded in questions or span in spans or is_step:
            continue
        questions.add(folded)
        spans.add(span)
        best.append(candidate)
    return best


def _balanced(text: str) -> bool:
    """Return whether brackets and straight double quotes come in pairs."""
    pairs = all(text.count(first) == text.count(second) for first, second in _BRACKETS)
    return pairs and text.count('"') % 2 == 0


def _questions(request: Request[Any]) -> dict[str, Any]:
    """Return questions of the wanted types first, then the best others in place of missing ones."""
    candidates = find_candidates(request.passages[0]) if request.passages else ()
    chosen: list[Candidate] = []
    for kind in request.types:
        of_type = (candidate for candidate in candidates if candidate.question_type == kind)
        fitting = next((candidate for candidate in of_type if candidate not in chosen), None)
        chosen += [fitting] if fitting else []
    chosen += [candidate for candidate in candidates if candidate not in chosen]
    questions = [
        {"question": candidate.question, "question_type": candidate.question_type}
        for candidate in chosen[: request.limit]
    ]
    return {"questions": questions}


def _standalone(request: Request[Any]) -> dict[str, Any]:
    """Return no rewording: no rule knows what a pronoun stands for well enough."""
    return {"question": None}


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
    """Hash the source of the rules, and of the sentence splitter and the word lists they rest on."""
    splitter = {Path(inspect.getfile(part)) for part in (split_sentences, blocks)}
    words = Path(inspect.getfile(Lexicon)).parent.glob("*.py")
    digest = hashlib.sha256()
    for file in sorted({*Path(__file__).parent.glob("*.py"), *splitter, *words}):
        digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:12]
