import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from qa_pipeline.cli.common import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import Ran, invoke
from qa_pipeline_tests.evaluation.labelled_files import write_lines

SIZE = 60


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of sixty rows, two to a document."""
    folder = tmp_path / "report"
    folder.mkdir()
    ids = [f"r{place}" for place in range(SIZE)]
    score = np.arange(SIZE) / SIZE
    pl.DataFrame(
        {
            "id": ids,
            "group": [f"d{place // 2}" for place in range(SIZE)],
            "query": ids,
            "answer": [f"Answer {place}." for place in range(SIZE)],
            "seconds": 0.1,
            "faithfulness": score,
            "hallucination": 1 - score,
        }
    ).write_parquet(folder / "rows.parquet")
    pl.DataFrame(
        {
            "id": [one for one in ids for _ in range(2)],
            "position": [1, 0] * SIZE,
            "text": ["Second.", "First."] * SIZE,
            "verdict": "supported",
            "document": None,
            "quote": None,
        }
    ).write_parquet(folder / "statements.parquet")
    facts = {"version": 1, "range": [0, 1]}
    metrics = {"faithfulness": {"direction": "higher"}, "hallucination": {"direction": "lower"}}
    document = {"format": 1, "dataset": "d", "dataset_sha256": "0" * 64}
    document["metrics"] = {name: facts | one for name, one in metrics.items()}
    (folder / "report.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Three annotators of the rows with even numbers, one of whom errs at times."""
    rows = [
        {"id": f"r{place}", "annotator": who, "rating": "yes" if (place > 20) != errs else "no"}
        for place in range(0, SIZE, 2)
        for who, errs in (("anna", False), ("ben", False), ("cleo", place % 5 == 0))
    ]
    return write_lines(tmp_path / "ratings.jsonl", rows)


def asked(report: Path, ratings: Path, out: Path, *more: str | Path) -> Ran:
    few = ("--diversity", "0", "--chance", "0", "--resamples", "20")
    return invoke("eval", "next", report, "--labelled", ratings, "--out", out, *few, *more)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_ratings_go_in_and_agreement_consensus_and_annotators_come_out(ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    shown = invoke("eval", "annotators", ratings, "--out", out, "--resamples", "50")
    assert shown.code == OK
    assert "fleiss_kappa" in shown.stdout
    assert "30 items have a label" in shown.stdout
    found = json.loads(invoke("eval", "annotators", ratings, "--resamples", "0", "--json").stdout)
    assert [one["annotator"] for one in found["annotators"]] == ["anna", "ben", "cleo"]
    assert found["pairs"][0] == {"first": "anna", "second": "ben", "common": 30, "alike": 1.0}
    assert {row["label"] for row in lines(out)} == {"yes", "no"}
    assert len(lines(out)) == 30


def test_the_same_ratings_give_the_same_bytes(ratings: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    how = ("--consensus", "dawid-skene", "--json")
    said = [invoke("eval", "annotators", ratings, "--out", out, *how).stdout for out in outs]
    assert said[0] == said[1]
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_rows_to_rate_come_with_their_statements_and_without_verdicts(
    report: Path, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "next.jsonl"
    assert asked(report, ratings, out, "--count", "5", "--against", "hallucination").code == OK
    rows = lines(out)
    assert len(rows) == 5
    assert all(int(row["id"][1:]) % 2 for row in rows)
    assert list(rows[0]) == [
        "id", "group", "query", "answer", "statements", "criterion", "annotator", "rating",
    ]  # fmt: skip
    assert [one["text"] for one in rows[0]["statements"]] == ["First.", "Second."]
    assert list(rows[0]["statements"][0]) == ["text", "document", "quote"]
    assert rows[0]["rating"] is None


def test_filled_in_the_rows_are_ratings_and_are_not_asked_for_again(
    report: Path, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "next.jsonl"
    asked(report, ratings, out, "--count", "5")
    filled = [{**row, "annotator": who, "rating": "yes"} for row in lines(out) for who in ("anna", "ben")]
    more = write_lines(tmp_path / "more.jsonl", filled)
    again = tmp_path / "again.jsonl"
    assert asked(report, ratings, again, "--labelled", more, "--count", "100").code == OK
    assert len(lines(again)) == SIZE - 30 - 5
    assert not {row["id"] for row in lines(again)} & {row["id"] for row in lines(out)}


def test_the_choice_says_what_calibration_is_worth_on_documents_it_did_not_see(
    report: Path, ratings: Path, tmp_path: Path
) -> None:
    told = json.loads(asked(report, ratings, tmp_path / "next.jsonl", "--json").stdout)
    assert (told["labelled"], told["right"], told["without_consensus"], told["beside"]) == (30, 19, 0, 0)
    assert told["calibration"]["brier"]["change"]["value"] < 0


def test_with_too_few_labels_the_metric_itself_decides(report: Path, tmp_path: Path) -> None:
    few = write_lines(tmp_path / "few.jsonl", [{"id": "r1", "annotator": "anna", "rating": "no"}])
    out = tmp_path / "next.jsonl"
    shown = asked(report, few, out, "--count", "3", "--disagreement", "0")
    assert "Too few labels" in shown.stdout
    assert {row["id"] for row in lines(out)} == {"r29", "r30", "r31"}


def test_a_row_that_annotators_dispute_is_asked_for_again(report: Path, tmp_path: Path) -> None:
    said = [{"id": "r7", "annotator": who, "rating": who} for who in ("yes", "no")]
    out = tmp_path / "next.jsonl"
    asked(report, write_lines(tmp_path / "r.jsonl", said), out, "--count", "1", "--uncertainty", "0")
    assert lines(out)[0]["id"] == "r7"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--metric", "grounding"), "no metric 'grounding'; it has"),
        (("--uncertainty", "0", "--disagreement", "0"), "weights of the mix"),
        (("--criterion", "clarity"), "name one of rating"),
    ],
)
def test_a_choice_that_cannot_be_made_says_why(
    report: Path, ratings: Path, tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "next.jsonl"
    ran = asked(report, ratings, out, *more)
    assert ran.code == BAD_INPUT
    assert message in " ".join(ran.stderr.split())
    assert not out.exists()


def test_a_folder_that_is_no_report_is_refused(report: Path, ratings: Path, tmp_path: Path) -> None:
    said = (report / "report.json").read_text()
    for broken in ("{", "[]", '{"metrics": {"x": 1}}'):
        (report / "report.json").write_text(broken)
        assert asked(report, ratings, tmp_path / "out.jsonl").code == BAD_INPUT
    (report / "report.json").write_text(said)
    (report / "rows.parquet").write_bytes(b"no parquet")
    assert "not a Parquet file" in asked(report, ratings, tmp_path / "out.jsonl").stderr
    pl.DataFrame({"id": ["a"]}).write_parquet(report / "rows.parquet")
    assert "the column group should hold" in asked(report, ratings, tmp_path / "out.jsonl").stderr


def test_rows_that_are_all_labelled_leave_nothing_to_rate(report: Path, tmp_path: Path) -> None:
    said = [{"id": f"r{place}", "annotator": "gold", "rating": 1} for place in range(SIZE)]
    ran = asked(report, write_lines(tmp_path / "all.jsonl", said), tmp_path / "out.jsonl")
    assert "all 60 rows are labelled" in ran.stderr
