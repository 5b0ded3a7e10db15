import pytest

from qa_pipeline.documents.formats.pdf.lines import (
    Line,
    Spelling,
    join_text,
    texts_by_page,
)

NO_WORDS = Spelling([])


def line(text: str, page: int = 1, left: float = 50.0, bottom: float = 700.0, broken: bool = False) -> Line:
    return Line(text, page, left, bottom, left + 5 * len(text), bottom + 10, 10.0, False, False, broken)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("see https://", "example.org/page now"), "see https://example.org/page now"),
        (
            ("https://doi.org/10.1016/", "S1474-4422(21)00074-0"),
            "https://doi.org/10.1016/S1474-4422(21)00074-0",
        ),
        (("https://example.org/a/-", "/issues"), "https://example.org/a/-/issues"),
        (
            ("see https://example.org/reports", "/2020/spring.pdf now"),
            "see https://example.org/reports/2020/spring.pdf now",
        ),
        (("either this", "/ or that"), "either this / or that"),
        (("see https://example.org/", "The next sentence"), "see https://example.org/ The next sentence"),
        (("the years 2024-", "2026 were"), "the years 2024-2026 were"),
        (("a 24-", "hour service"), "a 24-hour service"),
        (("either this/", "or that"), "either this/ or that"),
    ],
)
def test_addresses_and_names_go_on_in_the_next_line(lines: tuple[str, ...], text: str) -> None:
    assert join_text([line(part) for part in lines], NO_WORDS) == text


def test_a_word_broken_over_two_pages_stays_on_the_first() -> None:
    lines = [line("an improve", broken=True), line("ment of it", page=2)]
    assert list(texts_by_page(lines, NO_WORDS)) == [(1, "an improvement"), (2, " of it")]


def test_very_long_lines_are_joined_in_little_time() -> None:
    lines = [line("www." * 200_000 + "/"), line("a" * 300_000, broken=True), line("b" * 300_000)]
    assert len(join_text(lines, NO_WORDS)) > 1_000_000
