import json
import os
import signal
import subprocess
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.documents.sandbox.pool import COMMAND, bare_environment
from qa_pipeline_tests.documents.builders import SETTINGS
from qa_pipeline_tests.documents.sandbox import hostile_worker

pytestmark = pytest.mark.slow


class Worker:
    """A worker as it is, spoken to over its socket."""

    def __init__(self, module: str) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [*COMMAND[:-1], module, str(theirs.fileno())],
                stderr=subprocess.PIPE,
                env=bare_environment(os.environ),
                pass_fds=(theirs.fileno(),),
            )

    def ask(self, content: bytes, name: str = "markdown", longest: int = 100_000) -> None:
        settings = json.dumps(SETTINGS.model_dump(), default=str)
        head = {"path": "a", "format": name, "settings": settings, "longest_reply": longest}
        self.connection.send_bytes(json.dumps(head).encode())
        self.connection.send_bytes(content)

    def answer(self) -> dict[str, Any]:
        """The columns of a document, or the reason and detail of a failure."""
        head: dict[str, Any] = json.loads(self.connection.recv_bytes())
        return head if head["reason"] else json.loads(self.connection.recv_bytes())


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker; given a parameter, one with the hostile format."""
    started = Worker(hostile_worker.__name__ if hasattr(request, "param") else COMMAND[-1])
    with started.process:
        assert started.connection.recv_bytes() == b""
        yield started
        started.process.kill()


def test_it_answers_file_after_file(worker: Worker) -> None:
    for text in ("One.", "Two."):
        worker.ask(text.encode())
        assert worker.answer()["text"] == text
    worker.ask(b"")
    assert worker.answer()["reason"] == "empty_file"


@pytest.mark.parametrize("worker", ["hostile"], indirect=True)
def test_a_request_that_comes_while_a_file_is_parsed_ends_nothing(worker: Worker, tmp_path: Path) -> None:
    worker.ask(f"wait_for {tmp_path / 'go'}".encode(), "hostile")
    worker.ask(f"wait_for {tmp_path / 'on'}".encode(), "hostile")
    for name in ("go", "on"):
        assert not worker.connection.poll(0.3)
        (tmp_path / name).touch()
        assert worker.answer()["text"] == "waited"


def test_it_ends_in_peace_when_its_parent_closes_the_connection(worker: Worker) -> None:
    worker.connection.close()
    assert worker.process.wait(10) == 0


def test_it_leaves_an_interrupt_at_the_terminal_to_its_parent(worker: Worker) -> None:
    worker.process.send_signal(signal.SIGINT)
    worker.ask(b"Text.")
    assert worker.answer()["text"] == "Text."


def test_it_does_not_send_more_than_its_parent_would_read(worker: Worker) -> None:
    worker.ask(b"# Heading\n\nText.\n", longest=100)
    assert worker.answer()["reason"] == "too_long"


def test_a_format_nobody_knows_is_an_error_of_that_file_only(worker: Worker) -> None:
    worker.ask(b"x", name="unheard-of")
    failed = worker.answer()
    assert failed["reason"] == "parser_error"
    assert "KeyError in qa_pipeline.documents" in failed["detail"]
    worker.ask(b"x")
    assert worker.answer()["text"] == "x"


@pytest.mark.parametrize("worker", ["hostile"], indirect=True)
def test_it_ends_itself_when_its_parent_goes_while_it_parses(worker: Worker) -> None:
    worker.ask(b"sleep 0.1", name="hostile")
    assert worker.answer()["text"] == "slept 0.1"
    worker.ask(b"hang_in_c", name="hostile")
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(0.5)
    assert worker.process.stderr is not None
    worker.process.stderr.close()
    assert worker.process.wait(10) == -signal.SIGIO
