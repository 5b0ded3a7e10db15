"""What holds for every test: no network, no hub, no settings or keys of the machine it runs on."""

import gc
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import certifi
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from qa_pipeline_tests.curation.withdrawal_corpus import Folder
    from qa_pipeline_tests.end_to_end import Workspace
    from qa_pipeline_tests.support.sensible import Sensible

# before anything imports a library that reads them
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
# a worker for each core: threads of their own would only wait for each other
os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")

# a suite in the background of a script ignores Ctrl-C; Dagster would ignore SIGTERM with it, and so would the
# processes that follow the logs of a run, for which it waits a minute
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# looking for cycles among all that tests import and remember takes a tenth of their time
gc.set_threshold(50_000, 20, 100)

# No deadline: a law does not fail because the machine is busy. No law says how many examples it is tried on:
# `make test` has to stay short, `make test-laws` has the whole night.
settings.register_profile("short", deadline=None, max_examples=15)
settings.register_profile("laws", deadline=None, max_examples=300)
settings.load_profile("short")

_FOREIGN_PREFIXES = ("QA_PIPELINE_", "GEMINI_", "GOOGLE_")
_LAST_LINE = "-----END CERTIFICATE-----\n"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True, scope="session")
def sealed_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the machine's settings, keys and proxies, and fail a test that reaches for another machine."""
    patch = pytest.MonkeyPatch()
    # every client of a hosted model would parse all 140 for each of its connections
    one_authority = tmp_path_factory.mktemp("authorities") / "one.pem"
    one_authority.write_text(certifi.contents().partition(_LAST_LINE)[0] + _LAST_LINE)
    patch.setenv("SSL_CERT_FILE", str(one_authority))
    for name in list(os.environ):
        if name.startswith(_FOREIGN_PREFIXES) or name.lower() in _PROXIES:
            patch.delenv(name)
    for name in ("connect", "connect_ex", "sendto"):
        patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
    yield
    patch.undo()


# Finished workspaces, one of a shape and a session. Each test gets a copy, to be changed at will. The package
# is imported inside: `make layers` has to run where modules of it import each other.


def _copied(made: "Workspace", folder: Path, patch: pytest.MonkeyPatch) -> "Workspace":
    from qa_pipeline_tests.end_to_end import new_workspace

    return new_workspace(folder, patch).fill_from(made)


@pytest.fixture(scope="session")
def plain_once(tmp_path_factory: pytest.TempPathFactory) -> "Workspace":
    from qa_pipeline_tests.end_to_end import GUIDE, new_workspace

    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("plain"), patch)
        made.write({"b/guide.md": GUIDE})
        assert made.run().code == 0
    return made


@pytest.fixture
def finished_workspace(
    plain_once: "Workspace", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Workspace":
    """A batch, b, whose pairs were generated and accepted."""
    return _copied(plain_once, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def verified_once(tmp_path_factory: pytest.TempPathFactory) -> "Workspace":
    from qa_pipeline_tests.end_to_end import MANUAL, PAIRS, json_lines, new_workspace

    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("verified"), patch)
        made.write({"b/guide.md": MANUAL, "b/pairs.jsonl": json_lines(PAIRS)})
        assert made.verify().code == 0
    return made


@pytest.fixture
def verified_workspace(
    verified_once: "Workspace", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> "Workspace":
    """A batch, b, with imported pairs of every verdict."""
    return _copied(verified_once, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def published_once(tmp_path_factory: pytest.TempPathFactory) -> "Folder":
    from qa_pipeline_tests.curation.withdrawal_corpus import TRUE, Folder

    made = Folder(tmp_path_factory.mktemp("published"))
    made.write("b1", TRUE)
    made.write("b2", TRUE)
    assert all(outcome.passed for outcome in made.run().values())
    return made


@pytest.fixture
def published_folder(published_once: "Folder", tmp_path: Path) -> "Folder":
    """Two batches, b1 and b2, of an accepted pair each."""
    from qa_pipeline_tests.curation.withdrawal_corpus import Folder

    return Folder(tmp_path).fill_from(published_once)


@pytest.fixture(scope="session")
def blocked_once(published_once: "Folder", tmp_path_factory: pytest.TempPathFactory) -> "Folder":
    from qa_pipeline_tests.curation.withdrawal_corpus import FALSE, Folder

    made = Folder(tmp_path_factory.mktemp("blocked")).fill_from(published_once)
    made.write("b1", *FALSE)
    assert made.run()["b1"].outcome == "failed"
    return made


@pytest.fixture
def blocked_folder(blocked_once: "Folder", tmp_path: Path) -> "Folder":
    """The same two batches after b1 was changed, so that a gate blocks it."""
    from qa_pipeline_tests.curation.withdrawal_corpus import Folder

    return Folder(tmp_path).fill_from(blocked_once)


@pytest.fixture(scope="session")
def hosted_once(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[tuple[Workspace, Sensible, str]]":
    from qa_pipeline_tests.end_to_end import GUIDE, new_workspace
    from qa_pipeline_tests.support.sensible import Sensible, name_server
    from qa_pipeline_tests.support.servers import GeminiServer

    model = Sensible()
    with GeminiServer(model) as server:
        with pytest.MonkeyPatch.context() as patch:
            made = new_workspace(tmp_path_factory.mktemp("hosted"), patch)
            name_server(patch, server.url)
            made.write({"boilers/guide.md": GUIDE})
            assert made.run("--provider", "gemini", "--max-calls", "50").code == 0
        yield made, model, server.url


@pytest.fixture
def hosted_model(
    hosted_once: "tuple[Workspace, Sensible, str]", monkeypatch: pytest.MonkeyPatch
) -> "Sensible":
    """The model that the settings name; it was asked nothing yet."""
    from qa_pipeline_tests.support.sensible import name_server

    _, model, url = hosted_once
    name_server(monkeypatch, url)
    model.start_anew()
    return model


@pytest.fixture
def hosted_workspace(
    hosted_once: "tuple[Workspace, Sensible, str]",
    hosted_model: "Sensible",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> "Workspace":
    """A batch, boilers, whose pairs this model wrote, verified and judged."""
    return _copied(hosted_once[0], tmp_path, monkeypatch)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests with a limit of their own, which take minutes, first: so no worker ends alone with one."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


def _guarded(method: Any) -> Any:
    def guarded(self: socket.socket, *arguments: Any) -> Any:
        address = arguments[-1]
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
            pytest.fail(f"a test reached for the network: {address[0]}:{address[1]}")
        return method(self, *arguments)

    return guarded


def _guarded_lookup(lookup: Any) -> Any:
    def guarded(host: Any, *arguments: Any, **named: Any) -> Any:
        if host is not None and not _is_local(host):
            pytest.fail(f"a test looked up a name on the network: {host!r}")
        return lookup(host, *arguments, **named)

    return guarded


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    local = ("", "localhost", "0.0.0.0", "::", "::1", socket.gethostname())
    return name in local or name.startswith("127.")
