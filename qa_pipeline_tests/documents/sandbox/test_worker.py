import fcntl
import json
import os
import signal
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from qa_pipeline.documents.sandbox.process import COMMAND, bare
from qa_pipeline.documents.sandbox.protocol import Message, MessageReader, framed
from qa_pipeline_tests.documents.builders import SETTINGS
from qa_pipeline_tests.documents.sandbox import hostile_worker

Worker = subprocess.Popen[bytes]


@pytest.fixture
def owned() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The pipe whose closing ends a worker: its end, and its owner's."""
    watched, own = os.pipe()
    with open(watched, "rb") as reading, open(own, "wb") as writing:  # noqa: PTH123 - numbers, no paths
        yield reading, writing


@pytest.fixture
def worker(request: pytest.FixtureRequest, owned: tuple[IO[bytes], IO[bytes]]) -> Iterator[Worker]:
    """A worker as it is, spoken to over its pipes; given a parameter, one with the hostile format."""
    module = (hostile_worker.__name__,) if hasattr(request, "param") else COMMAND[-1:]
    started = subprocess.Popen(
        [*COMMAND[:-1], *module, str(owned[0].fileno())],
        stdin=-1,
        stdout=-1,
        stderr=-1,
        env=bare(os.environ),
        pass_fds=(owned[0].fileno(),),
    )
    owned[0].close()
    with started:
        assert heard(started) == {"says": "ready"}
        yield started
        started.kill()


def heard(worker: Worker) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(message(worker).head)
    return head


def message(worker: Worker) -> Message:
    assert worker.stdout is not None
    reader = MessageReader(10_000, 100_000)
    while True:
        data = os.read(worker.stdout.fileno(), 10_000)
        assert data, "the worker ended"
        whole = reader.add(data)
        if whole is not None:
            return whole


def ask(worker: Worker, content: bytes, name: str = "markdown", longest: int = 100_000) -> None:
    settings = json.dumps(SETTINGS.model_dump(), default=str)
    head = {"path": "a", "format": name, "settings": settings, "longest_reply": longest}
    assert worker.stdin is not None
    for piece in framed(head, content):
        worker.stdin.write(piece)
    worker.stdin.flush()


def test_it_answers_file_after_file(worker: Worker) -> None:
    for text in ("One.", "Two."):
        ask(worker, text.encode())
        answer = message(worker)
        assert json.loads(answer.head) == {"says": "parsed", "last": False}
        assert json.loads(answer.body)["text"] == text
    ask(worker, b"")
    assert heard(worker)["reason"] == "empty_file"


@pytest.mark.parametrize("worker", ["hostile"], indirect=True)
def test_a_request_that_comes_while_a_file_is_parsed_ends_nothing(worker: Worker, tmp_path: Path) -> None:
    assert worker.stdin is not None
    ask(worker, f"wait_for {tmp_path / 'go'}".encode(), "hostile")
    unread = bytearray(b"....")
    while any(unread):
        fcntl.ioctl(worker.stdin, termios.FIONREAD, unread)
    ask(worker, f"wait_for {tmp_path / 'on'}".encode(), "hostile")
    for name in ("go", "on"):
        (tmp_path / name).touch()
        assert heard(worker)["says"] == "parsed"


def test_it_ends_in_peace_when_its_parent_closes_the_pipe(worker: Worker) -> None:
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(10) == 0


def test_it_leaves_an_interrupt_at_the_terminal_to_its_parent(worker: Worker) -> None:
    worker.send_signal(signal.SIGINT)
    ask(worker, b"Text.")
    assert heard(worker)["says"] == "parsed"


def test_it_does_not_send_more_than_its_parent_would_read(worker: Worker) -> None:
    ask(worker, b"# Heading\n\nText.\n", longest=100)
    assert heard(worker)["reason"] == "too_long"


def test_a_format_nobody_knows_is_an_error_of_that_file_only(worker: Worker) -> None:
    ask(worker, b"x", name="unheard-of")
    failed = heard(worker)
    assert failed["reason"] == "parser_error"
    assert "KeyError in qa_pipeline.documents.parsing line" in failed["detail"]
    ask(worker, b"x")
    assert heard(worker)["says"] == "parsed"


@pytest.mark.parametrize("worker", ["hostile"], indirect=True)
def test_it_ends_itself_when_its_parent_goes_while_it_parses(
    worker: Worker, owned: tuple[IO[bytes], IO[bytes]]
) -> None:
    ask(worker, b"sleep 0.1", name="hostile")
    assert heard(worker)["says"] == "parsed"
    ask(worker, b"hang_in_c", name="hostile")
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(0.5)
    owned[1].close()
    assert worker.wait(10) == -signal.SIGIO
