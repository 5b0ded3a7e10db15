"""Rows that name columns, told from rows of values."""

import pytest

from qa_pipeline.documents.formats.rows import names_columns


@pytest.mark.parametrize(
    "names", [["Region", "Q1", "Q2"], ["bus", "v0", "a0"], ["Place", "CO2", "PM10"], ["Land", "2023", "2024"]]
)
def test_codes_and_years_over_figures_name_their_columns(names: list[str]) -> None:
    below = [["North", "12", "17.5"], ["South", "9", "3.25"], ["West", "40", "8"]]

    assert names_columns(names, below)


@pytest.mark.parametrize("first", [["A12", "B7"], ["SE4", "12"], ["North", "11"]])
def test_a_row_of_codes_over_codes_names_no_columns(first: list[str]) -> None:
    below = [["A13", "B8"], ["A14", "B9"], ["A15", "C1"]]

    assert not names_columns(first, below)
