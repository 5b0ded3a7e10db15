from pathlib import Path

import pytest

from qa_pipeline_tests.benchmarks.quality.measure_table_numbers import (
    judge_table,
    outcome_of,
    read_row,
    summarize,
)

_ROWS = [read_row("Month: May | Sales: 1,200 | Share: 5%"), read_row("Month: June | Sales: 900 | Share: 4%")]


@pytest.mark.parametrize(
    ("number", "row", "column", "outcome"),
    [
        ("1,200", "May", "Sales", "right"),
        ("1,200", "", "", "right"),
        ("1,200", "May", "Share", "wrong_column"),
        ("1,200", "June", "Sales", "wrong_row"),
        ("1,200", "June", "Share", "without_heads"),
        ("77", "May", "Sales", "elsewhere"),
        ("20", "May", "Sales", "lost"),
    ],
)
def test_a_number_is_right_only_with_the_heads_of_its_row_and_column(
    number: str, row: str, column: str, outcome: str
) -> None:
    item = {"number": number, "row": row, "column": column}
    assert outcome_of(item, _ROWS, "see 77 and 1,200 and 20.5") == outcome


def test_numbers_of_a_real_file_are_judged_and_counted_by_format(tmp_path: Path) -> None:
    markup = "<table><tr><th>Month</th><th>Sales</th></tr><tr><td>May</td><td>1,200</td></tr></table>"
    (tmp_path / "sales.html").write_text(f"<h1>Sales</h1>{markup}")
    numbers = [
        {"number": "1,200", "row": "May", "column": "Sales"},
        {"number": "1,300", "row": "May", "column": "Sales"},
    ]
    rows = list(judge_table(tmp_path, {"file": "sales.html", "format": "html", "numbers": numbers}))
    assert [row["outcome"] for row in rows] == ["right", "lost"]
    assert summarize(rows)["html"]["share_right"][0] == 0.5


def test_a_file_that_cannot_be_read_has_lost_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "sales.pdf").write_bytes(b"no file of this kind")
    numbers = [{"number": "5", "row": "May", "column": "Sales"}]
    table = {"file": "sales.pdf", "format": "pdf", "numbers": numbers}
    assert [row["outcome"] for row in judge_table(tmp_path, table)] == ["lost"]
