from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.storage.table_schema import DoubtStruct
from qa_pipeline.text.doubt import SIGNS, blank_doubts, doubts_within, kinds_within
from qa_pipeline.text.words import clean

DOUBTS: list[DoubtStruct] = [
    {"kind": "order", "start": 10, "end": 12},
    {"kind": "table", "start": 20, "end": 40},
    {"kind": "formula", "start": 39, "end": 41},
]


def test_a_part_of_a_text_has_the_doubts_that_touch_it_cut_to_it() -> None:
    assert doubts_within(DOUBTS, 30, 40) == [
        {"kind": "table", "start": 30, "end": 40},
        {"kind": "formula", "start": 39, "end": 40},
    ]
    assert kinds_within(DOUBTS, 30, 40) == "formula, table"


def test_a_part_beside_all_doubts_has_none() -> None:
    assert doubts_within(DOUBTS, 12, 20) == []
    assert kinds_within(DOUBTS, 12, 20) is None
    assert kinds_within(None, 0, 99) is None


def test_the_sentence_in_doubt_is_blank_and_its_neighbours_stay_in_place() -> None:
    text = "It opens at nine. The sum is not known. It closes at ten."
    blank = blank_doubts(text, "en", [{"kind": "formula", "start": 126, "end": 129}], start=100)
    assert blank == "It opens at nine." + " " * 23 + "It closes at ten."
    assert blank.index("It closes") == text.index("It closes")


def test_rows_in_doubt_are_blank_and_keep_their_line_ends() -> None:
    text = "Name: A | Price: 1\nName: B | Price: 2"
    blank = blank_doubts(text, "en", [{"kind": "table", "start": 0, "end": 18}])
    assert blank == " " * 18 + "\nName: B | Price: 2"


@given(st.text(st.sampled_from([*SIGNS.values(), "a", "å", " ", "\n"]), max_size=20))
def test_no_sign_of_a_doubt_is_left_in_clean_text(text: str) -> None:
    assert not set(clean(text)) & set(SIGNS.values())
