"""Accents drawn apart from their letters."""

import pytest

from qa_pipeline_tests.documents.builders import outline
from qa_pipeline_tests.documents.formats.pdf.builders import one_page, parse


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (r"[(f) -111 (\250) 444 (ur mich)] TJ", "für mich"),
        (r"[(fu) 444 (\250) 111 (r mich)] TJ", "für mich"),
        (r"(Run `ls` at 20 \260C, not x^2 or \250a.) Tj", "Run `ls` at 20 °C, not x^2 or ¨a."),
    ],
)
def test_an_accent_is_joined_to_the_letter_it_is_over_and_to_no_other(drawn: str, text: str) -> None:
    assert outline(parse(one_page(f"BT /F1 12 Tf 72 700 Td {drawn} ET"))) == [("paragraph", text)]
