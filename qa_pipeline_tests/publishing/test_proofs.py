"""Rows of a release proved again, where they are bound by more than their evidence."""

from typing import Any, cast

from qa_pipeline.publishing.candidates import ReleasedRow
from qa_pipeline.publishing.proofs import proof_problems
from qa_pipeline.records import Passage

TEXT = (
    "- retries: How often a call is tried. The default is 30.\n"
    "- timeout: How long a call may take. The default is 30."
)
ANSWER = "The default is 30."


def problems(question: str) -> list[str]:
    claim = {
        "text": ANSWER,
        "self_contained": None,
        "split_by": "rules",
        "verdict": "supported",
        "decided_by": "alignment",
        "chunk_ids": ["c"],
    }
    row: dict[str, Any] = {
        "coverage": "full",
        "question": question,
        "answer": ANSWER,
        "language": "en",
        "claims": [claim],
        "evidence": [{"claim": ANSWER, "quote": ANSWER, "chunk_id": "c"}],
    }
    passage = Passage("c", title="Client", section_path=("Settings",), text=TEXT, language="en")
    return [*proof_problems(cast("ReleasedRow", row), {"c": passage}, 1.0)]


def test_the_label_of_any_place_of_a_quote_may_speak_of_what_was_asked() -> None:
    assert problems("What is the default of timeout?") == []


def test_a_row_whose_question_nothing_speaks_of_is_not_proved() -> None:
    assert any("not proved" in problem for problem in problems("What is the default of the port?"))
