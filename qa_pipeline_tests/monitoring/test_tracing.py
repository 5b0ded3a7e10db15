from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qa_pipeline.errors import SettingsError
from qa_pipeline.monitoring import tracing
from qa_pipeline.monitoring.tracing import span_attributes, stage_span, traced
from qa_pipeline.pipeline import no_observer, run_batches
from qa_pipeline.records import no_progress
from qa_pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings
from qa_pipeline.stages import STAGES
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


def test_spans_are_off_until_the_settings_ask_for_them(kept: InMemorySpanExporter) -> None:
    with traced(Settings(), no_observer) as watch, stage_span(Settings(), "b1", "chunks"):
        watch("b1", "documents")
    assert watch is no_observer
    assert names(kept) == []


def test_a_run_has_one_span_for_each_stage_of_each_batch(tmp_path: Path, kept: InMemorySpanExporter) -> None:
    for batch in ("b1", "b2"):
        (tmp_path / "corpus" / batch).mkdir(parents=True)
        (tmp_path / "corpus" / batch / "guide.md").write_text(GUIDE)
    settings = settings_of(corpus=str(tmp_path / "corpus"), out=tmp_path / "out")
    with traced(settings, no_observer) as watch:
        run_batches(Resources(settings, embedder=HashEmbedder()), ["b1", "b2"], watch)
    stages = [stage for stage in STAGES if stage != "llm_calls"]
    assert names(kept) == [f"stage {stage}" for stage in stages] * 2
    spans = kept.get_finished_spans()
    assert [dict(span.attributes or {})["qa_pipeline.batch"] for span in spans] == (
        ["b1"] * len(stages) + ["b2"] * len(stages)
    )
    times = [(span.start_time or 0, span.end_time or 0) for span in spans]
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times))
    assert GUIDE[9:30] not in "".join(span.to_json() for span in spans)


def test_the_observer_below_hears_the_same(kept: InMemorySpanExporter) -> None:
    heard = []
    with traced(settings_of(), lambda *told: heard.append(told) or no_progress) as watch:  # type: ignore[func-returns-value]
        assert watch("b1", "chunks") is no_progress
    assert heard == [("b1", "chunks")]
    assert names(kept) == ["stage chunks"]


def test_an_error_that_ends_everything_is_on_the_span(kept: InMemorySpanExporter) -> None:

    def fail() -> None:
        with traced(settings_of(), no_observer) as watch:
            watch("b1", "chunks")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    with pytest.raises(ValueError, match="broken"), stage_span(settings_of(), "b1", "chunks"):
        raise ValueError("broken")
    for span in kept.get_finished_spans():
        assert (span.status.is_ok, [event.name for event in span.events]) == (False, ["exception"])


def test_stages_that_ask_a_model_name_it_where_all_roles_have_the_same() -> None:
    hosted = settings_of(llm={"provider": "gemini", "model": "gemini-x", "budget": {"max_calls": 1}})
    said = span_attributes(hosted, "b1", "questions")
    assert (said["gen_ai.provider.name"], said["gen_ai.request.model"]) == ("gcp.gemini", "gemini-x")
    assert "gen_ai.request.model" not in span_attributes(hosted, "b1", "chunks")
    assert "gen_ai.request.model" not in span_attributes(settings_of(), "b1", "questions")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"qa-pipeline\[otel\]"), traced(settings_of(), no_observer):
        pass
