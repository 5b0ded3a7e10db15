from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from qa_pipeline.models.cross_encoder import EntailmentModel
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.models.cross_encoders import write_classifier
from qa_pipeline_tests.verification import rows

TEXT = "# Pump\nThe pump runs at forty bar.\n# Valve\nThe valve is closed at night."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    folder = tmp_path_factory.mktemp("models")
    return {"entailment": {"model": str(write_classifier(folder / "nli"))}}


def claims_of(out: Path, verification: dict[str, dict[str, str]]) -> pl.DataFrame:
    documents = rows.documents({"a.md": TEXT})
    chunks = rows.chunks(documents)
    pairs = rows.pairs(rows.pair("The pump runs at forty bar. The valve is open.", cites="a.md"))
    resources = Resources(load_settings(out=out, verification=verification), embedder=HashEmbedder())
    return stages.score_claims(resources, pairs, documents, chunks, EMBEDDINGS.empty())


def test_an_unchanged_batch_runs_no_model(
    tmp_path: Path, models: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = claims_of(tmp_path, models)
    names = ["entailment", "contradiction", "entailment_model"]
    assert first.select(names).null_count().sum_horizontal().item() == 0

    def run_again(*_: object) -> None:
        pytest.fail("a model was run again")

    monkeypatch.setattr(EntailmentModel, "compute", run_again)
    assert_frame_equal(claims_of(tmp_path, models), first)


def test_without_models_their_columns_are_empty(tmp_path: Path) -> None:
    claims = claims_of(tmp_path, {})
    unknown = [name for name in claims.columns if name.startswith("entailment")]
    assert claims.select(unknown).null_count().row(0) == (claims.height,) * len(unknown)
