"""A Gemini model against a loopback server, with waits that take no time."""

from typing import Any

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.asking import ask_all
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.fake_server.play import ServerPlay
from qa_pipeline.llm.fake_server.server import LOOPBACK_KEY, GeminiServer
from qa_pipeline.llm.gemini import GeminiModel
from qa_pipeline.records import ClaimReply
from qa_pipeline.settings.models import LLMSettings
from qa_pipeline_tests.llm.asking import claim


class Clock:
    """Sleeps in no time and remembers for how long it should have."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def model_for(
    server: GeminiServer, *, key: str = LOOPBACK_KEY, clock: Clock | None = None, **changes: Any
) -> GeminiModel:
    """The real adapter, pointed at the server."""
    settings = LLMSettings(provider="gemini", base_url=server.url, **({"max_tries": 3} | changes))
    return GeminiModel(key, settings, sleep=(clock or Clock()).sleep)


def outcome_of(*plays: ServerPlay, **changes: Any) -> Reply[ClaimReply] | ModelError:
    """What one request comes to when the server plays these."""
    with GeminiServer(plays) as server:
        return ask_all(model_for(server, **changes), [claim()], workers=1)[0]


def error_of(*plays: ServerPlay, **changes: Any) -> ModelError:
    """The error that one request comes to."""
    outcome = outcome_of(*plays, **changes)
    assert isinstance(outcome, ModelError)
    return outcome


async def complete_and_close(model: GeminiModel) -> None:
    """Ask outside `ask_all`, where an error is raised rather than returned."""
    try:
        await model.complete(claim())
    finally:
        await model.aclose()
