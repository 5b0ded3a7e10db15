"""What holds for every test: no network, no hub, no settings or keys of the machine it runs on."""

import gc
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# before anything imports a library that reads them
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
# a worker for each core: threads of their own would only wait for each other
os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1")

# looking for cycles among all that tests import and remember takes a tenth of their time
gc.set_threshold(50_000, 20, 100)

# No deadline: a law does not fail because the machine is busy. No law says how many examples it is tried on:
# `make test` has to stay short, `make test-laws` has the whole night.
settings.register_profile("short", deadline=None, max_examples=15)
settings.register_profile("laws", deadline=None, max_examples=300)
settings.load_profile("short")

_FOREIGN_PREFIXES = ("QA_PIPELINE_", "GEMINI_", "GOOGLE_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True, scope="session")
def sealed_off() -> Iterator[None]:
    """Hide the machine's settings, keys and proxies, and fail a test that reaches for another machine."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.startswith(_FOREIGN_PREFIXES) or name.lower() in _PROXIES:
            patch.delenv(name)
    for name in ("connect", "connect_ex", "sendto"):
        patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
    yield
    patch.undo()


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
