"""People hear of each run that failed, by names only."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs.monitoring import alerts
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # apprise 2.3.0 imports it


@contextmanager
def webhook(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on loopback, as Apprise addresses it, and the messages it got."""
    messages: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"json://user:secret@127.0.0.1:{server.server_port}/", messages
        server.shutdown()
        thread.join()


@dg.op
def broken() -> None:
    """Fail."""
    raise ValueError("secret words of a document")


@dg.job
def failing() -> None:
    """Fail."""
    broken()


def tell(tmp_path: Path, *urls: str, **tags: str) -> None:
    """Let the sensor see a run of batch b1 that failed."""
    settings = Settings(out=tmp_path / "out", monitoring={"alerts": {"urls": urls}})
    resources = Resources(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        result = failing.execute_in_process(
            instance=instance, tags={"dagster/partition": "b1", **tags}, raise_on_error=False
        )
        context = dg.build_run_status_sensor_context(
            sensor_name="alerts",
            dagster_instance=instance,
            dagster_run=result.dagster_run,
            dagster_event=result.get_run_failure_event(),
            resources={"resources": resources},
        )
        alerts(context.for_run_failure())


def test_a_message_names_batch_and_step_and_nothing_that_documents_say(tmp_path: Path) -> None:
    with webhook() as (url, messages):
        tell(tmp_path, url)
    (message,) = messages
    assert all(name in message["message"] for name in ("b1", "broken"))
    assert "words" not in message["message"]


def test_a_run_that_the_daemon_starts_anew_is_no_news_yet(tmp_path: Path) -> None:
    with webhook() as (url, messages):
        tell(tmp_path, url, **{"dagster/will_retry": "true"})
    assert messages == []


@pytest.mark.parametrize("is_address", [True, False])
def test_a_message_that_nobody_takes_fails_the_tick_and_shows_no_secret(
    tmp_path: Path, is_address: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook(status=500) as (url, _), pytest.raises(Exception, match="alerts") as raised:
        tell(tmp_path, url if is_address else "no-such-service://user:secret@host")
    assert "secret" not in f"{raised.value}{raised.value.__cause__}{caplog.text}"
