from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.rendering import HTML

CHARTS: Any = HTML.get_template("evaluation/reports/charts.html.j2").module


@given(st.lists(st.integers(0, 1000), min_size=10, max_size=10))
def test_a_histogram_has_a_bar_for_each_bin_as_tall_as_its_count(counts: list[int]) -> None:
    picture = ElementTree.fromstring(
        CHARTS.bars({"edges": [place / 10 for place in range(11)], "counts": counts})
    )
    heights = [float(bar.attrib["height"]) for bar in picture.iter("rect")]
    most = max(1, *counts)
    assert heights == pytest.approx([84 * count / most for count in counts], abs=0.06)
    said = [text.text for text in picture.iter("text")]
    assert said == [*(f"{count:,}" for count in counts if count), "0", "0.5", "1"]


FIVE = st.lists(st.floats(-2, 3), min_size=5, max_size=5).map(sorted)


@given(FIVE)
def test_a_strip_keeps_its_order_and_stays_within_its_axis(values: list[float]) -> None:
    _, low, mean, high, _ = values
    metric = {"mean": mean, "low": low, "high": high, "histogram": {"edges": [0.0, 1.0]}}
    picture = ElementTree.fromstring(CHARTS.strip(metric, values))
    places = [float(one.attrib[name]) for one in picture.iter("line") for name in ("x1", "x2")]
    places.append(float(next(picture.iter("circle")).attrib["cx"]))
    assert all(4 <= place <= 216 for place in places)
    _, _, least, most, median, _, mean = places
    assert least <= median == mean <= most
