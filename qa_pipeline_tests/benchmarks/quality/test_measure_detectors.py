from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from qa_pipeline.models import encoder as embedding_model
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.quality.measure_detectors import FIGURES, Options, main, measure_detectors
from qa_pipeline_tests.benchmarks.quality.scorers import NAMES, SCORERS
from qa_pipeline_tests.evaluation.labelled_files import item, items, write_lines
from qa_pipeline_tests.fakes import HashEmbedder

SETTINGS = VerificationSettings()


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "load_embedder", lambda *_: HashEmbedder())


def scored(count: int = 40, **columns: Any) -> pl.DataFrame:
    """Items with a good entailment score, a cosine that says nothing, and whatever else is given."""
    drawn = np.random.default_rng(1)
    supported = np.arange(count) % 3 > 0
    frame = pl.DataFrame(
        {
            "dataset": ["even" if number % 2 == 0 else "odd" for number in range(count)],
            "task": ["t"] * count,
            "language": ["en"] * count,
            "label": supported.astype(np.int8),
            "group_id": [str(number // 4) for number in range(count)],
            "spans": pl.Series(
                [[]] * count, dtype=pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))
            ),
            "characters": [20] * count,
            "claims": [1] * count,
            "seconds": [0.5] * count,
            "score_entailment": np.clip(supported * 0.6 + drawn.random(count) * 0.5, 0, 1),
            "spans_entailment": pl.Series(
                [[]] * count, dtype=pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))
            ),
            **{f"score_{name}": drawn.random(count) for name in NAMES},
        }
    )
    return frame.with_columns(**columns)


def figures(frame: pl.DataFrame, **options: Any) -> Any:
    return measure_detectors(frame, [SCORERS["entailment"]], SETTINGS, Options(resamples=100, **options))


def test_the_mean_counts_each_set_alike_and_leaves_out_what_it_is_reported_to() -> None:
    found = figures(scored())
    of_sets = [one["scorers"][0]["auroc"]["value"] for one in found["sets"]]
    assert found["mean"]["scorers"][0]["auroc"]["value"] == pytest.approx(np.mean(of_sets))
    assert found["mean"]["scorers"][0]["sets"]["auroc"] == 2
    alone = figures(scored(), without=("odd",))
    assert alone["mean"]["over"] == ["even"]
    assert alone["mean"]["scorers"][0]["auroc"]["value"] == of_sets[0]
    assert len(alone["sets"]) == 2


def test_a_good_scorer_is_ahead_of_every_baseline_and_one_of_them_is_the_best() -> None:
    for one in figures(scored(400))["mean"]["scorers"][0]["ahead_of_baselines"]:
        assert one["low"] is not None
        assert one["low"] > 0
    best = [
        one["baseline"]
        for one in figures(scored())["mean"]["scorers"][0]["ahead_of_baselines"]
        if one["best"]
    ]
    assert len(best) == 2


def test_a_scorer_equal_to_a_baseline_is_ahead_by_nothing_at_all() -> None:
    found = figures(scored(score_entailment=pl.col("score_cosine")))
    same = [
        one
        for one in found["mean"]["scorers"][0]["ahead_of_baselines"]
        if (one["baseline"], one["figure"]) == ("cosine", "auroc")
    ]
    assert (same[0]["value"], same[0]["low"], same[0]["high"]) == (0.0, 0.0, 0.0)


def test_differences_leave_out_items_that_one_side_does_not_know() -> None:
    known = pl.when(pl.int_range(pl.len()) % 5 > 0).then(pl.col("score_cosine"))
    found = figures(scored(score_entailment=known))
    same = [
        one
        for one in found["mean"]["scorers"][0]["ahead_of_baselines"]
        if (one["baseline"], one["figure"]) == ("cosine", "auroc")
    ]
    assert (same[0]["low"], same[0]["high"]) == (0.0, 0.0)
    assert found["mean"]["scorers"][0]["unknown"] == 8


def test_scores_that_are_all_unknown_give_no_figure_and_are_counted() -> None:
    found = figures(scored(score_entailment=pl.lit(None, pl.Float64())))
    entailment = found["mean"]["scorers"][0]
    assert entailment["unknown"] == 40
    assert all(entailment[name] is None for name in FIGURES)
    assert all(one["value"] is None for one in entailment["ahead_of_baselines"])


def test_a_set_of_one_label_has_no_auroc_and_is_left_out_of_its_mean() -> None:
    label = pl.when(pl.col("dataset") == "odd").then(1).otherwise(pl.col("label"))
    found = figures(scored(label=label))
    assert found["sets"][1]["scorers"][0]["auroc"] is None
    assert found["mean"]["scorers"][0]["sets"]["auroc"] == 1
    assert found["mean"]["scorers"][0]["auroc"]["value"] == found["sets"][0]["scorers"][0]["auroc"]["value"]


def test_items_are_parted_by_what_is_asked_for() -> None:
    assert [one["key"] for one in figures(scored(), by="task")["sets"]] == ["t"]
    assert [one["key"] for one in figures(scored(task=pl.lit(None, pl.String())), by="task")["sets"]] == [
        "(none)"
    ]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "pumps.jsonl", [*items(12), item(12, label=7)])


def test_items_are_scored_by_the_code_that_scores_batches(
    bench: Path, tmp_path: Path, run_main: RunMain
) -> None:
    figures = run_main(main, bench, "--out", tmp_path / "out", "--resamples", "50")
    assert figures["left_out"][0] | {"detail": ""} == {
        "file": "pumps.jsonl", "reason": "bad_label", "rows": 1, "first_row": 13, "detail": "",
    }  # fmt: skip
    (pumps,) = figures["sets"]
    assert (pumps["items"], pumps["claims"], pumps["groups"]) == (12, 12, 6)
    by_name = {scorer["name"]: scorer for scorer in pumps["scorers"]}
    assert set(by_name) == {*SCORERS, *NAMES} - {"llm"}
    assert by_name["cascade"]["precision"]["value"] == 1.0
    assert by_name["spans"]["unknown"] == 12
    assert by_name["spans"]["auroc"] is None
    assert by_name["overlap"]["auroc"]["value"] > 0.9


def test_the_same_items_give_the_same_figures_and_pictures(
    bench: Path, tmp_path: Path, run_main: RunMain
) -> None:
    options = ("--out", tmp_path / "out", "--resamples", "50", "--limit", "8", "--scorer", "cascade")
    runs = [run_main(main, bench, *options, "--plots", tmp_path / name) for name in "ab"]
    for run in runs:
        run["sets"][0].pop("claims_per_second")
    assert runs[0] == runs[1]
    pictures = [(tmp_path / name / "risk_coverage_cascade.png").read_bytes() for name in "ab"]
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scorer", "bleu"), "no such scorer"),
        (("--scorer", "llm"), "llm.verifier.provider"),
        (("--scorer", "entailment"), r"set verification\.entailment\.model"),
        (("--without", "valves"), "there are pumps"),
    ],
)
def test_options_that_cannot_be_used_end_with_a_message(
    bench: Path, tmp_path: Path, run_main: RunMain, options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit, match=message):
        run_main(main, bench, "--out", tmp_path / "out", *options)
