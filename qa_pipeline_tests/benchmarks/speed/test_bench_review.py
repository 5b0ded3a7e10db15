import pytest

from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.speed import bench_review


def test_it_measures_pages_of_pairs_and_decisions(run_main: RunMain) -> None:
    figures = run_main(bench_review.main, "--batches", 2, "--pairs", 40, "--requests", 12, "--walk", 5)
    assert figures["pairs"] == 80
    for name in ("queue", "next_waiting", "next_of_all", "decide_and_next"):
        assert 0 < figures[name]["p50_ms"] <= figures[name]["p95_ms"]
    assert len(figures["memory_mb"]) == 2


@pytest.mark.slow
def test_it_measures_pages_of_long_documents(run_main: RunMain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_review, "LONG_TEXT", 2_000_000)
    figures = run_main(bench_review.main, "--batches", 0, "--pages", 3, "--requests", 20)
    for name in ("first_page_of_pdf", "page_of_pdf", "picture_of_page", "text_at_evidence", "search_in_text"):
        assert 0 < figures[name]["p50_ms"] <= figures[name]["p95_ms"]
