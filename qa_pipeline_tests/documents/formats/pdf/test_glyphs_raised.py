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
        (("It has 450 m", "^2", ", and 3600 m", "^3", "."), "It has 450 m^2, and 3600 m^3."),
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
