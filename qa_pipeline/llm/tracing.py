"""OpenTelemetry spans of our own stages: one for each stage of each batch, where the settings ask for them.

Only the API is used. Which spans are kept and where they go is said by the process, as
`opentelemetry-instrument` does from the environment; without a configured SDK they go nowhere. They hold no
texts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import Settings


@contextmanager
def stage_span(settings: Settings, batch: str, stage: str) -> Iterator[None]:
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

    attributes = {"qa_pipeline.batch": batch, "qa_pipeline.stage": stage}
    tracer = trace.get_tracer_provider().get_tracer("qa_pipeline")
    with tracer.start_as_current_span(f"stage {stage}", attributes=attributes):
        yield
