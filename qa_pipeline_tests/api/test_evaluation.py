"""Answered questions evaluated through the Python API: frames, files and patterns give equal figures."""

import json
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.api.evaluation import evaluate
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.registry import METRICS, SUMMARY

ROWS = [
    {
        "question": "When was the Eiffel Tower completed?",
        "answer": "The Eiffel Tower was completed in 1889.",
        "contexts": ["The Eiffel Tower was completed in 1889."],
        "ground_truth": "In 1889.",
    },
    {
        "question": "How tall is it?",
        "answer": "It is 340 metres tall.",
        "contexts": ["The Eiffel Tower is 330 metres tall."],
        "ground_truth": "330 metres",
    },
]
OFFLINE = ["faithfulness", "exact_match", "token_f1"]


def test_a_frame_and_its_file_have_equal_figures(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    of_frame, of_file = evaluate(pl.DataFrame(ROWS), metrics=OFFLINE), evaluate(path, metrics=OFFLINE)
    of_pattern = evaluate(str(tmp_path / "*.jsonl"), metrics=OFFLINE)
    assert of_frame.document == of_file.document == of_pattern.document
    assert of_frame.scores.equals(of_file.scores)


def test_the_summary_has_the_eight_metrics_and_all_are_had_on_request() -> None:
    assert evaluate(ROWS).summary["metric"].to_list() == [name for name in METRICS if name in SUMMARY]
    assert len(SUMMARY) == 8
    assert set(evaluate(ROWS[:1], metrics="all").summary["metric"]) == set(METRICS)


def test_a_report_has_scores_statements_and_a_page() -> None:
    report = evaluate(ROWS, metrics=OFFLINE)
    assert report.scores["faithfulness"].to_list() == [1.0, 0.0]
    assert report.statements["verdict"].to_list() == ["supported", "unsupported"]
    assert "<h1" in report.to_html()
    assert "faithfulness" in report._repr_html_()


def test_rows_that_cannot_be_read_are_left_out_and_named() -> None:
    report = evaluate([*ROWS, {"question": "", "answer": "x"}, {"question": 3}], metrics=OFFLINE)
    assert report.scores.height == 2
    assert report.left_out.select("reason", "first_row").rows() == [("empty_field", 3), ("wrong_type", 4)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "holds no row"),
        ([{"qestion": "Why?"}], "rename qestion"),
        ("nowhere/*.jsonl", "no file matches"),
        ("nowhere.jsonl", "does not exist"),
        (3, "holds no rows"),
    ],
)
def test_data_without_rows_is_refused(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(data, metrics=OFFLINE)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(InputError, match="there is no metric faithfulnes"):
        evaluate(ROWS, metrics=["faithfulnes"])


def test_a_model_that_is_to_cut_answers_must_be_given() -> None:
    with pytest.raises(InputError, match="needs the model"):
        evaluate(ROWS, metrics=OFFLINE, statements="model")


def test_answers_whose_cut_cannot_be_read_are_counted_and_the_report_says_so() -> None:
    report = evaluate(ROWS, metrics=OFFLINE, statements="model", model=lambda prompt: "no JSON at all")
    assert report.document["settings"]["unsplit"] == {"not_json": 2}
    assert report.scores["faithfulness"].to_list() == [None, None]
    assert report.scores["exact_match"].null_count() == 0
    assert "failed: 2 answers (not json 2)" in report.to_html()
