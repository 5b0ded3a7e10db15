import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.cli.calibrate import as_file
from qa_pipeline.errors import SettingsError
from qa_pipeline.models.base import Vectors
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.combined import CombinedModel, load_model, with_combined
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.frames import claims
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs


def own(model: str = "hash", revision: str = "1") -> CombinedModel:
    return load_model().model_copy(update={"embedding_model": model, "embedding_revision": revision})


def test_a_claim_without_evidence_or_too_long_to_be_read_has_no_score() -> None:
    frame = claims({}, {"similarity": None}, {"text": "long " * 50})

    scored = with_combined(frame, own(), "hash", "1", 100)

    assert scored["combined"].is_null().to_list() == [False, True, True]
    assert scored["combined_model"].to_list() == [own().version] * 3


@pytest.mark.parametrize(("model", "revision"), [("other", "1"), ("hash", "2")])
def test_a_model_of_another_encoder_scores_nothing_and_says_so(
    model: str, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        scored = with_combined(claims({}, {}), own(), model, revision, 100)

    assert scored["combined"].to_list() == [None, None]
    assert scored["combined_model"].to_list() == [None, None]
    assert "combined is null for 2 claims" in caplog.text


def test_equal_frames_get_equal_bytes() -> None:
    frame = claims({}, {"similarity": 0.3}, {"token_recall": None})

    once, again = (with_combined(frame, own(), "hash", "1", 100) for _ in range(2))

    assert once.equals(again)
    assert np.array_equal(once["combined"].to_numpy(), again["combined"].to_numpy())


def found(settings: VerificationSettings, embedder: HashEmbedder) -> pl.DataFrame:
    frame = documents({"a.md": "The heat pump weighs 80 kg. It has a red door."})
    answer = "The heat pump weighs 80 kg. The moon is made of green cheese."
    return find_claims(pairs(pair(answer, cites="a.md")), frame, chunks(frame), embedder, settings)


def test_claims_are_scored_by_the_file_that_the_settings_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(as_file(own()))

    scored = found(VerificationSettings(combined_model=path), HashEmbedder())

    assert scored["combined"].is_not_null().all()
    assert scored["combined"][0] > scored["combined"][1]
    assert scored["combined_model"].unique().to_list() == [own().version]


def test_the_shipped_file_scores_nothing_of_another_encoder() -> None:
    scored = found(VerificationSettings(), HashEmbedder())

    assert scored["combined"].is_null().all()
    assert scored["combined_model"].is_null().all()
    assert scored["similarity"].is_not_null().all()


class Broken(HashEmbedder):
    """An encoder whose arithmetic overflows for one text."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = super().encode(texts)
        vectors[0] = np.nan
        return vectors


def test_a_vector_that_is_no_number_is_an_error_and_no_score() -> None:
    with pytest.raises(SettingsError, match="no finite vector for 1 of"):
        found(VerificationSettings(), Broken())
