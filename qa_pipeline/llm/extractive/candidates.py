"""What a rule finds: a question, its verbatim answer and where the answer is in the passage."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from qa_pipeline.records import Passage, QuestionType

MAX_QUESTION = 200
"""Characters of a question; longer ones have swallowed part of the answer."""
MAX_ANSWER = 600
"""Characters of an answer; longer ones are hard to read and to prove."""

_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_TORN = re.compile(r"\s[.,;](?:\s|$)")
"""The gap that a picture or a link without text left: "click on , then"."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question a passage answers.

    `quote` is `passage.text[start:end]`, word for word; `answer` is the quote or a part of it, on one line.
    `score` is a fixed number of the rule that ranks the candidates of a passage.
    """

    question: str
    question_type: QuestionType
    answer: str
    quote: str
    start: int
    end: int
    score: float = 0.5


def well_formed(candidate: Candidate, passage: Passage) -> bool:
    """Verify that a candidate meets what every language demands of it."""
    question, answer = candidate.question, candidate.answer
    return (
        question.endswith("?")
        and "\n" not in question
        and len(question) <= MAX_QUESTION
        and 0 < len(answer) <= MAX_ANSWER
        and not answer.rstrip().endswith("?")  # it asks, and states nothing that could be verified
        and passage.text[candidate.start : candidate.end] == candidate.quote
        and not _TORN.search(answer)
        and _balanced(question)
        and _balanced(answer)
    )


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates best first, then as in the text; keep one of each question and quoted span."""
    best: list[Candidate] = []
    questions: set[str] = set()
    spans: set[tuple[int, int]] = set()
    for candidate in sorted(
        candidates, key=lambda scored: (-scored.score, scored.start, scored.end, scored.question)
    ):
        folded = candidate.question.casefold()
        span = (candidate.start, candidate.end)
        if folded in questions or span in spans:
            continue
        questions.add(folded)
        spans.add(span)
        best.append(candidate)
    return best


def _balanced(text: str) -> bool:
    """Return whether brackets and straight double quotes come in pairs."""
    pairs = all(text.count(first) == text.count(second) for first, second in _BRACKETS)
    return pairs and text.count('"') % 2 == 0
