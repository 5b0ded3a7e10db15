import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from qa_pipeline.documents.assembly import Assembled, assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import draw_page, locate
from qa_pipeline_tests.documents.formats.pdf.builders import at, blank, one_page, parse, prose

MARKER = (255, 221, 87)


def page_with_prose() -> tuple[bytes, Assembled]:
    document = blank()
    at(document, 15, 20, prose("left", 16))
    at(document, 110, 20, prose("right", 16))
    content = bytes(document.output())
    return content, assemble(parse(content).blocks)


def draw(content: bytes, text: Assembled, quote: str = "", **options: float) -> bytes:
    start = text.text.index(quote)
    evidence = (start, start + len(quote)) if quote else None
    return draw_page(content, 1, text.text, evidence, **options)


def picture_of(drawn: bytes) -> Image.Image:
    return Image.open(io.BytesIO(drawn)).convert("RGB")


def marked(picture: Image.Image) -> set[tuple[int, int]]:
    """Pixels of the colour of the marker, a few apart."""
    places = ((x, y) for x in range(0, picture.width, 3) for y in range(0, picture.height, 3))
    return {place for place in places if picture.getpixel(place) == MARKER}


def test_the_evidence_is_marked_where_it_is_and_nowhere_else() -> None:
    content, text = page_with_prose()
    quote = " ".join(text.text[text.text.index("right3") :].split()[:7])
    drawn = draw(content, text, quote)
    picture = picture_of(drawn)
    places = marked(picture)
    assert places
    assert min(x for x, _ in places) > picture.width / 2


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_marks_follow_a_page_that_is_shown_turned(turn: int) -> None:
    content = one_page("BT /F1 24 Tf 72 700 Td (Marked words) Tj ET", page=f"/Rotate {turn}")
    drawn = draw_page(content, 1, "Marked words", (0, 12), scale=1.0)
    picture = picture_of(drawn)
    plain = picture_of(draw_page(content, 1, "Marked words", scale=1.0)).convert("L")
    ink = plain.point(lambda value: 255 if value < 100 else 0).getbbox()
    places = marked(picture)
    assert ink
    assert all(ink[0] - 9 <= x <= ink[2] + 9 and ink[1] - 9 <= y <= ink[3] + 9 for x, y in places)


@pytest.mark.parametrize(("content", "number"), [(b"%PDF-1.4 nonsense %%EOF", 1), (None, 9), (None, 0)])
def test_a_file_or_page_that_cannot_be_drawn_is_a_failure(content: bytes | None, number: int) -> None:
    with pytest.raises(DocumentFailure, match="damaged"):
        draw_page(content or page_with_prose()[0], number, "text")


PARTS = ("river", "bridge", "of", "the", "a", "in", "castle", "12", "über", "wide-open")
words = st.lists(st.sampled_from(PARTS), min_size=1, max_size=40)


@given(words, st.integers(0, 39), st.integers(1, 10))
def test_a_quote_that_is_printed_with_other_blanks_and_hyphens_is_found(
    parts: list[str], first: int, count: int
) -> None:
    printed = [f"{part[: len(part) // 2]}\ufffe\r\n{part[len(part) // 2 :]}" for part in parts]
    text, page = " ".join(parts), " ".join(printed)
    first %= len(parts)
    start = len("".join(f"{part} " for part in parts[:first]))
    quote = " ".join(parts[first : first + count])
    found = locate(text, start, start + len(quote), page)
    letters = "".join(letter for letter in quote if letter.isalnum())
    assert "".join(page[offset] for offset in found) == letters


@given(words, st.randoms(use_true_random=False))
def test_any_text_can_be_looked_for_on_any_page(parts: list[str], draw: object) -> None:
    shuffled = list(parts)
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    text, page = " ".join(parts), "\r\n".join(shuffled)
    assert set(locate(text, 0, len(text), page)) <= set(range(len(page)))


def test_a_row_of_a_table_is_found_by_its_cells() -> None:
    row, page = "Town: Lund | Age: 21", "Town\tAge\r\nMalmö\t34\r\nLund\t21\r\n"
    found = locate(row, 0, len(row), page)
    assert "".join(page[offset] for offset in found) == "TownLundAge21"
