import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import Labelled
from qa_pipeline.monitoring.days import LOGGED, Logs
from qa_pipeline.monitoring.observing import Observer
from qa_pipeline.storage.row_files import Limits

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = NOON.date()
GOOD = {"id": "good", "time": NOON.isoformat(), "query": "q", "answer": "a", "contexts": ["c"]}


def log(folder: Path, *lines: Any, day: date = DAY, **more: Any) -> Labelled:
    """A file of lines of a day, objects among them written as JSON, and what is read of it."""
    (folder / day.isoformat()).mkdir(exist_ok=True, parents=True)
    texts = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    (folder / day.isoformat() / "a.jsonl").write_bytes(b"\n".join(texts))
    return Logs(folder, **more).read(day)


def reasons(found: Labelled) -> dict[str, int]:
    return dict(found.left_out.select("reason", "rows").iter_rows())


def read_day(folder: Path) -> Labelled:
    return Logs(folder).read(DAY)


def test_what_observe_writes_is_read_back(tmp_path: Path) -> None:
    observer = Observer(tmp_path, share=1.0)
    passage = {"text": "It is 324 m high.", "document": "tower.md", "score": 0.5}
    observer.observe("r1", "How high?", "324 m", [passage], ["tower.md"], seconds=1.5, model="m", time=NOON)
    observer.observe("r2", "How deep?", None, error="timeout", time=NOON)
    observer.observe("r3", "How wide?", "9 m", ["bare"], seconds=float("nan"), time=NOON)
    found = read_day(tmp_path)
    assert (found.items.schema, found.left_out.height) == (LOGGED, 0)
    first, failed, last = found.items.to_dicts()
    assert (first["id"], first["query"], first["answer"], first["seconds"]) == (
        "r1",
        "How high?",
        "324 m",
        1.5,
    )
    assert (first["model"], first["time"], first["error"]) == ("m", NOON, None)
    assert {name: first["contexts"][0][name] for name in (*passage, "rank")} == {**passage, "rank": 1}
    assert [one["raw"] for one in first["citations"]] == ["tower.md"]
    assert (failed["id"], failed["error"], failed["query"]) == ("r2", "timeout", None)
    assert (last["contexts"][0]["text"], last["seconds"]) == ("bare", None)


def test_broken_lines_are_counted_with_a_reason_and_the_others_are_used(tmp_path: Path) -> None:
    found = log(
        tmp_path,
        b"{not JSON",
        b"[1, 2]",
        b"",
        b"\xff\xfe",
        b'{"id": "long", "query": "' + b"x" * 5000 + b'"}',
        GOOD,
        {**GOOD, "answer": "another"},
        limits=Limits(max_line_bytes=2000),
    )
    assert found.items["id"].to_list() == ["good"]
    assert reasons(found) == {"broken_line": 3, "line_too_long": 1, "duplicate_id": 1}
    first = found.left_out.row(by_predicate=pl.col("reason") == "duplicate_id", named=True)
    assert (first["file"], first["first_row"]) == ("a.jsonl", 7)


@pytest.mark.parametrize(
    "time",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01 12:00:00",
        NOON.timestamp(),
        NOON.timestamp() * 1e3,
    ],
)
def test_times_of_other_services_are_read_in_their_forms(tmp_path: Path, time: Any) -> None:
    assert log(tmp_path, {**GOOD, "time": time}).items["time"].to_list() == [NOON]


def test_rows_without_an_id_are_known_by_their_content(tmp_path: Path) -> None:
    line = {"query": "q", "answer": "a"}
    found = log(tmp_path, line, line, {**line, "answer": "b"})
    assert found.items.height == 2
    assert reasons(found) == {"duplicate_id": 1}


def test_a_day_without_files_is_empty_and_a_folder_that_is_none_an_error(tmp_path: Path) -> None:
    found = read_day(tmp_path)
    assert (found.items.schema, found.items.height, found.left_out.height) == (LOGGED, 0, 0)
    with pytest.raises(InputError, match=str(tmp_path)):
        Logs(tmp_path).days()
    with pytest.raises(InputError, match="gone"):
        read_day(tmp_path / "gone")
