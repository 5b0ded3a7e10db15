import json
import logging
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

import qa_pipeline
from qa_pipeline.monitoring import observing
from qa_pipeline.monitoring.observing import Observer, is_sampled

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CODE = """
import sys, qa_pipeline
qa_pipeline.start_observing(sys.argv[1], 1.0)
for place in range(50):
    qa_pipeline.observe(f"r{place}", "How high?", "324 m", ["It is 324 m high."])
print(sorted({"polars", "torch", "pydantic", "dagster", "numpy"} & set(sys.modules)))
"""


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
    observer = Observer(tmp_path, share=1.0)
    late = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    passage = {"text": "The tower is 324 m high.", "document": "tower.md", "score": 0.9, "extra": 1}
    assert ask(
        observer, contexts=[passage, "bare"], citations=["tower.md"], seconds=1.5, model="m", time=late
    )
    observer.close()
    (row,) = lines(tmp_path)
    assert row == {
        "id": "r",
        "time": "2026-03-02T04:30:00+00:00",
        "query": "How high is the tower?",
        "answer": "324 m",
        "contexts": [
            {"text": "The tower is 324 m high.", "document": "tower.md", "rank": None, "score": 0.9},
            {"text": "bare", "document": None, "rank": None, "score": None},
        ],
        "citations": ["tower.md"],
        "seconds": 1.5,
        "error": None,
        "model": "m",
    }
    (file,) = (tmp_path / "2026-03-02").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_clock_that_goes_back_over_midnight_puts_each_request_into_its_own_day(tmp_path: Path) -> None:
    observer = Observer(tmp_path, share=1.0)
    for hours in (0, 12, 0, 36, 12):
        ask(observer, f"r{hours}", time=NOON + timedelta(hours=hours))
    observer.close()
    found = {file.parent.name: len(file.read_text().splitlines()) for file in tmp_path.rglob("*.jsonl")}
    assert found == {"2026-03-01": 2, "2026-03-02": 2, "2026-03-03": 1}


def test_what_is_changed_after_the_call_is_written_as_it_was(tmp_path: Path) -> None:
    observer, contexts = Observer(tmp_path, share=1.0), [{"text": "before"}]
    ask(observer, contexts=contexts)
    contexts[0]["text"] = "after"
    observer.close()
    assert lines(tmp_path)[0]["contexts"][0]["text"] == "before"


def test_texts_are_redacted_and_a_request_whose_redaction_fails_is_never_written(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        if "secret" in text:
            raise ValueError(text)
        return text.replace("Ann", "[name]")

    observer = Observer(tmp_path, share=1.0, redact=redact)
    ask(observer, "a", query="Who is Ann?", contexts=["Ann is here."], error="Ann failed")
    ask(observer, "b", contexts=["the secret"])
    observer.close()
    row, told = lines(tmp_path)
    assert (row["query"], row["contexts"][0]["text"], row["error"]) == (
        "Who is [name]?",
        "[name] is here.",
        "[name] failed",
    )
    assert told["dropped"] == {"unusable": 1}
    assert "secret" not in "".join(file.read_text() for file in tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    "changed",
    [
        {"contexts": None},
        {"contexts": [7]},
        {"time": "yesterday"},
        {"contexts": [{"text": "a", "score": object()}]},
    ],
)
def test_an_unusable_request_is_counted_and_never_raises(tmp_path: Path, changed: dict[str, Any]) -> None:
    observer = Observer(tmp_path, share=1.0)
    ask(observer, **changed)
    observer.close()
    assert observer.dropped == {"unusable": 1}
    assert [row["dropped"] for row in lines(tmp_path)] == [{"unusable": 1}]


def test_half_characters_and_numbers_of_other_libraries_leave_a_readable_line(tmp_path: Path) -> None:
    observer = Observer(tmp_path, share=1.0)
    ask(observer, answer="half \ud83d", contexts=[{"text": "a", "score": np.float32(0.5)}])
    observer.close()
    (row,) = lines(tmp_path)
    assert (row["answer"], row["contexts"][0]["score"]) == ("half ?", 0.5)


def test_a_request_longer_than_a_line_may_be_is_dropped(tmp_path: Path) -> None:
    observer = Observer(tmp_path, share=1.0)
    ask(observer, contexts=["x" * 1_000_001])
    observer.close()
    assert observer.dropped == {"too_long": 1}


def test_a_full_queue_drops_and_the_log_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "_MOST_WAITING", 0)
    observer = Observer(tmp_path, share=1.0)
    assert not any(ask(observer, f"r{place}") for place in range(3))
    observer.close()
    assert observer.dropped == {"queue_full": 3}
    assert [row["dropped"] for row in lines(tmp_path)] == [{"queue_full": 3}]


def test_a_folder_that_cannot_be_written_is_said_once_and_counted_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "logs"
    folder.write_text("a file is in the way")
    observer = Observer(folder, share=1.0)
    with caplog.at_level(logging.WARNING):
        for place in range(4):
            ask(observer, f"r{place}")
            observer.close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert observer.dropped == {"not_written": 4}
    folder.unlink()
    ask(observer, "at last")
    observer.close()
    row, told = lines(folder)
    assert (row["id"], told["dropped"]) == ("at last", {"not_written": 4})


@pytest.mark.slow
def test_all_that_was_taken_is_written_when_the_process_ends_and_nothing_heavy_is_imported(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert len(lines(tmp_path)) == 50


@pytest.mark.slow
def test_a_forked_process_writes_a_file_of_its_own(tmp_path: Path) -> None:
    code = (
        "import os, sys, qa_pipeline\n"
        "observer = qa_pipeline.start_observing(sys.argv[1], 1.0)\n"
        "qa_pipeline.observe('parent', 'q', 'a')\n"
        "observer.close()\n"
        "child = os.fork()\n"
        "qa_pipeline.observe('child' if child == 0 else 'parent again', 'q', 'a')\n"
        "observer.close()\n"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], check=True)
    by_file = sorted(file.read_text().count('"id"') for file in tmp_path.rglob("*.jsonl"))
    assert by_file == [1, 2]
    assert {row["id"] for row in lines(tmp_path)} == {"parent", "child", "parent again"}


def test_without_a_folder_nothing_is_kept_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(observing, "_default", None)
    observing._started.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert not any(qa_pipeline.observe("r", "q", "a") for _ in range(3))
    assert len(caplog.records) == 1
    assert "monitoring.logs" in caplog.text


def test_the_settings_name_folder_and_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "_default", None)
    monkeypatch.setenv("QA_PIPELINE_MONITORING__LOGS", str(tmp_path / "logs"))
    monkeypatch.setenv("QA_PIPELINE_MONITORING__SHARE", "0.5")
    observer = qa_pipeline.start_observing()
    assert (observer.folder, observer.share) == (tmp_path / "logs", 0.5)
    assert list(tmp_path.iterdir()) == []
