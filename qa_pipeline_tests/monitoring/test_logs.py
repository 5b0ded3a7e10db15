import json
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.monitoring.logs import FAULTS, ROWS, Log, logged_days, read_day, read_logs, read_loose
from qa_pipeline.monitoring.observing import Observer
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline_tests.monitoring.otlp import line as traces
from qa_pipeline_tests.monitoring.otlp import messages, span

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = NOON.date()
GOOD = {"id": "good", "time": NOON.isoformat(), "query": "q", "answer": "a", "contexts": ["c"]}
ASKED = {
    "gen_ai.input.messages": messages("user", "How high?"),
    "gen_ai.output.messages": messages("assistant", "324 m"),
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def log(folder: Path, *lines: Any, name: str = "a.jsonl", **more: Any) -> Log:
    """A file of lines, objects among them written as JSON, and what is read of it."""
    folder.mkdir(exist_ok=True, parents=True)
    texts = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    (folder / name).write_bytes(b"\n".join(texts))
    return read_logs([folder / name], **more)


def reasons(found: Log) -> dict[str, int]:
    return dict(found.faults.select("reason", "rows").iter_rows())


def test_what_observe_writes_is_read_back(tmp_path: Path) -> None:
    observer = Observer(tmp_path, share=1.0)
    passage = {"text": "It is 324 m high.", "document": "tower.md", "score": 0.5}
    more = {"seconds": 1.5, "model": "m", "error": None, "time": NOON}
    observer.observe("r1", "How high?", "324 m", [passage], ["tower.md"], **more)  # type: ignore[arg-type]
    observer.observe("r2", "How deep?", None, error="timeout", time=NOON)
    observer.close()
    found = read_day(tmp_path, DAY)
    assert (found.rows.schema, found.faults.height, found.dropped) == (ROWS, 0, 0)
    first, second = found.rows.to_dicts()
    assert first == {
        "id": "r1",
        "query": "How high?",
        "answer": "324 m",
        "contexts": [{**passage, "rank": 1}],
        "citations": ["tower.md"],
        **more,
    }
    assert (second["answer"], second["error"], second["contexts"]) == (None, "timeout", [])


def test_broken_lines_are_counted_with_a_reason_and_the_others_are_used(tmp_path: Path) -> None:
    found = log(
        tmp_path,
        b"{not JSON",
        b"[1, 2]",
        b"",
        b"\xff\xfe",
        {**GOOD, "id": "half", "answer": "\ud83d"},
        {**GOOD, "id": "number", "query": 7},
        {"id": "silent", "query": "q"},
        b'{"id": "long", "query": "' + b"x" * 5000 + b'"}',
        GOOD,
        {**GOOD, "answer": "another"},
        limits=PairsFileSettings(max_line_bytes=2000),
    )
    assert found.rows["id"].to_list() == ["good"]
    assert reasons(found) == {
        "broken_line": 3,
        "broken_text": 1,
        "wrong_type": 1,
        "no_content": 1,
        "line_too_long": 1,
        "duplicate_id": 1,
    }
    first = found.faults.row(by_predicate=pl.col("reason") == "duplicate_id", named=True)
    assert (first["file"], first["first_row"], first["kept"]) == ("a.jsonl", 10, False)


def test_a_line_of_many_times_the_limit_is_one_long_line(tmp_path: Path) -> None:
    found = log(tmp_path, b"x" * 10_000, GOOD, limits=PairsFileSettings(max_line_bytes=1000))
    assert (reasons(found), found.rows.height) == ({"line_too_long": 1}, 1)


def test_a_value_that_is_no_number_is_unknown_and_its_row_is_used(tmp_path: Path) -> None:
    passages = [{"text": "a", "score": float("nan")}, {"text": "b", "score": "high", "rank": True}]
    odd = {**GOOD, "contexts": passages, "seconds": float("inf"), "time": "noon"}
    found = log(tmp_path, odd)
    (row,) = found.rows.to_dicts()
    assert (row["seconds"], row["time"]) == (None, None)
    assert [(one["score"], one["rank"]) for one in row["contexts"]] == [(None, 1), (None, 2)]
    assert reasons(found) == {"unknown_time": 1, "unknown_seconds": 1, "unknown_score": 1}
    assert found.faults["kept"].to_list() == [True] * 3


@pytest.mark.parametrize(
    "time",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01 12:00:00",
        NOON.timestamp(),
        NOON.timestamp() * 1e3,
        int(NOON.timestamp()) * 10**6,
        int(NOON.timestamp()) * 10**9,
    ],
)
def test_times_of_other_services_are_read_in_their_forms(tmp_path: Path, time: Any) -> None:
    assert log(tmp_path, {**GOOD, "time": time}).rows["time"].to_list() == [NOON]


def test_usual_names_of_other_services_are_known(tmp_path: Path) -> None:
    line = {
        "request_id": 17,
        "timestamp": "2026-03-01T12:00:00Z",
        "question": "q",
        "response": "a",
        "retrieved_contexts": [{"page_content": "c", "source": "d", "score": 1}],
        "sources": [{"document": "d"}, "e"],
        "latency": 2,
        "exception": False,
    }
    (row,) = log(tmp_path, line).rows.to_dicts()
    assert row == {
        "id": "17",
        "time": NOON,
        "query": "q",
        "answer": "a",
        "contexts": [{"text": "c", "document": "d", "rank": 1, "score": 1.0}],
        "citations": ["d", "e"],
        "seconds": 2.0,
        "error": None,
        "model": None,
    }


def test_settings_say_where_a_service_holds_its_fields(tmp_path: Path) -> None:
    line = {"req": {"q": "asked", "id": "r"}, "query": "another", "answer": "a"}
    (row,) = log(tmp_path, line, fields={"query": "req.q", "id": "req.id"}).rows.to_dicts()
    assert (row["id"], row["query"]) == ("r", "asked")


def test_rows_without_an_id_are_known_by_their_content(tmp_path: Path) -> None:
    line = {"query": "q", "answer": "a"}
    found = log(tmp_path, line, line, {**line, "answer": "b"})
    assert found.rows.height == 2
    assert reasons(found) == {"duplicate_id": 1}


def test_spans_become_rows_and_those_without_content_are_counted(tmp_path: Path) -> None:
    silent = span({"gen_ai.operation.name": "chat"}, trace="t2")
    found = log(
        tmp_path,
        traces(span(ASKED), silent).encode(),
        traces({**span({}), "traceId": None}).encode(),
        GOOD,
    )
    assert found.rows.select("id", "query", "answer", "time", "seconds").rows() == [
        ("good", "q", "a", NOON, None),
        ("t1", "How high?", "324 m", NOON, 1.0),
    ]
    assert reasons(found) == {"broken_span": 1, "no_content": 1}


def test_spans_of_a_trace_may_lie_in_several_lines_and_files(tmp_path: Path) -> None:
    query = span({"gen_ai.retrieval.query.text": "How high?"}, trace="t")
    answer = span({"gen_ai.output.messages": messages("assistant", "324 m")}, begins=1, ends=2, trace="t")
    (tmp_path / "a.jsonl").write_text(traces(query))
    (tmp_path / "b.jsonl").write_text(traces(answer))
    found = read_logs([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found.rows.select("id", "query", "answer", "seconds").rows() == [("t", "How high?", "324 m", 2.0)]


def test_what_services_could_not_log_is_added_up(tmp_path: Path) -> None:
    told = {"format": 1, "dropped": {"queue_full": 3, "too_long": 1}}
    assert log(tmp_path, told, GOOD, told).dropped == 8


def test_a_file_that_cannot_be_read_or_is_too_large_is_counted(tmp_path: Path) -> None:
    found = read_logs([tmp_path / "gone.jsonl"])
    assert reasons(found) == {"unreadable_file": 1}
    assert reasons(log(tmp_path, GOOD, limits=PairsFileSettings(max_bytes=10))) == {"file_too_large": 1}
    many = [{**GOOD, "id": str(place)} for place in range(4)]
    found = log(tmp_path, *many, limits=PairsFileSettings(max_pairs=3))
    assert (found.rows.height, reasons(found)) == (3, {"too_many_rows": 1})


def test_a_day_has_its_sub_folder_and_the_rows_of_its_time_in_other_files(tmp_path: Path) -> None:
    log(tmp_path / "2026-03-01", {**GOOD, "id": "own", "time": None})
    log(tmp_path / "2026-03-02", {**GOOD, "id": "next"})
    loose = [{**GOOD, "id": "loose"}, {**GOOD, "id": "late", "time": "2026-03-02T00:00:00Z"}]
    log(tmp_path, *loose, {**GOOD, "id": "timeless", "time": None})
    assert read_day(tmp_path, DAY).rows["id"].to_list() == ["own", "loose"]
    assert reasons(read_day(tmp_path, DAY)) == {"no_time": 1}
    assert logged_days(tmp_path, read_loose(tmp_path)) == [date(2026, 3, 1), date(2026, 3, 2)]


def test_files_that_were_last_written_before_a_day_are_not_read_for_it(tmp_path: Path) -> None:
    log(tmp_path, b"{broken", GOOD)
    early = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
    os.utime(tmp_path / "a.jsonl", (early, early))
    found = read_day(tmp_path, DAY)
    assert (found.rows.height, found.faults.height) == (0, 0)


def test_a_day_without_files_is_empty_and_a_folder_that_is_none_an_error(tmp_path: Path) -> None:
    found = read_day(tmp_path, DAY)
    assert (found.rows.schema, found.rows.height) == (ROWS, 0)
    assert (found.faults.schema, found.faults.height) == (FAULTS, 0)
    with pytest.raises(InputError, match="has no logs of any day"):
        logged_days(tmp_path, read_loose(tmp_path))
    with pytest.raises(InputError, match="is no folder"):
        read_day(tmp_path / "gone", DAY)


FIELDS = st.sampled_from(["id", "time", "query", "answer", "contexts", "seconds", "error"])


@given(st.dictionaries(FIELDS, VALUES | st.just(10**400)))
def test_any_object_is_a_row_or_counted(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]
) -> None:
    found = log(tmp_path_factory.getbasetemp(), values)
    left_out = found.faults.filter(~pl.col("kept"))["rows"].sum()
    assert found.rows.height + left_out == 1
