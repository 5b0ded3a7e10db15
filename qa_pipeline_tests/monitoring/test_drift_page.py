import base64
import hashlib
import re
from html.parser import HTMLParser

import polars as pl
import pytest

from qa_pipeline.monitoring.alerts import findings
from qa_pipeline.monitoring.drift_page import drift_page
from qa_pipeline.settings.monitoring import MonitoringSettings
from qa_pipeline_tests.monitoring.scored import drawn, scored_rows

SETTINGS = MonitoringSettings.model_validate({"drift": {"reference_days": 10}})
HOSTILE = "<script>alert(1)</script>\"'&$x_1$"


def page(rows: pl.DataFrame) -> str:
    return drift_page(rows, findings(rows, SETTINGS), SETTINGS)


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
    assert html.startswith("<!DOCTYPE html>")
    assert "2026-01-01 to 2026-01-20: 20 days with 1,200 rows, 7 alerts" in text
    assert "faithfulness on 2026-01-15: drift: mean 0.9" in text
    assert "faithfulness on 2026-01-20 is 0." in text
    assert html.count("<svg") == 2
    assert html.count('class="alerting"') == 6
    assert html.count('class="drifting"') == html.count('class="limit"') / 2 == 1


def test_equal_scores_give_equal_bytes() -> None:
    assert page(fallen()) == page(fallen())


def test_names_of_metrics_are_escaped() -> None:
    html = page(fallen(HOSTILE))
    assert html.count("<script") == 0
    assert text_of(html).count(HOSTILE.replace("_", " ")) > 2


def test_the_page_asks_nobody_and_runs_nothing() -> None:
    html = page(fallen())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.replace("&#39;", "'").startswith(f"default-src 'none'; style-src 'sha256-{allowed}'")
    assert re.findall(r"https?://|<script|@import|url\(| style=", html) == []


@pytest.mark.parametrize("days", [[[0.5]], [[None]], [[0.5] * 3, [], [None, 1.0]], [[]]])
def test_few_rows_unknown_scores_and_empty_days_have_a_page(days: list[list[float | None]]) -> None:
    text = text_of(page(scored_rows(days)))
    assert "0 alerts" in text or "No day has a row" in text
    assert "None." in text


def test_scores_beyond_0_and_1_have_a_line_without_an_interval() -> None:
    rows = scored_rows([[2.0, 3.5] * 20], metric="bits")
    assert re.search(r"bits 2\.750 40 – – reference", text_of(page(rows)))
