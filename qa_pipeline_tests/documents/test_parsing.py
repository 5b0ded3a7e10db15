import json
from typing import Any

import pytest

from qa_pipeline.documents.parsing import ContentRow, ParseRequest, parse_file, read_columns
from qa_pipeline_tests.documents.builders import SETTINGS, source


def replied(body: object) -> ContentRow:
    return read_columns(json.dumps(body).encode())


def row(**changes: object) -> dict[str, Any]:
    content = "---\ntitle: T\n---\n# One\n\nA text.\n\n## Two\n\n- item\n"
    return {**parse_file(ParseRequest(source(content), "markdown"), SETTINGS), **changes}


def span(start: int, end: int) -> dict[str, Any]:
    return {"heading_path": ["a"], "level": 1, "start": start, "end": end}


def test_columns_of_a_document_come_back_as_they_were() -> None:
    assert replied(row()) == row()


@pytest.mark.parametrize(
    "changes",
    [
        {"text": None},
        {"text": "\ud800"},
        {"declared": {"title": "only"}},
        {"left_out": [{"what": "a", "pieces": 2**31, "characters": 0}]},
        {"pages": [{"number": 2**31, "start": 0, "end": 1}]},
        {"sections": [{**span(0, 1), "heading_path": [None]}]},
        {"sections": [span(0, 10_000)]},
        {"sections": [span(3, 4), span(0, 2)]},
    ],
)
def test_columns_that_do_not_fit_the_table_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"ContentRow|order|large"):
        replied(row(**changes))
