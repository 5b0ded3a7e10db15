"""A finished run to review, and a browser that is signed in to it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from qa_pipeline.review.responses import Access
from qa_pipeline.review.server import build_app
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace, new_workspace

GUIDE = """# Guide

## Filling

To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

The safety valve opens at 3 bar. Do not use softened water.
"""
PAIRS: list[dict[str, object]] = [
    {"question": "When does the safety valve open?", "answer": "The safety valve opens at 3 bar."},
    {"question": "How does the safety valve open?", "answer": "The safety valve opens at 5 bar."},
    {"question": "How is the boiler drained?", "answer": "Opening the lower valve drains everything."},
    {"question": "How long does it take?", "answer": "Wait 10 minutes.", "citations": ["nowhere.md"]},
]
ADDRESS = "http://127.0.0.1"


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("review"), patch)
        pairs = "".join(f"{json.dumps({'citations': ['guide.md'], **row})}\n" for row in PAIRS)
        made.write({"b/guide.md": GUIDE, "b/pairs.jsonl": pairs})
        assert made.run("--provider", "none").code == 0
    return made


@pytest.fixture
def workspace(run_once: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A batch that was run, to be changed at will."""
    return new_workspace(tmp_path, monkeypatch).fill_from(run_once)


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
