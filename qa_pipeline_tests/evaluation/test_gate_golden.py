import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.gate import REFUSAL, Bounds, GoldenSet, golden_outcomes, read_golden
from qa_pipeline.evaluation.report_folder import MetricFacts, StoredReport

DIRECTIONS = {"faithfulness": "higher", "fabricated_citations": "lower", REFUSAL: "higher"}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "query": "How long?", "criteria": {"faithfulness": 0.95, "fabricated_citations": 0}},
    {"id": "b", "query": "Who?", "must_refuse": True},
]


def write(path: Path, rows: list[dict[str, Any]], **all_rows: Any) -> Path:
    path.write_text("".join(json.dumps({**row, **all_rows}) + "\n" for row in rows), encoding="utf-8")
    return path


def criteria(*rows: tuple[str, str, float]) -> dict[str, Bounds]:
    found: dict[str, dict[str, float]] = {}
    for name, metric, bound in rows:
        found.setdefault(name, {})[metric] = bound
    return {**found}


def outcomes(
    rows: pl.DataFrame, wanted: dict[str, Bounds], directions: Mapping[str, str] = DIRECTIONS
) -> pl.DataFrame:
    metrics = {
        name: MetricFacts.model_validate({"version": 1, "direction": better, "range": (0, 1)})
        for name, better in directions.items()
        if name in rows.columns
    }
    report = StoredReport(Path("report"), "d", "0" * 64, metrics, rows)
    return golden_outcomes(report, GoldenSet("golden", "1", "c" * 64, wanted))


def scores(**columns: list[Any]) -> pl.DataFrame:
    floats = {name: pl.Float64() for name in columns if name != "id"}
    return pl.DataFrame(columns, schema_overrides=floats)


def test_a_set_has_its_name_version_hash_and_criteria(tmp_path: Path) -> None:
    path = write(tmp_path / "set.jsonl", ROWS, dataset="boilers", version="2.1")
    golden = read_golden(path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert golden.document() == {"name": "boilers", "version": "2.1", "sha256": sha256, "rows": 2}
    assert golden.criteria == {
        "a": {"fabricated_citations": 0.0, "faithfulness": 0.95},
        "b": {REFUSAL: 1.0},
    }


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"id": "a"}], "row 1: criteria"),
        ([*ROWS, {"id": "a", "must_refuse": True}], "row 3: id 'a'"),
        ([{"id": "a", "criteria": {"faithfulness": "high"}}], "criteria"),
        ([{"id": "a", "criteria": {"faithfulness": float("nan")}}], "faithfulness"),
        ([{"id": "a", "must_refuse": "yes"}], "must_refuse"),
        ([{**ROWS[0], "version": "1"}, {**ROWS[1], "version": "2"}], "'1' and '2'"),
        ([{"id": "a", "criteria": {f"m{n}": 1 for n in range(101)}}], "criteria"),
    ],
)
def test_a_set_with_a_row_that_cannot_be_used_is_refused_as_a_whole(
    tmp_path: Path, rows: list[dict[str, Any]], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read_golden(write(tmp_path / "set.jsonl", rows))


def test_an_empty_set_and_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="set"):
        read_golden(write(tmp_path / "set.jsonl", []))
    with pytest.raises(InputError, match="none"):
        read_golden(tmp_path / "none.jsonl")


def test_what_was_not_measured_fails_and_says_so() -> None:
    rows = scores(id=["a", "b"], faithfulness=[None, 1])
    wanted = criteria(
        ("a", "faithfulness", 0.5), ("b", "grounding", 0.5), ("c", "faithfulness", 0.5), ("c", "grounding", 1)
    )
    found = outcomes(rows, wanted)
    assert found.rows() == [
        ("a", False, False, ["faithfulness not measured"]),
        ("b", False, False, ["grounding not measured"]),
        ("c", False, False, ["not in the run"]),
    ]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20),
    st.sampled_from(["higher", "lower"]),
)
def test_a_row_passes_just_if_its_score_reaches_its_bound(
    rows: list[tuple[float, float]], better: str
) -> None:
    ids = [f"r{place}" for place in range(len(rows))]
    wanted = criteria(*((name, "m", bound) for name, (_, bound) in zip(ids, rows, strict=True)))
    found = outcomes(scores(id=ids, m=[score for score, _ in rows]), wanted, {"m": better})
    assert found["id"].to_list() == ids
    assert found["passed"].to_list() == [
        score >= bound if better == "higher" else score <= bound for score, bound in rows
    ]


def test_a_ground_truth_without_criteria_says_whether_to_refuse(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "query": "How heavy?", "ground_truth": {"answer": "43 kg", "relevant_docs": ["g.md"]}},
        {"id": "b", "query": "How much?", "ground_truth": {"answer": "UNANSWERABLE"}},
        {"id": "c", "query": "Who?", "reference": "Ann", "criteria": {"faithfulness": 0.9}},
    ]
    golden = read_golden(write(tmp_path / "set.jsonl", rows))
    assert golden.criteria == {"a": {REFUSAL: 1.0}, "b": {REFUSAL: 1.0}, "c": {"faithfulness": 0.9}}
