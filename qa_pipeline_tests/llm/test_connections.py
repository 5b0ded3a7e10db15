"""Bodies of any size, encoding and length in time, over real connections."""

import gzip
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from qa_pipeline.errors import ModelError, TransientModelError, UnreadableReplyError
from qa_pipeline.llm.gemini import provider as gemini_provider
from qa_pipeline.llm.openai_compatible import provider as openai_provider
from qa_pipeline.llm.openai_compatible.provider import MOST_BYTES, OpenAIProvider
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline.testing.fake_server import gemini
from qa_pipeline.testing.fake_server.chat import says
from qa_pipeline.testing.fake_server.responses import ServerResponse
from qa_pipeline_tests.llm import serving
from qa_pipeline_tests.llm.openai_compatible.loopback import error_of, reply_to, send
from qa_pipeline_tests.llm.requests import ACCEPT

JSON = says(ACCEPT).body or b""


def encoded(body: bytes, encoding: str) -> ServerResponse:
    return ServerResponse(200, body, headers=(("Content-Encoding", encoding),))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(JSON)),
        ("GZIP", gzip.compress(JSON)),
        ("deflate", zlib.compress(JSON)),
        ("identity", JSON),
    ],
)
def test_a_body_is_read_in_each_encoding_that_was_asked_for(encoding: str, body: bytes) -> None:
    assert reply_to(encoded(body, encoding)).text == ACCEPT.model_dump_json()


def bomb(megabytes: int) -> bytes:
    return gzip.compress(b'{"choices": "' + b" " * (megabytes * 2**20) + b'"}')


def test_a_small_body_that_would_decompress_to_a_large_one_is_cut_there() -> None:
    play = encoded(bomb(256), "gzip")
    tracemalloc.start()
    try:
        error = error_of(play)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(error, UnreadableReplyError)
    assert (error.reason, error.detail) == ("truncated", "the reply is longer than 8 MiB")
    assert peak < 6 * MOST_BYTES


@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_body_that_is_too_long_as_it_comes_is_cut_whatever_its_status(status: int) -> None:
    error = error_of(ServerResponse(status, b" " * (MOST_BYTES + 1)))
    assert isinstance(error, UnreadableReplyError)
    assert error.reason == "truncated"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", JSON),
        ("gzip", gzip.compress(JSON)[:-9]),
        ("br", b"\x0b\x02\x80{}\x03"),
        ("gzip, gzip", gzip.compress(gzip.compress(JSON))),
    ],
)
def test_a_body_that_is_not_what_it_says_is_a_lost_reply(encoding: str, body: bytes) -> None:
    error = error_of(encoded(body, encoding))
    assert isinstance(error, TransientModelError)
    assert error.maybe_charged


def test_gemini_has_its_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini_provider, "MOST_BYTES", 100)
    error = serving.error_of(gemini.says(ACCEPT))
    assert isinstance(error, UnreadableReplyError)
    assert error.reason == "truncated"


@contextmanager
def endless(chunk: bytes) -> Iterator[str]:
    """The address of a server whose reply never ends."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            try:
                connection.recv(2**16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while True:
                    connection.sendall(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join()


@pytest.mark.parametrize("chunk", [b" " * 2**16, b'{"choices": [{"message": {"content": "'])
def test_a_reply_that_never_ends_is_cut_at_the_limit(chunk: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_provider, "MOST_BYTES", 2**20)
    with endless(chunk) as url:
        provider = OpenAIProvider(ModelSettings(model="m", base_url=url), 60, {})
        with pytest.raises(ModelError) as caught:
            send(provider)
    assert caught.value.reason == "truncated"
