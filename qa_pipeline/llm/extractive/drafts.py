"""What a sentence rule yields before it is tied to its place in the passage.

What belongs here: the `Draft` record and `from_sentence`. What does not: patterns.
"""

from dataclasses import dataclass

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.prose import Sentence
from qa_pipeline.records import Passage, QuestionType


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that a whole sentence answers."""

    question: str
    question_type: QuestionType
    score: float


def from_sentence(draft: Draft, sentence: Sentence, passage: Passage) -> Candidate:
    """Answer a question with a sentence; a colon before a code block becomes a full stop."""
    end = sentence.end
    answer = sentence.text
    if answer.endswith(":"):
        end -= 1
        answer = answer[:-1] + "."
    return Candidate(
        question=draft.question,
        question_type=draft.question_type,
        answer=answer,
        quote=passage.text[sentence.start : end],
        start=sentence.start,
        end=end,
        score=draft.score,
    )
