"""The command that serves the review app: who may reach it, how it starts and how it ends."""

import json
import signal
import stat
from pathlib import Path

import httpx
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.cli.review import check_reachable
from qa_pipeline.errors import InputError
from qa_pipeline.review.server import listen
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.support.review_server import review_server


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "review.example.org"])
def test_other_machines_reach_it_only_with_a_file_of_users(tmp_path: Path, host: str) -> None:
    ran = invoke("review", "--out", tmp_path, "--host", host)
    assert (ran.code, ran.stderr) == (
        BAD_INPUT,
        f"Error: other machines reach --host {host}: name who may sign in with --users FILE\n",
    )


def test_an_address_that_nobody_opens_needs_the_one_that_people_open(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no address to open: give the one that people open as review.url"):
        check_reachable("0.0.0.0", tmp_path / "users.json", None)


def test_a_server_that_others_reach_warns_that_encryption_is_the_proxys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_reachable("192.168.1.5", tmp_path / "users.json", None)
    assert "sends everything unencrypted, tokens too. Put a proxy with TLS" in capsys.readouterr().err


def test_a_new_user_gets_a_token_of_which_the_file_has_the_hash_alone(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    ran = invoke("review", "--users", file, "--new-user", "Ada", "--out", tmp_path)
    assert ran.code == OK
    first_line, _ = ran.stdout.splitlines()
    token = first_line.removeprefix("Ada signs in with the token ")
    assert json.loads(file.read_text()) == [{"name": "Ada", "token_sha256": hash_text(token)}]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_new_user_without_a_file_is_refused(tmp_path: Path) -> None:
    ran = invoke("review", "--new-user", "Ada", "--out", tmp_path)
    assert (ran.code, "name it with --users" in ran.stderr) == (BAD_INPUT, True)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as first:
        ran = invoke("review", "--out", tmp_path, "--port", str(first.getsockname()[1]))
    assert (ran.code, "Address already in use; give another --port" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize("url", ["review.example.org", "https://example.org/review", "ftp://example.org"])
def test_an_address_with_a_path_or_without_a_scheme_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("QA_PIPELINE_REVIEW__URL", url)
    ran = invoke("review", "--out", tmp_path)
    assert (ran.code, "setting review.url: write scheme and host alone" in ran.stderr) == (BAD_INPUT, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [(signal.SIGINT, 130, "Ctrl-C (SIGINT)"), (signal.SIGTERM, 143, "SIGTERM")],
)
def test_the_server_signs_in_once_and_ends_at_a_signal(
    tmp_path: Path, sent: signal.Signals, code: int, words: str
) -> None:
    with review_server(tmp_path / "new") as server, httpx.Client() as browser:
        assert browser.get(server.address, follow_redirects=True).status_code == 200
        assert httpx.get(server.address).status_code == 403
        server.process.send_signal(sent)
        assert server.wait() == code
        assert server.process.stderr is not None
        assert server.process.stderr.read() == f"Stopped by {words}.\n"
