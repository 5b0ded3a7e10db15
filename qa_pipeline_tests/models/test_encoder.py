from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.encoder import SentenceEncoder, load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings

TEXTS = [
    "How many workers start by default?",
    "The server starts five workers unless told otherwise.",
    "Bananas ripen faster beside apples.",
    "Hur många arbetare startar som standard?",
    "",
    "word " * 400,
    "  padded with blanks \n",
]


@pytest.fixture(scope="module")
def embedder() -> SentenceEncoder:
    return load_embedder(EmbeddingSettings())


@pytest.fixture(scope="module")
def exact() -> SentenceEncoder:
    return load_embedder(EmbeddingSettings(precision="float32"))


def test_vectors_have_unit_length_and_keep_the_order_of_the_texts(embedder: SentenceEncoder) -> None:
    vectors = embedder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (7, 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    question, answer, fruit = vectors[0], vectors[1], vectors[2]
    assert question @ answer > question @ fruit + 0.3
    assert len(embedder.encode([])) == 0


def test_a_vector_does_not_depend_on_its_neighbours(embedder: SentenceEncoder) -> None:
    together = embedder.encode(TEXTS)
    alone = np.vstack([embedder.encode([text]) for text in TEXTS])
    backwards = embedder.encode(TEXTS[::-1] + TEXTS)
    assert together.tobytes() == alone.tobytes() == backwards[len(TEXTS) :].tobytes()


def test_the_chosen_precision_stays_close_to_plain_sentence_transformers(
    embedder: SentenceEncoder, exact: SentenceEncoder
) -> None:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(embedder.files.folder), device="cpu", local_files_only=True).encode(TEXTS)
    assert (plain * exact.encode(TEXTS)).sum(axis=1).min() > 0.999999
    assert (plain * embedder.encode(TEXTS)).sum(axis=1).min() > 0.999
    bfloat16 = replace(exact, precision="bfloat16").encode(TEXTS)
    assert (plain * bfloat16).sum(axis=1).min() > 0.999


def test_a_folder_with_the_same_files_gives_the_same_vectors(
    embedder: SentenceEncoder, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in embedder.files.folder.iterdir():
        (folder / path.name).symlink_to(path)
    copy = load_embedder(EmbeddingSettings(model=str(folder)))
    assert copy.model == "copy"
    assert copy.revision != embedder.revision
    assert copy.encode(TEXTS).tobytes() == embedder.encode(TEXTS).tobytes()


def test_a_gpu_that_is_not_there_is_missed_at_the_first_text_and_not_before(tmp_path: Path) -> None:
    encoder = load_embedder(EmbeddingSettings(device="cuda"))
    assert encoder.precision == "cuda float32"
    with pytest.raises(SettingsError, match=r"embedding\.device"):
        encoder.encode(["Is there a GPU?"])
