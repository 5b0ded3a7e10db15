"""People hear of failed runs and failing checks once, in one message, and of nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import dagster as dg
import pytest

from qa_pipeline.defs.alerts import alerts_sensor
from qa_pipeline.defs.checks import BLOCKED_TAG
from qa_pipeline.settings.monitoring import AlertSettings
from qa_pipeline_tests.defs.project import instance_at

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


class Alerts:
    """Ticks the sensor and keeps its cursor."""

    def __init__(self, instance: dg.DagsterInstance, *urls: str, cursor: str | None = None) -> None:
        self.instance, self.cursor = instance, cursor
        self.sensor = alerts_sensor(AlertSettings.model_validate({"urls": urls}))

    def tick(self) -> str:
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursor)
        result = self.sensor(context)
        if isinstance(result, dg.SensorResult):
            self.cursor = result.cursor
            result = result.skip_reason
        return str(result.skip_message)  # type: ignore[union-attr]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with instance_at(tmp_path / "home") as made:
        yield made


@dg.op
def broken() -> None:
    """Fail."""
    raise ValueError("secret words of a document")


@dg.job
def failing() -> None:
    """Fail."""
    broken()


def fail(instance: dg.DagsterInstance, batch: str) -> None:
    tags = {"dagster/partition": batch, BLOCKED_TAG: "verdicts: pass_rate"}
    failing.execute_in_process(instance=instance, tags=tags, raise_on_error=False)


def test_one_message_names_all_runs_that_failed_since_the_last_one(instance: dg.DagsterInstance) -> None:
    with webhook() as (url, messages):
        alerts = Alerts(instance, url)
        alerts.tick()
        for batch in ("b1", "b2"):
            fail(instance, batch)
        alerts.tick()
        alerts.tick()
    (message,) = messages
    assert "2 runs" in message["title"]
    assert "words" not in message["message"]
    assert all(batch in message["message"] for batch in ("b1", "b2", "verdicts: pass_rate"))


def test_a_run_that_the_daemon_starts_anew_is_no_news_yet(instance: dg.DagsterInstance) -> None:
    with webhook() as (url, messages):
        alerts = Alerts(instance, url)
        alerts.tick()
        run = instance.create_run_for_job(failing, status=dg.DagsterRunStatus.STARTED)
        instance.report_run_failed(run, "Run execution process unexpectedly exited.")
        alerts.tick()
    assert messages == []


def test_a_message_that_nobody_takes_is_sent_again_and_no_secret_is_shown(
    instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    with webhook(status=500) as (url, _):
        alerts = Alerts(instance, url)
        alerts.tick()
        fail(instance, "b1")
        with pytest.raises(dg.Failure, match=r"1 \(JSON\)") as raised:
            alerts.tick()
    assert "secret" not in f"{raised.value}{caplog.text}"
    with webhook() as (url, messages):
        Alerts(instance, url, cursor=alerts.cursor).tick()
    assert "b1" in messages[0]["message"]


def test_an_address_that_is_none_is_named_by_its_place_and_not_shown(instance: dg.DagsterInstance) -> None:
    alerts = Alerts(instance, "no-such-service://user:secret@host")
    alerts.tick()
    fail(instance, "b1")
    with pytest.raises(dg.Failure, match=r"address 1 of monitoring\.alerts\.urls") as raised:
        alerts.tick()
    assert "secret" not in str(raised.value)
    assert "secret" not in repr(AlertSettings.model_validate({"urls": ["json://user:secret@host"]}))


def test_without_an_address_nothing_is_sent_and_the_sensor_is_off(instance: dg.DagsterInstance) -> None:
    alerts = Alerts(instance)
    assert alerts.sensor.default_status == dg.DefaultSensorStatus.STOPPED
    alerts.tick()
