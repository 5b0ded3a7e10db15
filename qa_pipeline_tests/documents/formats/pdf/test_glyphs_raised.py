"""Raised and lowered characters: powers get a caret, marks of notes go and are counted."""

import pytest

from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import counts, one_page, parse


def printed(*parts: str, foot: str = "") -> bytes:
    """A page with one line, whose parts that begin with ^ are raised and those with _ lowered, and a foot."""
    shown = [f"BT /F1 10 Tf 60 700 Td ({parts[0]}) Tj"]
    for part in parts[1:]:
        rise, size = (4, 6) if part[0] == "^" else (-2, 6) if part[0] == "_" else (0, 10)
        shown.append(f"/F1 {size} Tf {rise} Ts ({part.lstrip('^_')}) Tj")
    feet = (f"BT /F1 7 Tf 60 {90 - 9 * row} Td ({line}) Tj ET" for row, line in enumerate(foot.splitlines()))
    return one_page("\n".join([*shown, "0 Ts ET", *feet]))


def text_of(content: bytes) -> str:
    return outline(parse(content))[0][1]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("It holds 10", "^6", " litres."), "It holds 10^6 litres."),
        (("It is 10", "^-3", " m thick."), "It is 10^-3 m thick."),
        (("It has 450 m", "^2", ", and 3600 m", "^3", "."), "It has 450 m^2, and 3600 m^3."),
        (("We take x", "^n", " and 2", "^10", " of them."), "We take x^n and 2^10 of them."),
        (("The load is 900 kg/m", "^2", " there."), "The load is 900 kg/m^2 there."),
        (("The acid H", "_2", "SO", "_4", " boils."), "The acid H2SO4 boils."),
        (("On the 3", "^rd", " of June it rained."), "On the 3rd of June it rained."),
        (("By Bo Ek", "^1, 2", " and Ann Dal", "^2"), "By Bo Ek and Ann Dal"),
        (("The rule", "^12", " was shown.", "^3,4"), "The rule was shown."),
    ],
)
def test_powers_get_a_caret_and_marks_after_words_go(parts: tuple[str, ...], text: str) -> None:
    assert text_of(printed(*parts)) == text


def test_a_mark_that_a_line_of_the_page_begins_with_goes_and_is_counted() -> None:
    foot = "1 Dry weight.\n2 Without the harbour."
    content = printed(
        "It is 25 mg", "^1", " and 40 mg", "^2", " in 2030", "^2", " on 5 m", "^2", ".", foot=foot
    )
    assert text_of(content) == "It is 25 mg and 40 mg in 2030 on 5 m^2."
    assert counts(parse(content))["footnote_mark"] == (3, 3)


def test_the_raised_label_of_a_note_stands_apart_from_its_text() -> None:
    content = one_page("BT /F1 6 Tf 60 700 Td 4 Ts (1) Tj /F1 10 Tf 0 Ts (Measured at noon.) Tj ET")
    assert text_of(content) == "1 Measured at noon."


def test_numbers_as_large_as_what_they_stand_beside_are_no_marks() -> None:
    labels = one_page("BT /F1 10 Tf 60 700 Td (0) Tj 4 Ts (250) Tj 8 Ts (500) Tj 0 Ts ( days) Tj ET")
    assert text_of(labels) == "0250500 days"
    assert counts(parse(labels)) == {}
