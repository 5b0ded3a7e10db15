import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.monitoring.observing import Observer, is_sampled

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def ask(observer: Observer, request_id: str = "r", **changed: Any) -> bool:
    asked: Mapping[str, Any] = {
        "query": "How high is the tower?",
        "answer": "324 m",
        "contexts": ["The tower is 324 m high."],
        "time": NOON,
    }
    return observer.observe(request_id, **{**asked, **changed})


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_share_keeps_a_part_of_what_a_larger_one_keeps(
    request_id: str, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert is_sampled(request_id, small) <= is_sampled(request_id, large)
    assert not is_sampled(request_id, 0.0)
    assert is_sampled(request_id, 1.0)


def test_about_five_of_a_hundred_requests_are_kept_and_the_same_in_every_process() -> None:
    kept = [place for place in range(20_000) if is_sampled(f"request {place}", 0.05)]
    assert 900 < len(kept) < 1_100
    assert kept[:3] == [9, 20, 28]


def test_a_request_is_written_as_it_was_given_in_the_folder_of_its_utc_day(tmp_path: Path) -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    passage = {"text": "The tower is 324 m high.", "score": np.float32(0.5), "extra": 1}
    observer = Observer(tmp_path, share=1.0)
    assert ask(observer, answer="half \ud83d", contexts=[passage, "bare"], seconds=1.5, model="m", time=late)
    (row,) = lines(tmp_path)
    assert row == {
        "id": "r",
        "time": "2026-03-02T04:30:00+00:00",
        "query": "How high is the tower?",
        "answer": "half ?",
        "contexts": [
            {"text": "The tower is 324 m high.", "document": None, "rank": None, "score": 0.5},
            {"text": "bare", "document": None, "rank": None, "score": None},
        ],
        "citations": [],
        "seconds": 1.5,
        "error": None,
        "model": "m",
    }
    (file,) = (tmp_path / "2026-03-02").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_texts_are_redacted_and_a_request_whose_redaction_fails_is_never_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(text: str) -> str:
        if "secret" in text:
            raise ValueError(text)
        return text.replace("Ann", "[name]")

    observer = Observer(tmp_path, share=1.0, redact=redact)
    assert ask(observer, "a", query="Who is Ann?", contexts=["Ann is here."], error="Ann failed")
    assert not ask(observer, "b", contexts=["the secret"])
    (row,) = lines(tmp_path)
    assert (row["query"], row["contexts"][0]["text"], row["error"]) == (
        "Who is [name]?",
        "[name] is here.",
        "[name] failed",
    )
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "changed",
    [
        {"contexts": None},
        {"contexts": [7]},
        {"contexts": ["x" * 1_000_001]},
        {"time": "yesterday"},
        {"contexts": [{"text": "a", "score": object()}]},
    ],
)
def test_an_unusable_request_is_told_and_never_raises(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, Any]
) -> None:
    with caplog.at_level(logging.WARNING):
        assert not ask(Observer(tmp_path, share=1.0), **changed)
    assert (lines(tmp_path), len(caplog.records)) == ([], 1)


def test_a_folder_that_cannot_be_written_never_raises(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "logs"
    folder.write_text("a file is in the way")
    with caplog.at_level(logging.WARNING):
        assert not ask(Observer(folder, share=1.0))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_process_writes_a_file_of_its_own_and_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys, qa_pipeline\n"
        "qa_pipeline.Observer(sys.argv[1], 1.0).observe('r', 'How high?', '324 m', ['It is 324 m high.'])\n"
        "print(sorted({'polars', 'torch', 'pydantic', 'dagster', 'numpy'} & set(sys.modules)))\n"
    )
    ask(Observer(tmp_path, share=1.0), time=None)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    names = [file.name for file in tmp_path.rglob("*.jsonl")]
    assert len(names) == 2
    assert sum(name.startswith(f"{os.getpid()}-") for name in names) == 1
