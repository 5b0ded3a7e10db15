"""The places that every law of the store is held at: a SQLite file, and a Postgres where one is installed."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from qa_pipeline_tests.llm.postgres_server import NewPlace, Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def new_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewPlace:
    if request.param == "postgres":
        server: Server = request.getfixturevalue("server")
        return server.new_database
    folder, numbers = tmp_path_factory.mktemp("stores"), count()
    return lambda: folder / f"{next(numbers)}" / "replies.sqlite"


@pytest.fixture
def place(new_place: NewPlace) -> Path | str:
    return new_place()
