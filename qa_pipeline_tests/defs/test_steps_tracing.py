from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qa_pipeline.defs.running import run_batches
from qa_pipeline.defs.steps import stage_span
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline_tests.fakes import HashEmbedder

GUIDE = "# Guide\n\nTo drain the boiler, open the lower valve and wait 10 minutes.\n"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of a provider of its own: a process can name its provider only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def settings_of(**changed: Any) -> Settings:
    return Settings(monitoring={"spans": True}, **changed)


def names(kept: InMemorySpanExporter) -> list[str]:
    return [span.name for span in kept.get_finished_spans()]


def enter(settings: Settings) -> None:
    with stage_span(settings, "b1", "chunks"):
        pass


def test_spans_are_off_until_the_settings_ask_for_them(kept: InMemorySpanExporter) -> None:
    enter(Settings())
    assert names(kept) == []
    enter(settings_of())
    assert names(kept) == ["stage chunks"]


def test_a_run_has_one_span_for_each_stage_of_a_batch_without_texts(
    tmp_path: Path, kept: InMemorySpanExporter
) -> None:
    (tmp_path / "corpus" / "b1").mkdir(parents=True)
    (tmp_path / "corpus" / "b1" / "guide.md").write_text(GUIDE)
    settings = settings_of(corpus=str(tmp_path / "corpus"), out=tmp_path / "out")
    run_batches(Resources(settings, embedder=HashEmbedder()), ["b1"])
    assert {"stage documents", "stage claims", "stage training_examples"} <= set(names(kept))
    spans = kept.get_finished_spans()
    assert {dict(span.attributes or {})["qa_pipeline.batch"] for span in spans} == {"b1"}
    assert GUIDE[9:30] not in "".join(span.to_json() for span in spans)
