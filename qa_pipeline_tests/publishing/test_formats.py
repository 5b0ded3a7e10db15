import json
from typing import Any

import polars as pl
import pytest

from qa_pipeline.curation.exports import json_lines
from qa_pipeline.publishing.formats import FORMATS, ORIGIN, format_rows
from qa_pipeline.tables import LAYOUTS, MESSAGE_COLUMNS
from qa_pipeline_tests.curation.rows import example, examples

SAID = {"system": "Be brief.", "user": "When?", "assistant": "At nine."}
MESSAGES = [{"role": role, "content": content} for role, content in SAID.items()]


def row(name: str, layout: str = "closed_book", **values: Any) -> dict[str, Any]:
    made = examples(example("p", question="When?", answer="At nine.", **{"messages": MESSAGES, **values}))
    (line,) = b"".join(json_lines(format_rows(made, name, layout))).splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("chat", {"messages": MESSAGES}),
        (
            "sharegpt",
            {
                "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": "When?"},
                    {"from": "gpt", "value": "At nine."},
                ]
            },
        ),
        (
            "gemini",
            {
                "systemInstruction": {"role": "system", "parts": [{"text": "Be brief."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "When?"}]},
                    {"role": "model", "parts": [{"text": "At nine."}]},
                ],
            },
        ),
        ("alpaca", {"instruction": "When?", "input": "", "output": "At nine."}),
    ],
)
def test_each_format_has_the_columns_its_readers_look_for(name: str, columns: dict[str, Any]) -> None:
    found = row(name)
    assert {key: found[key] for key in found if key not in ORIGIN} == columns


@pytest.mark.parametrize("name", FORMATS)
def test_every_row_says_where_it_comes_from(name: str) -> None:
    found = row(name)
    assert set(ORIGIN) < set(found)
    assert (found["pair_id"], found["batch"]) == ("p", "b")


@pytest.mark.parametrize("name", FORMATS)
def test_a_row_without_a_layout_is_left_out_of_its_files(name: str) -> None:
    for layout in LAYOUTS[1:]:
        made = examples(example("p", messages=MESSAGES), example("q", messages=MESSAGES))
        with_one = made.with_columns(
            pl.when(pl.col("pair_id") == "q").then("messages").alias(MESSAGE_COLUMNS[layout])
        )
        assert format_rows(with_one, name, layout)["pair_id"].to_list() == ["q"]
