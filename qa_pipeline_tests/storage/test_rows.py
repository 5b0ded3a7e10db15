from qa_pipeline_tests.storage.row_types import FILE, rows_source


def test_the_types_of_rows_are_those_of_the_tables() -> None:
    written = FILE.read_text(encoding="utf-8")
    assert written == rows_source(), "run python -m qa_pipeline_tests.storage.row_types"
