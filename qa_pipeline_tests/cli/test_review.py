"""The command that serves the review app: who may reach it, how it starts and how it ends."""

import signal
from pathlib import Path

import httpx2 as httpx
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT
from qa_pipeline.errors import InputError
from qa_pipeline.review.server import check_reachable, listen
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.support.review_server import review_server


def test_other_machines_reach_it_with_a_warning_and_an_address_that_can_be_opened() -> None:
    assert check_reachable("127.0.0.1", None) is None
    assert check_reachable("192.168.1.5", None)
    assert check_reachable("0.0.0.0", "https://review.example.org")
    with pytest.raises(InputError, match=r"review\.url"):
        check_reachable("0.0.0.0", None)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as first:
        ran = invoke("review", "--out", tmp_path, "--port", str(first.getsockname()[1]))
    assert (ran.code, "--port" in ran.stderr) == (BAD_INPUT, True)


def test_an_output_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = invoke("decide", "--template", tmp_path / "new.csv", "--out", tmp_path / "nowhere")
    assert (ran.code, "nowhere does not exist" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize("url", ["review.example.org", "https://example.org/review", "ftp://example.org"])
def test_an_address_with_a_path_or_without_a_scheme_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("QA_PIPELINE_REVIEW__URL", url)
    ran = invoke("review", "--out", tmp_path)
    assert (ran.code, "review.url" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [(signal.SIGINT, 130, "SIGINT"), (signal.SIGTERM, 143, "SIGTERM")],
)
def test_the_server_signs_in_and_ends_at_a_signal(
    tmp_path: Path, sent: signal.Signals, code: int, words: str
) -> None:
    with review_server(tmp_path / "new") as server, httpx.Client() as browser:
        assert browser.get(server.address, follow_redirects=True).status_code == 200
        assert httpx.get(server.base).status_code == 401
        server.process.send_signal(sent)
        assert server.wait() == code
        assert server.process.stderr is not None
        assert words in server.process.stderr.read()
