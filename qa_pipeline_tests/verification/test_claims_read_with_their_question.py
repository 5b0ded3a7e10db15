"""Rows of question, answer and document: the answer holds there as an answer to that question, or not.

`rows_read_with_their_question.tsv` has language, kind, "holds" or "does not", document (\\n for an end of a
line), question and answer in each line. Beside each kind that is false stand rows that are true.
"""

import csv
from pathlib import Path

import pytest

from qa_pipeline.generation.answer_quality import mark_flawed
from qa_pipeline.settings.generation import AnswerCheckSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

LINES = Path(__file__).with_name("rows_read_with_their_question.tsv")


def read_rows() -> list[list[str]]:
    with LINES.open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_accepted(language: str, text: str, question: str, answer: str) -> bool:
    """Return whether all claims of an answer are proved without a model, and nothing makes the row unfit."""
    frame = documents({"a.md": text}, language)
    row = pairs(pair(answer, cites="a.md", language=language, question=question))
    checked = mark_flawed(row, chunks(frame), AnswerCheckSettings())
    if checked["status"].item() != "drafted":
        return False
    claims = find_claims(checked, frame, chunks(frame), HashEmbedder())
    verdicts = decide_claims(claims, checked, VerificationSettings())["verdict"].to_list()
    return bool(verdicts) and all(verdict == "supported" for verdict in verdicts)


@pytest.mark.parametrize(("language", "kind", "expected", "text", "question", "answer"), read_rows())
def test_a_row_is_accepted_where_its_answer_holds_as_an_answer_to_its_question(
    language: str, kind: str, expected: str, text: str, question: str, answer: str
) -> None:
    assert is_accepted(language, text.replace("\\n", "\n"), question, answer) == (expected == "holds"), kind
