"""What looks at the results of kills would see a loss."""

import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline_tests.benchmarks.robustness.kill_runs import contents
from qa_pipeline_tests.system.kills import Kill, Outcome, Reader, drafts

WHOLE = Outcome(seed=1, kills=[Kill("run", 3, runs=2, in_flight=3, seconds_away=0)], asked=28, needed=24)


@pytest.mark.parametrize("name", ["half.parquet", "half.jsonl", "half.json"])
def test_a_reader_sees_half_a_file_and_takes_no_draft_for_one(tmp_path: Path, name: str) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "whole.jsonl").write_text('{"a": 1}\n')
    (tmp_path / ".half.tmp").mkdir()
    (tmp_path / ".half.tmp" / "half.json").write_text("{")
    with Reader(tmp_path) as reader:
        while reader.reads < 2:
            time.sleep(0.01)
        assert reader.torn == []
        (tmp_path / name).write_text('{"a": 1}\n{"a"')
        while not reader.torn:
            time.sleep(0.01)
    assert name in reader.torn[0]
    assert drafts(tmp_path) == [".half.tmp"]


def test_each_kill_may_repeat_the_requests_of_its_runs_and_no_more() -> None:
    assert WHOLE.problems == {}
    assert replace(WHOLE, asked=29).problems == {"asked too often": 1}
    assert replace(WHOLE, paid_twice=1, different=["x"]).problems == {"paid twice": 1, "different": ["x"]}


def test_caches_locks_and_the_account_of_calls_are_not_compared(tmp_path: Path) -> None:
    for name in ("tables/pairs/b.parquet", "tables/llm_calls/b.parquet", "cache/x", "releases/.lock/y"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"1")
    assert contents(tmp_path) == {"tables/pairs/b.parquet": b"1"}
