import polars as pl
import pytest
import yaml

from qa_pipeline.publishing.card import data_card
from qa_pipeline.tables import PROVENANCE, TRAINING_EXAMPLES

SOURCES = pl.DataFrame({"batch": ["b", "b", "c"], "licence": ["CC0-1.0", None, "CC0-1.0"]})
NOTHING: dict[str, dict[str, object]] = {"batches": {}, "rows": {}}


def card(rows: int = 4, left_out: dict[str, dict[str, object]] = NOTHING, generator: str = "m/1") -> str:
    schema = TRAINING_EXAMPLES.schema
    provenance = {**dict.fromkeys(PROVENANCE.to_schema()), "generator": generator, "thresholds_id": "t"}
    tokens = {"closed_book": 10, "with_context": 20, "with_distractors": None}
    frame = pl.DataFrame(
        [("train", "sv", "table", "full", None, tokens, provenance)] * rows,
        schema={"split": pl.String(), "language": pl.String(), "question_type": pl.String(),
            "coverage": pl.String(), "difficulty": pl.String(), "tokens": schema["tokens"],
            "provenance": PROVENANCE},
        orient="row",
    )  # fmt: skip
    return data_card(frame, {"train": rows, "test": 0}, left_out, SOURCES)


def front_matter(text: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_the_front_matter_names_the_files_of_splits_that_have_rows() -> None:
    head = front_matter(card())
    assert head["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train.parquet"}]}
    ]
    assert (head["language"], head["size_categories"]) == (["sv"], ["n<1K"])


@pytest.mark.parametrize(("rows", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (10_000, "10K<n<100K")])
def test_the_size_is_the_hubs_name_for_it(rows: int, size: str) -> None:
    assert front_matter(card(rows))["size_categories"] == [size]


def test_unknown_values_and_what_nobody_did_are_said() -> None:
    text = card()
    assert "| unknown | 4 | 1.000 |" in text
    assert "| nobody | 4 | 1.000 |" in text
    assert "| with\\_distractors | 0 | – | – | – | – |" in text
    assert "CC0-1.0; 1 documents give none" in text
    assert "no person has audited this release" in text


def test_what_is_left_out_stands_with_its_reason() -> None:
    text = card(left_out={"batches": {"b2": "pass_rate: 1 of 9"}, "rows": {"joins_splits": 3}})
    assert "| b2 | pass\\_rate: 1 of 9 |" in text
    assert "| joins\\_splits | 3 |" in text


def test_a_name_from_outside_ends_no_cell_and_makes_no_markup() -> None:
    text = card(generator="x | y\n# [a](http://b) <img> `c`")
    line = next(line for line in text.splitlines() if line.startswith("| x "))
    assert line == "| x \\| y \\# \\[a\\](http://b) \\<img\\> \\`c\\` | 4 | 1.000 |"
