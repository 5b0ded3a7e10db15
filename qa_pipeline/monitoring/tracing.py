"""OpenTelemetry spans of our own stages: one for each stage of each batch, where the settings ask for them.

Only the API is used. Which spans are kept and where they go is said by the process, as
`opentelemetry-instrument` does from the environment; without a configured SDK they go nowhere. They hold no
texts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import SettingsError
from qa_pipeline.pipeline import StageObserver
from qa_pipeline.records import ProgressCallback
from qa_pipeline.settings.llm import HOSTED
from qa_pipeline.settings.tree import Settings
from qa_pipeline.stages import STAGES

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_PROVIDERS = {"gemini": "gcp.gemini", "openai": "openai"}
"""Names of providers in the semantic conventions; any server of chat completions counts as openai there."""


def span_attributes(settings: Settings, batch: str, stage: str) -> Mapping[str, str]:
    """What a span says of a stage: its batch and name, and the model it may ask, where all roles have one."""
    said = {"qa_pipeline.batch": batch, "qa_pipeline.stage": stage}
    asks = stage in STAGES and STAGES[stage].asks_a_model
    hosted = {(one.provider, one.model) for one in settings.llm.models if one.provider in HOSTED}
    if asks and len(hosted) == 1:
        ((provider, model),) = hosted
        said |= {"gen_ai.provider.name": _PROVIDERS[provider], "gen_ai.request.model": model}
    return said


@contextmanager
def stage_span(settings: Settings, batch: str, stage: str) -> Iterator[None]:
    """A span around the stage of a batch; an error that leaves it is recorded on it.

    Raises:
        SettingsError: spans are asked for and the package is not installed.
    """
    tracer = _tracer(settings)
    if tracer is None:
        yield
        return
    attributes = span_attributes(settings, batch, stage)
    with tracer.start_as_current_span(f"stage {stage}", attributes=attributes):
        yield


@contextmanager
def traced(settings: Settings, watch: StageObserver) -> Iterator[StageObserver]:
    """An observer that also has a span for each stage, from its start to that of the next one.

    Stages of batches that run one after the other are told of when they begin: a failure of a batch is
    recorded on its last span only where it ends everything.

    Raises:
        SettingsError: spans are asked for and the package is not installed.
    """
    tracer = _tracer(settings)
    if tracer is None:
        yield watch
        return
    going: list[Span] = []

    def observe(batch: str, stage: str) -> ProgressCallback:
        while going:
            going.pop().end()
        attributes = span_attributes(settings, batch, stage)
        going.append(tracer.start_span(f"stage {stage}", attributes=attributes))
        return watch(batch, stage)

    try:
        yield observe
    except BaseException as error:
        for span in going:
            _failed(span, error)
        raise
    finally:
        while going:
            going.pop().end()


def _failed(span: "Span", error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.record_exception(error)
    span.set_status(Status(StatusCode.ERROR, type(error).__name__))


def _tracer(settings: Settings) -> "Tracer | None":
    if not settings.monitoring.spans:
        return None
    if find_spec("opentelemetry") is None:
        raise SettingsError("monitoring.spans needs the otel extra: pip install 'qa-pipeline[otel]'")
    from opentelemetry import trace

    provider: Any = trace.get_tracer_provider()
    tracer: Tracer = provider.get_tracer("qa_pipeline")
    return tracer
