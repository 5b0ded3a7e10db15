import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.reporting.estimate import MOST_COUNTED, GeminiCounter
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline_tests.llm.requests import claim

KEY = {"GEMINI_API_KEY": "loopback-key"}


class Counting(BaseHTTPRequestHandler):
    """Counts a token for each character; lets one key in."""

    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked += 1
        assert self.path.endswith("/models/gemini-m:countTokens")
        if self.headers["x-goog-api-key"] != KEY["GEMINI_API_KEY"]:
            return self._send(403, {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}})
        text = "".join(part["text"] for turn in body["contents"] for part in turn["parts"])
        return self._send(200, {"totalTokens": len(text)})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass

    def _send(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def model() -> Iterator[ModelSettings]:
    """A model whose server counts."""
    Counting.asked = 0
    with HTTPServer(("127.0.0.1", 0), Counting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield ModelSettings(
            provider="gemini", model="gemini-m", base_url=f"http://127.0.0.1:{server.server_port}"
        )
        server.shutdown()
        thread.join()


def test_the_ratio_is_that_of_what_the_server_counts(model: ModelSettings) -> None:
    requests = [claim("Is it so? " * 10), claim("Or not?")]
    real = sum(len(f"{request.system}\n{request.prompt}") for request in requests)
    ratio = GeminiCounter(model, KEY)(requests)
    assert ratio == pytest.approx(real / sum(request_tokens(request) for request in requests))


def test_only_some_of_many_prompts_are_sent(model: ModelSettings) -> None:
    GeminiCounter(model, KEY)([claim(f"claim {number}") for number in range(1000)])
    assert Counting.asked == MOST_COUNTED


def test_a_refused_key_is_told_and_stays_out_of_the_message(model: ModelSettings) -> None:
    with pytest.raises(KeyRejectedError) as refusal:
        GeminiCounter(model, {"GEMINI_API_KEY": "wrong-key"})([claim()])
    assert "wrong-key" not in str(refusal.value)


def test_a_server_that_is_not_there_is_told() -> None:
    nowhere = ModelSettings(provider="gemini", model="gemini-m", base_url="http://127.0.0.1:9")
    with pytest.raises(ModelError):
        GeminiCounter(nowhere, KEY)([claim()])


def test_a_provider_that_does_not_count_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="needs Gemini"):
        GeminiCounter(ModelSettings(provider="openai", model="m"), KEY)
    with pytest.raises(KeyRejectedError, match="needs a key"):
        GeminiCounter(ModelSettings(provider="gemini"), {})
