"""What surrounds a sentence in its document, and which of it takes the sentence back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.context import introduction_of, restrictions, surroundings, void_status

TEXT = """# Pumps

Read this first. The pump needs a filter. It is cheap.

The following are prohibited:

- Tools
  - The hammer is used.
  - The saw is used.

- Timeout: 30 seconds. It is a default.

Clean it.[1]

[1] This is a myth.
"""


def around(sentence: str, text: str = TEXT, language: str = "en") -> list[str]:
    start = text.index(sentence)
    stated = (read(sentence, language),)
    return [*restrictions(surroundings(text, language, start, start + len(sentence)), (), stated, language)]


@given(st.text(max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_any_place_of_any_text_has_surroundings_that_stand_in_it(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    found = surroundings(text, "en", start, min(start + length, len(text)))
    assert all(part in text for part in (found.before, found.after, *found.lead_ins, *found.footnotes))


def test_the_sentences_beside_a_sentence_of_a_paragraph_surround_it() -> None:
    start = TEXT.index("The pump")
    found = surroundings(TEXT, "en", start, start + len("The pump needs a filter."))
    assert (found.before, found.after) == ("Read this first.", "It is cheap.")


def test_the_lead_ins_of_all_lists_around_an_item_govern_it() -> None:
    start = TEXT.index("The saw")
    found = surroundings(TEXT, "en", start, start + 5)
    assert [lead_in.strip() for lead_in in found.lead_ins] == ["- Tools", "The following are prohibited:"]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The pump needs a filter.", None),
        ("The saw is used.", "is introduced by"),
        ("Clean it.", "has the note"),
    ],
)
def test_what_takes_a_sentence_back_is_named(sentence: str, reason: str | None) -> None:
    doubts = around(sentence)
    assert (doubts == []) if reason is None else any(doubt.startswith(reason) for doubt in doubts)


def test_what_question_and_claim_say_themselves_restricts_nothing_further() -> None:
    text = "# Rules\n\nThe following are prohibited:\n\n- The saw."
    start = text.index("The saw")
    found = surroundings(text, "en", start, start + 8)
    asked = read("What is prohibited?", "en")
    assert not [*restrictions(found, (), (asked, read("The saw.", "en")), "en")]
    assert [*restrictions(found, (), (read("The saw.", "en"),), "en")]


def test_a_neighbour_that_the_answer_repeats_takes_nothing_back() -> None:
    text = "# Hall\n\nThe hall is open to all. However, dogs stay outside the hall."
    start, sentence = text.index("The hall"), "The hall is open to all."
    beside = surroundings(text, "en", start, start + len(sentence))
    stated = (read("Who may enter the hall?", "en"), read(sentence, "en"))
    assert [*restrictions(beside, (), stated, "en", sentence)]
    whole = f"{sentence}\nHowever, dogs stay outside the hall."
    assert not [*restrictions(beside, (), stated, "en", whole)]


def test_an_item_is_introduced_by_the_term_of_its_line_and_the_lead_ins_of_its_lists() -> None:
    assert introduction_of(TEXT, TEXT.index("It is a default"), "en").split("\n")[0] == "Timeout"
    assert (
        introduction_of(TEXT, TEXT.index("The saw"), "en").split("\n")[-1] == "The following are prohibited:"
    )
    assert introduction_of(TEXT, TEXT.index("The pump"), "en") == ""


@pytest.mark.parametrize(
    ("status", "is_void"),
    [
        ("draft", True),
        ("Upphävd", True),
        ("ersatt av reglerna från 2024", True),
        ("early draft, do not cite", True),
        ("final", False),
        ("gültig", False),
        ("in force", False),
        ("no longer in force", True),
        ("published", False),
        (None, False),
    ],
)
def test_the_status_of_a_document_voids_what_it_says(status: str | None, is_void: bool) -> None:
    stated = (read("When does the board meet?", "en"), read("It meets in May.", "en"))
    assert bool([*void_status(status, stated)]) == is_void
