"""OpenTelemetry spans of our own stages: one for each stage of each batch, where the settings ask for them.

Only the API is used. Which spans are kept and where they go is said by the process, as
`opentelemetry-instrument` does from the environment; without a configured SDK they go nowhere. They hold no
texts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.llm import HOSTED
from qa_pipeline.settings.tree import Settings

_PROVIDERS = {"gemini": "gcp.gemini", "openai": "openai"}
"""Names of providers in the semantic conventions; any server of chat completions counts as openai there."""


def span_attributes(settings: Settings, batch: str, stage: str, *, asks_a_model: bool) -> Mapping[str, str]:
    """Return the attributes of a stage's span: batch, stage, and the model where all roles share one."""
    attributes = {"qa_pipeline.batch": batch, "qa_pipeline.stage": stage}
    hosted = {
        (model_settings.provider, model_settings.model)
        for model_settings in settings.llm.models
        if model_settings.provider in HOSTED
    }
    if asks_a_model and len(hosted) == 1:
        ((provider, model),) = hosted
        attributes |= {"gen_ai.provider.name": _PROVIDERS[provider], "gen_ai.request.model": model}
    return attributes


@contextmanager
def stage_span(settings: Settings, batch: str, stage: str, *, asks_a_model: bool) -> Iterator[None]:
    """Yield a span around the stage of a batch; an error in it is recorded.

    Raises:
        SettingsError: spans are asked for and the package is not installed.
    """
    if not settings.monitoring.spans:
        yield
        return
    if find_spec("opentelemetry") is None:
        raise SettingsError("monitoring.spans needs the otel extra: pip install 'qa-pipeline[otel]'")
    from opentelemetry import trace

    attributes = span_attributes(settings, batch, stage, asks_a_model=asks_a_model)
    tracer = trace.get_tracer_provider().get_tracer("qa_pipeline")
    with tracer.start_as_current_span(f"stage {stage}", attributes=attributes):
        yield
