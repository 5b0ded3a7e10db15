import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from qa_pipeline_tests.benchmarks.quality.detection_plots import draw_plots, reliability, risk_coverage

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=40)


@given(ROWS)
def test_each_point_of_a_curve_is_what_its_threshold_accepts(rows: list[tuple[float, bool]]) -> None:
    scores, supported = np.array([one for one, _ in rows]), np.array([one for _, one in rows])
    coverage, risk = risk_coverage(scores, supported)
    thresholds = sorted(set(scores.tolist()), reverse=True)
    for place, threshold in enumerate(thresholds):
        accepted = scores >= threshold
        assert coverage[place] == pytest.approx(accepted.mean())
        assert risk[place] == pytest.approx((~supported[accepted]).mean())
    assert len(coverage) == len(thresholds)


@given(ROWS)
def test_bins_of_reliability_hold_every_item_once(rows: list[tuple[float, bool]]) -> None:
    scores, supported = np.array([one for one, _ in rows]), np.array([one for _, one in rows])
    means, shares, sizes = reliability(scores, supported)
    assert sizes.sum() == pytest.approx(1)
    assert (means * sizes).sum() == pytest.approx(scores.mean())
    assert (shares * sizes).sum() == pytest.approx(supported.mean())
    assert all(low < high for low, high in itertools.pairwise(means))


def scored(sets: list[str]) -> pl.DataFrame:
    drawn = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "dataset": [name for name in sets for _ in range(20)],
            "label": [number % 2 for _ in sets for number in range(20)],
            "score_entailment": drawn.random(20 * len(sets)),
            "score_spans": pl.Series([None] * 20 * len(sets), dtype=pl.Float64()),
        }
    )


def test_the_same_scores_give_the_same_pictures_and_unknown_ones_none(tmp_path: Path) -> None:
    names = ["entailment", "spans"]
    first, second = (
        draw_plots(scored(["a", "b"]), "dataset", names, names, tmp_path / place, 0.98) for place in "xy"
    )
    assert [path.name for path in first] == ["risk_coverage_entailment.png", "reliability_entailment.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with Image.open(first[0]) as picture:
        assert min(picture.size) > 500


def test_names_of_sets_are_letters_and_no_markup_or_place(tmp_path: Path) -> None:
    hostile = ["$\\frac{1}{", "_hidden", "../../up", "a\x1b[2Jb", "x" * 500, *(f"set {n}" for n in range(40))]
    written = draw_plots(scored(hostile), "dataset", ["entailment"], ["entailment"], tmp_path, 0.98)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
