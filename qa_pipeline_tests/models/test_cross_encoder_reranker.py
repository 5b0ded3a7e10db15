from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.cross_encoder import Reranker, load_reranker
from qa_pipeline.models.devices import Device
from qa_pipeline.settings.generation import EmbeddingSettings, RetrievalSettings
from qa_pipeline_tests.models.cross_encoders import write_classifier

PAIRS = [
    ("Who keeps the log?", "The operator keeps it. [SEP] And signs."),
    ("Wer führt das Protokoll?", "Die Leitung."),
    ("Vem?", "pump " * 600),
    ("why " * 10_000, "Because."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier(tmp_path_factory.mktemp("reranker"), ["relevance"])


def load(folder: Path, device: Device = "cpu", **changes: str) -> Reranker:
    settings = RetrievalSettings.model_validate({"reranker": str(folder)} | changes)
    found = load_reranker(settings, EmbeddingSettings(device=device))
    assert found is not None
    return found


def test_the_score_of_a_pair_does_not_depend_on_the_others(folder: Path) -> None:
    reranker = load(folder)
    together = reranker.score(PAIRS)
    alone = np.concatenate([reranker.score([pair]) for pair in PAIRS])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    assert len(set(together.tolist())) == len(PAIRS)
    assert load(folder).score(PAIRS).tolist() == together.tolist()


@pytest.mark.parametrize(
    ("labels", "changes", "said"),
    [
        (["yes", "no"], {}, "2 classes"),
        (["relevance"], {"reranker_revision": "sha256:0"}, "retrieval.reranker_revision"),
    ],
)
def test_an_unusable_reranker_is_refused(
    tmp_path: Path, labels: list[str], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        load(write_classifier(tmp_path, labels), **changes).score(PAIRS[:1])
