from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.comparison import ab_decision, compare_paired, compare_unpaired
from qa_pipeline.evaluation.report_folder import StoredReport
from qa_pipeline_tests.evaluation.stored_reports import continuous, report_of, stored

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), *[st.one_of(st.none(), st.floats(0, 1).map(lambda x: round(x, 2)))] * 2
    ),
    min_size=1,
    max_size=25,
)
Row = tuple[str, float | None, float | None]


def pair_of(rows: Sequence[Row], name: str = "faithfulness") -> tuple[StoredReport, StoredReport]:
    groups, *scores = zip(*rows, strict=True)
    about = {"id": [str(place) for place in range(len(rows))], "group": list(groups)}
    first, second = (
        report_of(pl.DataFrame({**about, name: pl.Series(list(one), dtype=pl.Float64)}), name)
        for one in scores
    )
    return first, second


@given(ROWS)
def test_two_runs_the_other_way_round_differ_by_as_much(rows: list[Row]) -> None:
    first, second = pair_of(rows)
    there, back = (
        compare_paired(*pair)["metrics"]["faithfulness"] for pair in ((first, second), (second, first))
    )
    if there["difference"] is None:
        assert there["rows"] == 0
    else:
        assert there["difference"] == pytest.approx(-back["difference"])
        assert there["p"] == (None if back["p"] is None else pytest.approx(back["p"]))
    if there["low"] is not None:
        assert (there["p"] < 0.05) == (there["low"] > 0 or there["high"] < 0)
        assert (there["low"], there["high"]) == pytest.approx((-back["high"], -back["low"]))
        assert there["low"] <= there["difference"] + 1e-9
    assert (there["lost"], there["found"]) == (back["found"], back["lost"])


@given(ROWS)
def test_of_a_run_and_itself_nothing_differs(rows: list[Row]) -> None:
    same, _ = pair_of(rows)
    one = compare_paired(same, same)["metrics"]["faithfulness"]
    assert one["better"] is None
    if one["rows"]:
        assert one["difference"] == 0
        assert (one["p"], one["low"]) == ((1, 0) if one["groups"] > 1 else (None, None))


def test_rows_of_one_document_that_change_together_are_not_taken_for_independent() -> None:
    rows = [(f"d{place // 10}", 1.0, 0.0 if place < 20 else 1.0) for place in range(60)]
    one = compare_paired(*pair_of(rows))["metrics"]["faithfulness"]
    assert one["p"] == pytest.approx(0.1747, abs=1e-4)
    assert one["low"] <= 0 <= one["high"]
    assert one["better"] is None


def test_a_metric_of_another_version_is_left_out_by_name(tmp_path: Path) -> None:
    scores = {"faithfulness": continuous(10), "token_f1": continuous(10), "gone": continuous(10)}
    before = stored(tmp_path / "a", scores)
    now = {"faithfulness": scores["faithfulness"], "token_f1": scores["token_f1"], "new": continuous(10)}
    after = stored(tmp_path / "b", now, versions={"token_f1": "2"})
    for found in (compare_paired(before, after), compare_unpaired(before, after)):
        assert list(found["metrics"]) == ["faithfulness"]
        assert found["excluded"] == {
            "token_f1": "version 1 in baseline, 2 in current",
            "new": "only in current",
            "gone": "only in baseline",
        }


def test_critical_metrics_are_a_family_of_their_own(tmp_path: Path) -> None:
    scores = {f"m{place}": continuous(40, seed=place) for place in range(6)}
    worse = {
        name: [max(0.0, score - 0.02 * (row % 3)) for row, score in enumerate(values)]
        for name, values in scores.items()
    }
    before, after = stored(tmp_path / "a", scores), stored(tmp_path / "b", worse)
    found = compare_paired(before, after, critical=("m0", "none"))["metrics"]
    assert found["m0"]["p_holm"] == found["m0"]["p"]
    assert all(one["p_holm"] > one["p"] for name, one in found.items() if name != "m0")


def test_runs_that_were_measured_by_other_means_say_so(tmp_path: Path) -> None:
    how = {"judge": None, "entailment": "a", "limit": 50}
    before = stored(tmp_path / "a", {"faithfulness": continuous(9)}, settings=how)
    now = stored(
        tmp_path / "b", {"faithfulness": continuous(9)}, settings={**how, "judge": "b", "limit": None}
    )
    for found in (compare_paired(before, now), compare_unpaired(before, now)):
        assert found["measured_otherwise"] == {"judge": "None in baseline, b in current"}


@pytest.mark.parametrize(
    ("p", "effect", "decision"),
    [
        (0.049, 0.101, "deploy"),
        (0.05, 0.5, "keep"),
        (0.001, 0.1, "keep"),
        (0.001, -0.5, "keep"),
        (None, 0.5, "keep"),
        (0.001, None, "keep"),
    ],
)
def test_what_is_tried_is_deployed_only_if_surely_and_enough_better(
    p: float | None, effect: float | None, decision: str
) -> None:
    assert ab_decision({"p": p, "cohens_d": effect})["decision"] == decision
