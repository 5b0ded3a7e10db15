"""OpenTelemetry spans of the stages of each batch, if the settings enable them.

Only the API is used. The process configures the export of spans, as `opentelemetry-instrument` does from the
environment. Without a configured SDK spans are dropped. They contain no texts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import Settings


@contextmanager
def stage_span(settings: Settings, batch: str, stage: str) -> Iterator[None]:
    """Wrap the stage of a batch in a span, which records errors.

    Raises:
        SettingsError: spans are enabled and the package is not installed.
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
