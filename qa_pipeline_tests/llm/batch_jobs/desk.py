"""Asking with batch delivery against a loopback server, each time as a new process would."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from qa_pipeline.errors import ModelError, RepliesPendingError
from qa_pipeline.llm.base import Reply, Request
from qa_pipeline.llm.batch_jobs.book import Item, ProviderJob
from qa_pipeline.llm.batch_jobs.collecting import Collected
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline.llm.store.schema import CALLS
from qa_pipeline.llm.store.store import call_of
from qa_pipeline.records import CallRecord
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import claim
from qa_pipeline_tests.llm.serving import FastClock
from qa_pipeline_tests.support.servers import GeminiServer

Told = TypeVar("Told")
MODEL = "gemini-2.5-flash"


class Desk:
    """A store, a server and settings; every method builds its own models."""

    def __init__(self, place: Path | str, server: GeminiServer, **settings: Any) -> None:
        self.server = server
        self.place = place
        self.clock = FastClock()
        self.settings = LLMSettings(
            **({"provider": "gemini", "model": MODEL, "base_url": server.url, "delivery": "batch"} | settings)
        )

    def models(self, run: str = "run") -> Models:
        environ = {"GEMINI_API_KEY": LOOPBACK_KEY}
        if isinstance(self.place, Path):
            return Models(self.settings, place=self.place, environ=environ, run=run)
        store = self.settings.store.model_copy(update={"url": self.place})
        settings = self.settings.model_copy(update={"store": store})
        return Models(settings, place=Path("unused"), environ=environ, run=run)

    def ask(self, *requests: Request[Any]) -> list[Reply[Any] | ModelError]:
        """What asking all comes to."""
        models = self.models()
        try:
            model = models.of(self.settings.generator)
            assert model is not None
            return complete_all(model, requests, workers=4)
        finally:
            models.close()

    def awaited(self, *requests: Request[Any]) -> RepliesPendingError:
        """The error that asking comes to."""
        try:
            outcomes = self.ask(*requests)
        except RepliesPendingError as pending:
            return pending
        raise AssertionError(f"nothing is awaited: {outcomes}")

    def collect(self) -> Collected:
        """Look at all jobs once."""
        models = self.models()
        try:
            return asyncio.run(models.collector(clock=self.clock.clock).collect())
        finally:
            models.close()

    def rounds(self, *requests: Request[Any], most: int = 10) -> list[Reply[Any] | ModelError]:
        """Ask and collect until nothing is awaited."""
        for _ in range(most):
            try:
                return self.ask(*requests)
            except RepliesPendingError:
                self.collect()
        raise AssertionError(f"still awaited after {most} rounds")

    @property
    def jobs(self) -> list[ProviderJob]:
        """All jobs in the book."""
        return self._told(lambda models: models.jobs.jobs())

    @property
    def calls(self) -> list[CallRecord]:
        """The records of calls."""
        every = sa.select(CALLS).order_by(CALLS.c.call_id)
        rows = self._told(
            lambda models: models.database.read(lambda connection: list(connection.execute(every).mappings()))
        )
        return [call_of(dict(row)) for row in rows]

    def items(self, *requests: Request[Any]) -> list[Item]:
        """What is recorded of the requests in the book."""
        name = self.jobs[0].asked_model
        found = self._told(lambda models: [models.jobs.item(name, request.key) for request in requests])
        return [item for item in found if item is not None]

    def _told(self, ask: Callable[[Models], Told]) -> Told:
        models = self.models()
        try:
            return ask(models)
        finally:
            models.close()


def claims(count: int, **changes: Any) -> list[Request[Any]]:
    """So many different requests."""
    return [claim(f"Is it {number} days?", **changes) for number in range(count)]
