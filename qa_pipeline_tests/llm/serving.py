"""A Gemini model against a loopback server, without waits between tries."""

from typing import Any

import stamina

from qa_pipeline.errors import ModelError
from qa_pipeline.llm.base import Reply
from qa_pipeline.llm.budget.budget import Budget
from qa_pipeline.llm.budget.prices import load_prices
from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.gemini.provider import GeminiProvider
from qa_pipeline.llm.hosted import HostedModel
from qa_pipeline.llm.provider import RawReply
from qa_pipeline.llm.throttle import Throttle
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings
from qa_pipeline_tests.fake_server.responses import ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import Decision, claim
from qa_pipeline_tests.support.servers import GeminiServer


def model_for(server: GeminiServer, *, key: str = LOOPBACK_KEY, **changes: Any) -> HostedModel:
    """The real adapter, pointed at the server."""
    settings = LLMSettings(
        provider="gemini", base_url=server.url, **({"max_tries": 3, "wait_minutes": 0} | changes)
    )
    provider = provider_for(server, key=key, **changes)
    budget = Budget(BudgetSettings(), load_prices())
    return HostedModel(provider, settings, Throttle(), budget, run="run", most_output=1000)


def provider_for(server: GeminiServer, *, key: str = LOOPBACK_KEY, **changes: Any) -> GeminiProvider:
    """The real provider, pointed at the server."""
    settings = LLMSettings(provider="gemini", base_url=server.url, **changes)
    seconds = settings.seconds_for(settings.generator)
    return GeminiProvider(settings.generator, seconds, {"GEMINI_API_KEY": key})


def outcome_of(*plays: ServerResponse, **changes: Any) -> Reply[Decision] | ModelError:
    """What one request comes to when the server plays these."""
    with GeminiServer(plays) as server, stamina.set_testing(True, attempts=1000):
        return complete_all(model_for(server, **changes), [claim()], workers=1)[0]


def error_of(*plays: ServerResponse, **changes: Any) -> ModelError:
    """The error that one request comes to."""
    outcome = outcome_of(*plays, **changes)
    assert isinstance(outcome, ModelError)
    return outcome


async def complete_and_close(model: HostedModel) -> None:
    """Ask outside `complete_all`, where an error is raised rather than returned."""
    try:
        await model.complete(claim())
    finally:
        await model.aclose()


async def send_and_close(provider: GeminiProvider) -> RawReply:
    """Send one request and close the connections."""
    try:
        return await provider.send(claim())
    finally:
        await provider.aclose()
