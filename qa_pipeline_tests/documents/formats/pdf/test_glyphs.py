"""Accents drawn apart from their letters, and letters that the file gives no Unicode value for."""

import pytest

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.glyphs import join_accents
from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import counts, one_page, parse, stream


def text_of(drawn: str) -> str:
    return " ".join(text for _, text in outline(parse(one_page(f"BT /F1 12 Tf 72 700 Td {drawn} ET"))))


@pytest.mark.parametrize(
    "drawn",
    [
        r"[(f) -111 (\250) 444 (ur mich)] TJ",
        r"[(fu) 444 (\250) 111 (r mich)] TJ",
        r"(fur mich) Tj 4.7 0 Td (\250) Tj",
        r"4.7 0 Td (\250) Tj -4.7 0 Td (fur mich) Tj",
    ],
    ids=["before its letter", "behind its letter", "at the end of the line", "before the line"],
)
def test_an_accent_is_joined_to_the_letter_it_is_over(drawn: str) -> None:
    assert text_of(drawn) == "für mich"


@pytest.mark.parametrize(
    ("accent", "letter", "whole"),
    [("\\250", "o", "ö"), ("\\264", "e", "é"), ("`", "a", "à"), ("\\260", "a", "å"), ("\\270", "c", "ç")],
)
def test_accents_of_all_kinds_are_joined(accent: str, letter: str, whole: str) -> None:
    assert text_of(f"(x{letter}x) Tj 7.1 0 Td ({accent}) Tj") == f"x{whole}x"


def test_an_accent_raised_over_a_capital_letter_is_joined() -> None:
    assert text_of(r"(Uber) Tj 2.3 2.4 Td (\250) Tj") == "Über"


def test_several_accents_at_the_end_of_a_line_are_joined_to_their_letters() -> None:
    umlauts = r"(fur die Ubung) Tj 4.7 0 Td (\250) Tj 34.3 2.4 Td (\250) Tj"
    assert text_of(umlauts) == "für die Übung"


def test_signs_that_stand_beside_letters_stay_signs() -> None:
    assert text_of(r"(Run `ls` at 20 \260C, not x^2 or \250a.) Tj") == "Run `ls` at 20 °C, not x^2 or ¨a."


def test_a_word_broken_before_an_accent_at_the_line_end_is_mended() -> None:
    drawn = r"(Dies ist fur die Doku-) Tj 47.3 0 Td (\250) Tj -47.3 -14 Td (mentation gedacht.) Tj"
    assert text_of(drawn) == "Dies ist für die Dokumentation gedacht."


def test_many_accents_and_letters_in_one_place_take_time_in_proportion() -> None:
    asked = 0

    def box(number: int) -> tuple[float, float, float, float]:
        nonlocal asked
        asked += 1
        return 0.0, 0.0, 5.0, 10.0

    text = "u¨" * 20_000
    join_accents(text, range(len(text)), box)
    assert asked <= 3 * len(text)


def in_broken_font(letters: str, codes: str) -> bytes:
    """A page whose font maps `@` and what follows it to other codes."""
    to_unicode = stream(f"1 beginbfchar {codes} endbfchar")
    content = one_page(f"BT /F1 12 Tf 72 700 Td ({letters}) Tj ET", o10=to_unicode)
    content = content.replace(b"/BaseFont", b"/ToUnicode 10 0 R /BaseFont", 1)
    return content.replace(b"startxref", b"startxref\n0 %", 1)


def test_letters_without_a_value_leave_a_mark_in_their_words_and_are_counted_and_noted() -> None:
    parsed = parse(in_broken_font("The de@nition of a pro@le stands in a @le of its own.", "<40> <001B>"))
    assert parsed.blocks[0].text == "The de\ufffdnition of a pro\ufffdle stands in a \ufffdle of its own."
    assert counts(parsed)["unreadable_character"] == (3, 3)
    assert parsed.notes[0].startswith("3 of 42 characters (7.1%)")


def test_signs_amid_words_are_noted_as_broken_letters() -> None:
    parsed = parse(one_page(r"BT /F1 12 Tf 72 700 Td (Za\247to je uobi\243ajeno) Tj ET"))
    assert parsed.notes[0].startswith("2 of 17 characters (11.8%)")


def test_a_text_of_mostly_broken_letters_is_refused() -> None:
    with pytest.raises(DocumentFailure) as refused:
        parse(in_broken_font("@e@e@ @e@a @ame.", "<40> <001B>"))
    assert refused.value.reason == "unreadable_text"
