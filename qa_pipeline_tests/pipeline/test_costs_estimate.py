from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.defs.running import run_batches
from qa_pipeline.generation.extractive import ExtractiveModel
from qa_pipeline.pipeline.costs import Estimate, estimate_run
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline_tests.defs.project import OnlyGenerates
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.llm.fakes import NOON

WORDS = ("boiler", "valve", "pump", "pressure", "filter", "night", "heat", "drain", "cable", "switch")


def settings_at(folder: Path, **llm: Any) -> Settings:
    for name in ("north", "south"):
        file = folder / "corpus" / name / "guide.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"## The {one}\n\nThe {one} of {name} is checked every {len(one)} weeks." for one in WORDS
        ]
        file.write_text("\n\n".join(sections))
    chosen = {"provider": "openai", "model": "scripted", "budget": {"max_calls": 1000}} | llm
    quality = {"min_pass_rate": 0.0}
    return load_settings(corpus=folder / "corpus", out=folder / "out", llm=chosen, quality=quality)


def estimate(settings: Settings, *batches: str) -> Estimate:
    return estimate_run(Resources(settings, embedder=HashEmbedder()), batches or ("north",), now=NOON)


def test_questions_that_are_there_and_answered_are_not_counted_again(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    run_batches(OnlyGenerates(settings, embedder=HashEmbedder(), model=ExtractiveModel()), ["north"])
    assert {stage.calls for stage in estimate(settings).stages} == {0}


def test_cost_is_that_of_the_tokens_and_null_where_nobody_knows_the_price(tmp_path: Path) -> None:
    priced = estimate(settings_at(tmp_path, model="gpt-4o-mini"))
    assert priced.cost is not None
    read = sum(stage.input_tokens for stage in priced.stages)
    written = sum(stage.output_tokens for stage in priced.stages)
    exact = (read * Decimal("0.15") + written * Decimal("0.60")) / 1_000_000
    assert float(priced.cost) == pytest.approx(float(exact), rel=0.02)
    assert estimate(settings_at(tmp_path)).cost is None
