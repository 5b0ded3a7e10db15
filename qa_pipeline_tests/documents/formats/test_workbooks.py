from datetime import date, datetime, time, timedelta

import pytest

from qa_pipeline.documents.formats.workbooks import show_moment, show_number


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (99.5, "[$€-407] #,##0.00", "€ 99.50"),
        (-5, '"$"#,##0.00', "-$5.00"),
        (2.5, "0", "3"),
        (-0.001, "0.0", "0.0"),
        (-120, "#,##0;[Red]#,##0", "-120"),
        (5, ";;;", ""),
        (0, "0;;", ""),  # its third section is empty
    ],
)
def test_numbers_stand_as_a_person_sees_them(value: float, form: str, shown: str) -> None:
    assert show_number(value, form) == shown


@pytest.mark.parametrize(
    "form", ["", "General", "@", "# ?/?", '[>=100]"high";"low"', "0" * 300, "0.0E+0", "0,,", "###-##"]
)
def test_an_unknown_format_shows_the_plain_number(form: str) -> None:
    assert show_number(5.0, form) == "5"


DAY = datetime.fromisoformat("2031-05-02")
MORNING = datetime.fromisoformat("2031-05-02T09:30")


@pytest.mark.parametrize(
    ("moment", "form", "shown"),
    [
        (DAY, "mmmm", "2031-05"),
        (DAY, "mmm yyyy", "2031-05"),
        (DAY, "General", "2031-05-02"),
        (MORNING, "@", "2031-05-02 09:30:00"),
        (MORNING, "d/m", "2031-05-02"),
        (MORNING, "h:mm", "09:30:00"),
        (MORNING, "mm:ss", "09:30:00"),
        (date(2031, 5, 2), "General", "2031-05-02"),
        (time(9, 30), "mmm", "09:30:00"),
        (timedelta(hours=26), "[h]:mm", "26:00:00"),
        (-timedelta(hours=1, minutes=30), "[h]:mm", "-1:30:00"),
    ],
)
def test_dates_times_and_durations_show_what_their_format_shows(
    moment: date | time | timedelta, form: str, shown: str
) -> None:
    assert show_moment(moment, form) == shown
