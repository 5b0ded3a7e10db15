r"""Backslashes that models copy into JSON as they are."""

import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from qa_pipeline.llm.replies import keep_backslashes, read_reply
from qa_pipeline.records import AnswerReply

LINES = st.text("abAB C:.,-\n\"'/\\{}äß漢", max_size=40)
"""Text as prose, tables and paths have it, without what is a command of LaTeX."""
COMMANDS = ["frac", "beta", "times", "theta", "text", "rho", "right", "nabla", "neq", "alpha", "underline"]


def read(written: str) -> str:
    """What is read of a string written between quotation marks as it is."""
    text: str = json.loads(keep_backslashes(f'{{"answer": "{written}"}}'))["answer"]
    return text


@given(LINES)
def test_json_that_a_program_wrote_is_read_as_it_was_written(text: str) -> None:
    assume(not re.search(r"[A-Za-z]:\n[a-z]", text))  # a path, more often than a line that begins so
    assert json.loads(keep_backslashes(json.dumps(text))) == text
    assert json.loads(keep_backslashes(json.dumps(text, ensure_ascii=False))) == text


@given(st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=5), st.sampled_from(" {}_^0123="))
def test_commands_of_latex_stay_what_they_are_written_once_or_escaped(names: list[str], after: str) -> None:
    formula = "".join(f"\\{name}{after}" for name in names)
    assert read(formula) == formula
    assert read(formula.replace("\\", "\\\\")) == formula


@example(r"\0\r")
@given(st.text('\\"nrtbfuau019 {}:C', max_size=40))
def test_what_is_kept_once_is_kept_and_no_control_character_of_an_escape_is_left(raw: str) -> None:
    kept = keep_backslashes(f'"{raw}"')
    assert keep_backslashes(kept) == kept
    try:
        text = json.loads(kept)
    except ValueError:
        return
    assert not re.search(r"[\b\f]|\r[A-Za-z]", text)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"First.\nSecond", "First.\nSecond"),
        (r"a\tb\r\nc", "a\tb\r\nc"),
        (r"Fragen\nu. a. zu A:\nFirst", "Fragen\nu. a. zu A:\nFirst"),
        (r"\u00e4 \ud83d\ude00 \u12 \underline", "ä 😀 \\u12 \\underline"),
        (r"it\'s \(x\) \_ \"q\" \/ \\", 'it\'s \\(x\\) \\_ "q" / \\'),
        (r"C:\\temp\nThen", "C:\\temp\nThen"),
        (r"\\times\nnow", "\\times\nnow"),
        (r"Open\nC:\temp\tool.exe\n", "Open\nC:\\temp\\tool.exe\n"),
        (r"see C:\new", r"see C:\new"),
        (r"D:\users\New\h\u00e4st", "D:\\users\\New\\häst"),
    ],
)
def test_what_may_be_meant_either_way_is_decided_by_what_stands_around(written: str, text: str) -> None:
    assert read(written) == text


def test_formulas_and_paths_of_a_reply_are_read_as_they_stand() -> None:
    raw = (
        r'{"coverage":"full","answer":"The factor is \frac{a}{b} \times 2, \beta; path C:\temp\new",'
        r'"used_chunks":[1],"citations":[]}'
    )
    value, repair = read_reply(raw, AnswerReply)
    assert value.answer == r"The factor is \frac{a}{b} \times 2, \beta; path C:\temp\new"
    assert repair == "repaired"
