"""What Swedish and German share: a sentence pattern, the question it fills, and the candidate it becomes.

What belongs here: the `Pattern` record and the filling of its template. What does not: any wording
(`swedish_*.py`, `german_*.py`) and what makes a question of a language acceptable
(`swedish.py`, `german.py`).

Every pattern is matched against one sentence no longer than an answer may be, so even a pattern that
backtracks has a small fixed bound.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from qa_pipeline.llm.extractive.candidates import MAX_ANSWER, Candidate
from qa_pipeline.llm.extractive.prose import Sentence
from qa_pipeline.records import QuestionType

MIN_ANSWER = 25
"""Characters of a sentence; a shorter one is a heading or a fragment."""

Groups = Mapping[str, str]
Rewrite = Callable[[Groups], Groups | None]


def unchanged(groups: Groups) -> Groups | None:
    """Accept a match as it is."""
    return groups


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence a rule understands.

    `regex` must match the whole sentence. `template` is filled with its named groups. `rewrite` may
    refuse a match (None) or add groups, for wording that depends on what was found. `score` ranks the
    candidates of a passage.
    """

    name: str
    regex: re.Pattern[str]
    template: str
    question_type: QuestionType
    score: float
    rewrite: Rewrite = unchanged

    def ask(self, sentence: str) -> str | None:
        """Fill the template from a sentence; None when the sentence is not of this pattern."""
        match = self.regex.fullmatch(sentence)
        if match is None:
            return None
        groups = self.rewrite({name: value or "" for name, value in match.groupdict().items()})
        return None if groups is None else " ".join(self.template.format_map(dict(groups)).split())


def readable(sentence: Sentence) -> bool:
    """Tell whether a sentence can stand as an answer at all: complete, of fair length, no code in lines."""
    text = sentence.text
    return (
        MIN_ANSWER <= len(text) <= MAX_ANSWER
        and (text[0].isupper() or text[0] in "`„”»<")
        and text[-1] == "."
        and not text.endswith(("..", "z. B.", "t.ex."))
        and "```" not in text
        and "\ufffd" not in text
        and text.count("`") % 2 == 0
    )


def candidate(sentence: Sentence, verbatim: str, question: str, pattern: Pattern) -> Candidate:
    """Answer a question with its whole sentence."""
    return Candidate(
        question=question,
        question_type=pattern.question_type,
        answer=sentence.text,
        quote=verbatim,
        start=sentence.start,
        end=sentence.end,
        score=pattern.score,
    )


def lowered(text: str, names: frozenset[str] = frozenset()) -> str:
    """Lower the first letter, which is a capital only because it opens the sentence.

    Words with a second capital and words in `names` keep theirs.
    """
    first = text.split(" ", 1)[0]
    if first in names or any(letter.isupper() or letter.isdigit() for letter in first[1:]):
        return text
    return text[:1].lower() + text[1:]


def words(text: str) -> frozenset[str]:
    """Read a closed word class written as one text."""
    return frozenset(text.split())
