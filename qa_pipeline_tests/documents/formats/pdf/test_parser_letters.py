"""Fonts that name their letters wrong: Unicode maps that were changed, and honest files that look odd."""

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
import pytest

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline_tests.documents.formats.pdf.builders import blank, counts, one_page, parse, stream
from qa_pipeline_tests.documents.formats.pdf.test_lines import in_font

ENGLISH = (
    "The river Alder rises in the northern hills and reaches the harbour of Lund after ninety miles. "
    "Its bridge was built by the town in 1874 and carries the road to the old mill. "
)
MORE = "People of the valley fish in its ponds. A ferry crosses it where no bridge stands. "
SMALL = "abcdefghijklmnopqrstuvwxyz"


def mapped(text: str, letters: Mapping[str, str]) -> bytes:
    """Return a PDF that shows `text` and whose font says that some of its letters are others."""
    document = blank()
    document.set_compression(False)  # so that the map can be changed
    document.add_font("Sans", fname=f"{mpl.get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    document.set_font("Sans", size=10)
    document.multi_cell(0, 6, text)
    content = bytes(document.output())
    for shown, named in letters.items():
        # marked, so that a letter which changes places with another is changed once
        content = re.sub(rb"(?<=> <)%04X(?=>\n)" % ord(shown), b"#%04X" % ord(named), content)
    return content.replace(b"<#", b"<")


def shifted(first: int) -> dict[str, str]:
    return {letter: chr(first + place) for place, letter in enumerate(SMALL)}


def judgement_of(content: bytes) -> str:
    """Return what is said of the letters of a file, or why it is refused."""
    try:
        notes = parse(content).notes
    except DocumentFailure as failure:
        return failure.reason
    return "said" if any("wrong" in note for note in notes) else "nothing"


TRUE = {
    "tall brackets of TeX": f"{MORE}\uf8eb\uf8ec\uf8ec\uf8ed 1 2 \uf8f6\uf8f7\uf8f7\uf8f8 {MORE}",
    "bullets of a symbol font": f"\uf0b7 {MORE}\n\uf0b7 {MORE}\n\uf0a7 {MORE}",
}


@pytest.mark.parametrize("first", [0xE000, 0xF061])
def test_a_file_of_private_codes_is_refused(first: int) -> None:
    assert judgement_of(mapped(ENGLISH, shifted(first))) == "unreadable_text"


def test_a_file_whose_letters_have_no_names_is_refused() -> None:
    nameless = re.sub(rb"(?s)\d+ beginbfchar.*?endbfchar\n", b"", mapped(ENGLISH, {}))
    assert judgement_of(nameless) == "unreadable_text"


@pytest.mark.parametrize("text", TRUE.values(), ids=TRUE)
def test_signs_of_symbol_fonts_are_not_taken_for_false_letters(text: str, tmp_path: Path) -> None:
    lines = [part for line in text.split("\n") for part in wrap(line, 70)]
    assert judgement_of(bytes(in_font(tmp_path, *lines).output())) == "nothing"


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
