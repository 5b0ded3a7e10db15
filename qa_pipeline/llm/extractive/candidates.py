"""What a rule finds: a question, its verbatim answer and where the answer stands in the passage.

What belongs here: the `Candidate` record and the fixed way candidates are filtered and ranked. What does
not: any wording or pattern of a language.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from qa_pipeline.records import Passage, QuestionType

MAX_QUESTION = 200
"""Characters of a question; longer ones have swallowed part of the answer."""
MAX_ANSWER = 420
"""Characters of an answer; longer ones are hard to read and to prove."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One question a passage answers.

    `quote` is `passage.text[start:end]`, word for word. `answer` is the quote or a part of it, on one
    line. `score` ranks the candidates of a passage, higher first; it is a fixed number of the rule, not a
    probability.
    """

    question: str
    question_type: QuestionType
    answer: str
    quote: str
    start: int
    end: int
    score: float = 0.5


Rule = Callable[[Passage], list[Candidate]]
"""What each language module offers as `find`."""


def well_formed(candidate: Candidate, passage: Passage) -> bool:
    """Hold a candidate to what every language demands of it."""
    question, answer = candidate.question, candidate.answer
    return (
        question.endswith("?")
        and "\n" not in question
        and len(question) <= MAX_QUESTION
        and 0 < len(answer) <= MAX_ANSWER
        and passage.text[candidate.start : candidate.end] == candidate.quote
        and _balanced(question)
        and _balanced(answer)
    )


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates best first and keep one per question and one per quoted span.

    Ties keep the order of the text, so the outcome never depends on how the rules are ordered.
    """
    kept: list[Candidate] = []
    questions: set[str] = set()
    spans: set[tuple[int, int]] = set()
    for candidate in sorted(candidates, key=_rank):
        folded = candidate.question.casefold()
        span = (candidate.start, candidate.end)
        if folded in questions or span in spans:
            continue
        questions.add(folded)
        spans.add(span)
        kept.append(candidate)
    return kept


def _rank(candidate: Candidate) -> tuple[float, int, int, str]:
    return (-candidate.score, candidate.start, candidate.end, candidate.question)


def _balanced(text: str) -> bool:
    """Tell whether brackets and straight double quotes come in pairs."""
    closing = {")": "(", "]": "[", "}": "{"}
    open_brackets: list[str] = []
    for character in text:
        if character in "([{":
            open_brackets.append(character)
        elif character in closing and (not open_brackets or open_brackets.pop() != closing[character]):
            return False
    return not open_brackets and text.count('"') % 2 == 0
