"""A finished run to review, and a browser that is signed in to it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.review.app import Access
from qa_pipeline.review.server import build_app
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace

ADDRESS = "http://127.0.0.1"


@pytest.fixture
def workspace(verified_workspace: Workspace) -> Workspace:
    return verified_workspace


@pytest.fixture
def sign_in() -> Iterator[Callable[[Path], TestClient]]:
    """Open the review app of an output folder as a person called Ada."""
    with ExitStack() as opened:

        def signed_in(out: Path) -> TestClient:
            access = Access("Ada")
            client = opened.enter_context(TestClient(build_app(Layout(out), access), base_url=ADDRESS))
            assert client.get(f"/enter?token={access.token}").status_code == 200
            return client

        yield signed_in


@pytest.fixture
def client(workspace: Workspace, sign_in: Callable[[Path], TestClient]) -> TestClient:
    return sign_in(workspace.out)
