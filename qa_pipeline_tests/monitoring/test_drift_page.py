import base64
import re
from html.parser import HTMLParser

import polars as pl
import pytest

from qa_pipeline.monitoring.alerts import findings
from qa_pipeline.monitoring.drift_page import drift_page
from qa_pipeline.monitoring.logs import FAULTS
from qa_pipeline.settings.monitoring import MonitoringSettings
from qa_pipeline_tests.monitoring.scored import drawn, scored_rows

SETTINGS = MonitoringSettings.model_validate({"drift": {"reference_days": 10}})
HOSTILE = "<script>alert(1)</script>\"'&$x_1$"
FAULT = {
    "file": HOSTILE,
    "reason": "broken_line",
    "rows": 3,
    "first_row": 7,
    "detail": HOSTILE,
    "kept": False,
}


def page(rows: pl.DataFrame, faults: pl.DataFrame | None = None, dropped: int = 0) -> str:
    return drift_page(rows, findings(rows, SETTINGS), SETTINGS, "Answers", faults, dropped)


def fallen(metric: str = "faithfulness") -> pl.DataFrame:
    return scored_rows([*drawn(14, 60, 0.95, seed=1), *drawn(6, 60, 0.5, seed=2)], metric)


def text_of(html: str) -> str:
    parts: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            parts.append(data)

    Reader().feed(html)
    return " ".join(" ".join(parts).split())


def test_alerts_and_drift_are_told_in_words_and_each_metric_has_a_picture() -> None:
    html = page(fallen())
    text = text_of(html)
    assert "2026-01-01 to 2026-01-20: 20 days with 1,200 rows, 7 alerts" in text
    assert "faithfulness on 2026-01-15: drift: mean 0.9" in text
    assert "faithfulness on 2026-01-20 is 0." in text
    assert html.count("<figure>") == 2
    for drawn_svg in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", html):
        assert base64.b64decode(drawn_svg).startswith(b"<?xml")


def test_equal_scores_give_equal_bytes() -> None:
    assert page(fallen()) == page(fallen())


def test_names_of_metrics_and_files_are_escaped() -> None:
    html = page(fallen(HOSTILE), pl.DataFrame([FAULT], schema=FAULTS))
    assert "<script" not in html
    assert text_of(html).count("<script>alert(1)</script>\"'&$x_1$") > 3


def test_the_page_asks_nobody_and_runs_nothing() -> None:
    html = page(fallen())
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in html
    outside = re.sub(r"base64,[A-Za-z0-9+/=]+", "", html)
    assert re.findall(r"https?://|<script|@import|url\(", outside) == []


def test_what_logs_left_out_is_counted_by_reason() -> None:
    text = text_of(page(fallen(), pl.DataFrame([FAULT, FAULT], schema=FAULTS), dropped=5))
    assert "broken_line 6 left out" in text
    assert "5 requests were dropped by services" in text
    assert "What the logs left out" not in page(fallen())


@pytest.mark.parametrize("days", [[[0.5]], [[None]], [[0.5] * 3, [], [None, 1.0]], [[]]])
def test_few_rows_unknown_scores_and_empty_days_have_a_page(days: list[list[float | None]]) -> None:
    text = text_of(page(scored_rows(days)))
    assert "0 alerts" in text or "No day has a row" in text
    assert "None." in text


def test_scores_beyond_0_and_1_have_a_line_without_an_interval() -> None:
    rows = scored_rows([[2.0, 3.5] * 20], metric="bits")
    assert re.search(r"bits 2\.750 – 40 – – reference", text_of(page(rows)))
