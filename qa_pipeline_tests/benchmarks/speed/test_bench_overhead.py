import os

import pytest

from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.speed import bench_overhead
from qa_pipeline_tests.benchmarks.speed.bench_overhead import DRAFTING, VERIFICATION, overhead


def test_the_overhead_is_verification_divided_by_drafting() -> None:
    stages = {
        name: {"seconds": seconds}
        for name, seconds in zip((*DRAFTING, *VERIFICATION), (3, 1, 4, 1, 1), strict=True)
    }
    figures = overhead(stages)
    assert (figures["drafting_seconds"], figures["verification_seconds"], figures["overhead"]) == (4, 6, 1.5)
    assert overhead({**stages, **{key: {"seconds": 0.0} for key in DRAFTING}})["overhead"] is None


def test_runs_are_offline_and_at_each_latency(monkeypatch: pytest.MonkeyPatch, run_main: RunMain) -> None:
    seen = []

    def measured(way: str, corpus: object, out: object) -> dict[str, object]:
        del way, corpus, out
        seen.append(os.environ.get("QA_PIPELINE_LLM__PROVIDER"))
        return {"stages": {key: {"seconds": 1.0} for key in (*DRAFTING, *VERIFICATION)}}

    monkeypatch.setattr(bench_overhead, "measured", measured)
    figures = run_main(bench_overhead.main, "--corpus", "nowhere", "--latency", 0.5)
    assert [run["latency"] for run in figures["runs"]] == [None, 0.5]
    assert seen == [None, "gemini"]
