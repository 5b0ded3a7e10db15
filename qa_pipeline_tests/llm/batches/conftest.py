"""The places of a store: a SQLite file, and a Postgres where one is installed."""

from qa_pipeline_tests.llm.store.conftest import new_place, place, server

__all__ = ["new_place", "place", "server"]
