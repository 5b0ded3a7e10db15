import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import invoke
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


def test_a_consensus_of_annotators_who_do_not_agree_is_not_used_and_said_so(tmp_path: Path) -> None:
    said = [(place, who, place % modulus) for place in range(24) for who, modulus in (("a", 2), ("b", 3))]
    ratings = write_lines(
        tmp_path / "ratings.jsonl",
        [{"id": f"r{place}", "annotator": who, "rating": str(rating)} for place, who, rating in said],
    )
    out = tmp_path / "labels.jsonl"
    shown = invoke("eval", "annotators", ratings, "--out", out, "--resamples", "0")
    assert "The consensus is not used" in shown.stdout
    assert "0 items have a label" in shown.stdout
    assert {row["label"] for row in lines(out)} == {None}
    invoke("eval", "annotators", ratings, "--out", out, "--resamples", "0", "--min-kappa", "-1")
    assert {row["label"] for row in lines(out)} == {None, "0", "1"}


def test_the_same_ratings_give_the_same_bytes(ratings: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    how = ("--consensus", "dawid-skene", "--json")
    said = [invoke("eval", "annotators", ratings, "--out", out, *how).stdout for out in outs]
    assert said[0] == said[1]
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_a_sheet_shows_statements_and_hides_verdicts(report: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.jsonl"
    ran = invoke("eval", "sheet", report, "--out", out, "--count", "5")
    assert ran.code == OK
    assert "5 rows to rate" in ran.stdout
    rows = lines(out)
    assert len(rows) == 5
    assert list(rows[0]) == [
        "id", "group", "query", "answer", "statements", "criterion", "categories", "annotator", "rating",
    ]  # fmt: skip
    assert [one["text"] for one in rows[0]["statements"]] == ["First.", "Second."]
    assert list(rows[0]["statements"][0]) == ["text", "document", "quote"]
    assert (rows[0]["criterion"], rows[0]["rating"]) == ("faithfulness", None)
    assert rows[0]["categories"] == ["yes", "partly", "no"]


def test_a_sheet_that_is_filled_in_is_a_file_of_ratings(report: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.jsonl"
    invoke("eval", "sheet", report, "--out", out, "--count", "5")
    filled = [{**row, "annotator": who, "rating": "yes"} for row in lines(out) for who in ("anna", "ben")]
    ratings = write_lines(tmp_path / "ratings.jsonl", filled)
    agreed = json.loads(invoke("eval", "annotators", ratings, "--resamples", "0", "--json").stdout)
    assert (agreed["items"], agreed["ratings"], agreed["criterion"]) == (5, 10, "faithfulness")


def test_a_larger_sheet_begins_with_the_rows_of_a_smaller_one(report: Path, tmp_path: Path) -> None:
    def drawn(*options: str) -> list[str]:
        out = tmp_path / "sheet.jsonl"
        assert invoke("eval", "sheet", report, "--out", out, *options).code == OK
        return [row["id"] for row in lines(out)]

    assert drawn("--count", "1000")[:5] == drawn("--count", "5")
    assert sorted(drawn("--count", "1000")) == sorted(f"r{place}" for place in range(SIZE))
    assert drawn("--count", "5") != drawn("--count", "5", "--seed", "1")


def test_a_report_that_cannot_be_read_gives_no_sheet(report: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.jsonl"
    (report / "statements.parquet").write_bytes(b"no parquet")
    ran = invoke("eval", "sheet", report, "--out", out)
    assert ran.code == BAD_INPUT
    assert "statements.parquet cannot be read; write the report again" in " ".join(ran.stderr.split())
    assert not out.exists()


def test_a_folder_that_is_no_report_is_refused(report: Path, tmp_path: Path) -> None:
    def refusal() -> str:
        ran = invoke("eval", "sheet", report, "--out", tmp_path / "out.jsonl")
        assert ran.code == BAD_INPUT
        return ran.stderr

    intact = (report / "report.json").read_text()
    for broken in ("{", "[]", '{"metrics": {"x": 1}}'):
        (report / "report.json").write_text(broken)
        assert "report.json" in refusal()
    (report / "report.json").write_text(intact)
    (report / "rows.parquet").write_bytes(b"no parquet")
    assert "not a Parquet file" in refusal()
    pl.DataFrame({"id": ["a"]}).write_parquet(report / "rows.parquet")
    assert "the column group should hold" in refusal()
