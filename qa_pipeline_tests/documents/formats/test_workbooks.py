import pytest

from qa_pipeline.documents.formats.workbooks import show_number


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (99.5, "[$€-407] #,##0.00", "€ 99.50"),
        (-5, '"$"#,##0.00', "-$5.00"),
        (2.5, "0", "3"),
        (-0.001, "0.0", "0.0"),
        (-120, "#,##0;[Red]#,##0", "-120"),
        (5, ";;;", ""),
    ],
)
def test_numbers_stand_as_a_person_sees_them(value: float, form: str, shown: str) -> None:
    assert show_number(value, form) == shown


@pytest.mark.parametrize(
    "form", ["", "General", "@", "# ?/?", '[>=100]"high";"low"', "0" * 300, "0.0E+0", "0,,", "###-##"]
)
def test_an_unknown_format_shows_the_plain_number(form: str) -> None:
    assert show_number(5.0, form) == "5"
