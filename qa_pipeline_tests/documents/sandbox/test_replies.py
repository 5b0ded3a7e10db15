import json
import signal
from typing import Any

import pytest
from pydantic import ValidationError

from qa_pipeline.documents.parsing import ContentRow, ParseRequest, parse_file
from qa_pipeline.documents.sandbox.replies import (
    read_columns,
    read_head,
    unusable_reply,
    why_it_died,
    why_not_started,
)
from qa_pipeline_tests.documents.builders import SETTINGS, source

LIMIT = SETTINGS.parse_memory


def replied(body: object) -> ContentRow:
    return read_columns(json.dumps(body).encode())


def row(**changes: object) -> dict[str, Any]:
    content = "---\ntitle: T\n---\n# One\n\nA text.\n\n## Two\n\n- item\n"
    return {**parse_file(ParseRequest(source(content), "markdown"), SETTINGS), **changes}


def span(start: int, end: int) -> dict[str, Any]:
    return {"heading_path": ["a"], "level": 1, "start": start, "end": end}


def test_the_columns_of_a_document_come_back_as_they_were() -> None:
    assert replied(row()) == row()


@pytest.mark.parametrize(
    "changes",
    [
        {"text": None},
        {"text": 1},
        {"text": "\ud800"},
        {"more": 1},
        {"declared": {"title": "only"}},
        {"languages": [{"language": "en", "share": "1"}]},
        {"left_out": [{"what": "a", "pieces": 2**31, "characters": 0}]},
        {"pages": [{"number": 1, "start": 0}]},
        {"sections": [{**span(0, 1), "heading_path": [None]}]},
        {"sections": [span(0, 10_000)]},
        {"sections": [span(-1, 1)]},
        {"sections": [span(2, 1)]},
        {"sections": [span(3, 4), span(0, 2)]},
        {"pages": [{"number": 1, "start": 0, "end": 10_000}]},
    ],
)
def test_columns_that_do_not_fit_the_table_are_no_document(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(changes))}|line 1"):
        replied(row(**changes))


@pytest.mark.parametrize(
    "changes", [{"reason": "Not A Code"}, {"reason": 1}, {"detail": "x" * 3000}, {"detail": None}, {"x": 1}]
)
def test_a_head_that_does_not_fit_is_no_reply(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        read_head(json.dumps({"reason": "damaged", "detail": "", **changes}).encode())


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b'{"reason": null}'])
def test_what_is_no_reply_at_all_is_refused(content: bytes) -> None:
    for read in (read_head, read_columns):
        with pytest.raises(ValidationError) as caught:
            read(content)
        assert unusable_reply(caught.value).reason == "parser_crashed"


def test_what_cannot_be_used_is_not_quoted() -> None:
    with pytest.raises(ValidationError) as caught:
        read_columns(b'{"text": "secret"}')
    assert "secret" not in unusable_reply(caught.value).detail


def test_a_failure_is_reported_in_one_line_without_anything_invisible() -> None:
    outcome = read_head(json.dumps({"reason": "damaged", "detail": "a\x1b[31m\n\u202eb"}).encode())
    assert outcome is not None
    assert (outcome.reason, outcome.detail) == ("damaged", "a[31m b")


@pytest.mark.parametrize(
    ("status", "peak", "messages", "reason", "shown"),
    [
        (-signal.SIGSEGV, 1000, b"", "parser_crashed", "SIGSEGV"),
        (-signal.SIGABRT, 0, b"", "parser_crashed", "SIGABRT"),
        (3, 1000, b"secret", "parser_crashed", "status 3"),
        (-50, 1000, b"", "parser_crashed", "signal 50"),
        (-signal.SIGABRT, LIMIT // 2, b"", "out_of_memory", "parse_memory"),
        (-signal.SIGSEGV, LIMIT // 2, b"", "out_of_memory", "parse_memory"),
        (-signal.SIGSEGV, LIMIT // 3, b"", "parser_crashed", "SIGSEGV"),
        (1, LIMIT, b"", "parser_crashed", "status 1"),
        (-signal.SIGABRT, 0, b"terminate: std::bad_alloc", "out_of_memory", "parse_memory"),
        (-signal.SIGKILL, 1000, b"", "out_of_memory", "memory runs out"),
        (-signal.SIGALRM, 1000, b"", "timed_out", "parse_seconds"),
        (-signal.SIGXCPU, 1000, b"", "timed_out", "parse_seconds"),
    ],
)
def test_the_end_of_a_worker_says_what_happened(
    status: int, peak: int, messages: bytes, reason: str, shown: str
) -> None:
    failure = why_it_died(status, peak, messages, SETTINGS)
    assert failure.reason == reason
    assert shown in failure.detail
    assert "secret" not in failure.detail


def test_a_worker_that_never_was_ready_gives_its_last_line_or_its_end_as_cause() -> None:
    assert why_not_started(1, b"Traceback\nImportError: no such thing\n") == "ImportError: no such thing"
    assert "SIGKILL" in why_not_started(-9, b"")
