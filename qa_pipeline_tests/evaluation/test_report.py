import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.labelled_files import LEFT_OUT
from qa_pipeline.evaluation.report import by_badness, cautions
from qa_pipeline.evaluation.running import STATEMENTS
from qa_pipeline_tests.evaluation.reported import asked, framed, said, stored

MANY = [asked(number, faithfulness=number / 40, category="ab"[number % 2]) for number in range(40)]


def test_the_document_has_what_teams_store(tmp_path: Path) -> None:
    found = stored(tmp_path, MANY, [said(1)])
    assert (found["format"], found["dataset"], found["total_queries"]) == (1, "mine", 40)
    one = found["metrics"]["faithfulness"]
    figures = {"mean", "median", "std", "min", "max", "percentile_95", "low", "high", "histogram"}
    facts = {"known", "unknown", "version", "direction", "range", "decided_by", "missing"}
    assert figures | facts <= set(one)
    assert one["mean"] == pytest.approx(39 / 80)
    assert one["decided_by"] == {"similarity": 1}
    assert set(found["per_category"]) == {"a", "b"}
    assert found["statements"] == {"unsupported": 1}
    assert json.loads((tmp_path / "report.json").read_text()) == found


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, None]), st.integers(0, 3)), max_size=12))
def test_the_worst_rows_are_never_better_than_the_next(drawn: list[tuple[float | None, int]]) -> None:
    rows = pl.DataFrame(
        {"id": [str(place) for place in range(len(drawn))], "m": [score for score, _ in drawn]},
        schema={"id": pl.String(), "m": pl.Float64()},
    )
    bad = [
        {"id": str(place), "verdict": "unsupported"}
        for place, (_, count) in enumerate(drawn)
        for _ in range(count)
    ]
    for direction, sign in (("higher", 1), ("lower", -1)):
        found = by_badness(rows, framed(bad, STATEMENTS), "m", direction)
        order = [(sign * one["m"], -one["against"], one["index"]) for one in found.iter_rows(named=True)]
        assert order == sorted(order)
        assert len(order) == sum(score is not None for score, _ in drawn)


def test_an_evaluation_in_which_no_model_decided_says_so_first(tmp_path: Path) -> None:
    few = [asked(), asked(1)]
    by_rules = said(1, decided_by="quotation")
    rules, likeness, model = (
        cautions(stored(tmp_path / str(place), few, [by_rules, other]))[0]
        for place, other in enumerate((by_rules, said(0), said(0, decided_by="llm")))
    )
    assert rules.startswith("No model decided")
    assert "faithfulness" not in rules
    assert "Not decided: faithfulness" in likeness
    assert not model.startswith("No model decided")
    head = (tmp_path / "1" / "report.md").read_text().partition("| metric")[0]
    assert "No model decided" in head


def test_rows_left_out_and_unknown_ones_are_counted(tmp_path: Path) -> None:
    fault = {"file": "a.jsonl", "reason": "broken_line", "rows": 2, "first_row": 1, "detail": "not JSON"}
    rows = [*MANY[:15], *(asked(100 + place, faithfulness=None) for place in range(16))]
    found = stored(tmp_path, rows, left_out=pl.DataFrame([fault], schema=LEFT_OUT))
    assert found["left_out"] == [fault]
    left_out, unknown = cautions(found)
    assert "2 rows" in left_out
    assert "faithfulness (15)" in unknown
