import json
import signal
from typing import Any

import pytest

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.parsing import ParseRequest, parse_file
from qa_pipeline.documents.sandbox.protocol import Death, Message, read_reply, what_happened, why_not_started
from qa_pipeline_tests.documents.builders import SETTINGS, source

LIMIT = SETTINGS.parse_memory


def replied(body: object, **head: object) -> object:
    message = Message(json.dumps({"says": "parsed", **head}).encode(), json.dumps(body).encode())
    return read_reply(message).outcome


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
    outcome = replied(row(**changes))
    assert isinstance(outcome, DocumentFailure)
    assert outcome.reason == "parser_crashed"
    assert "cannot be used" in outcome.detail


@pytest.mark.parametrize(
    "head", [{"says": "obey"}, {"reason": "Not A Code"}, {"detail": "x" * 3000}, {"x": 1}]
)
def test_a_head_that_does_not_fit_is_no_reply(head: dict[str, object]) -> None:
    outcome = replied(row(), **head)
    assert isinstance(outcome, DocumentFailure)
    assert outcome.reason == "parser_crashed"


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b'{"says": "parsed"}'])
def test_what_is_no_reply_at_all_is_the_end_of_the_worker(content: bytes) -> None:
    reply = read_reply(Message(content, content))
    assert reply.last
    assert isinstance(reply.outcome, DocumentFailure)


def test_a_failure_is_told_in_one_line_without_anything_invisible() -> None:
    outcome = replied({}, says="failed", reason="damaged", detail="a\x1b[31m\n\u202eb")
    assert isinstance(outcome, DocumentFailure)
    assert (outcome.reason, outcome.detail) == ("damaged", "a[31m b")


@pytest.mark.parametrize(
    ("status", "peak", "messages", "reason", "told"),
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
    status: int, peak: int, messages: bytes, reason: str, told: str
) -> None:
    failure = what_happened(Death(status, peak, messages), SETTINGS)
    assert failure.reason == reason
    assert told in failure.detail
    assert "secret" not in failure.detail


def test_a_worker_that_never_was_ready_says_why_by_its_last_line_or_its_end() -> None:
    assert (
        why_not_started(Death(1, 0, b"Traceback\nImportError: no such thing\n"))
        == "ImportError: no such thing"
    )
    assert why_not_started(Death(-9, 0, b"")) == "it was ended by SIGKILL"
