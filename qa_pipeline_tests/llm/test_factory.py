from pathlib import Path

import pytest

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.generation.offline.provider import ExtractiveModel
from qa_pipeline.llm.base import LanguageModel, Reply, complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline.settings.llm import BudgetSettings, LLMSettings
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.llm.requests import ACCEPT, claim
from qa_pipeline_tests.support.servers import GeminiServer

KEY = {"GEMINI_API_KEY": LOOPBACK_KEY}


def built(settings: LLMSettings, folder: Path, environ: dict[str, str]) -> LanguageModel | None:
    models = Models(
        settings, address=folder / "replies.db", environ=environ, run="run", extractive=ExtractiveModel()
    )
    return models.of(settings.generator)


def test_gemini_is_capped_and_stored_replies_cost_nothing(tmp_path: Path) -> None:
    with GeminiServer(lambda _: says(ACCEPT)) as server:
        settings = LLMSettings(provider="gemini", budget=BudgetSettings(max_calls=2), base_url=server.url)
        for _ in range(2):
            model = built(settings, tmp_path, KEY)
            assert model is not None
            outcomes = complete_all(model, [claim("1"), claim("2"), claim("1")], workers=2)
            assert all(isinstance(outcome, Reply) for outcome in outcomes)
        assert len(server.asked) == 2
        model = built(settings, tmp_path, KEY)
        assert model is not None
        with pytest.raises(BudgetExhaustedError):
            complete_all(model, [claim(f"{number}") for number in range(5)], workers=1)
        assert len(server.asked) == 4
