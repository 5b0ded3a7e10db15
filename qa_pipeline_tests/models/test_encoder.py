from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.encoder import SentenceEncoder, load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.models.encoder_laws import TEXTS, check_vectors


@pytest.fixture(scope="module")
def embedder() -> SentenceEncoder:
    return load_embedder(EmbeddingSettings())


@pytest.fixture(scope="module")
def exact() -> SentenceEncoder:
    return load_embedder(EmbeddingSettings(precision="float32"))


def test_vectors_have_unit_length_and_keep_the_order_of_the_texts(embedder: SentenceEncoder) -> None:
    check_vectors(embedder)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: SentenceEncoder) -> None:
    together = embedder.encode(TEXTS)
    alone = np.vstack([embedder.encode([text]) for text in TEXTS])
    backwards = embedder.encode(TEXTS[::-1] + TEXTS)
    assert together.tobytes() == alone.tobytes() == backwards[len(TEXTS) :].tobytes()
    assert together.tobytes() == replace(embedder, batch_size=1).encode(TEXTS).tobytes()


def test_the_chosen_precision_stays_close_to_plain_sentence_transformers(
    embedder: SentenceEncoder, exact: SentenceEncoder
) -> None:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(embedder.files.folder), device="cpu", local_files_only=True).encode(TEXTS)
    assert (plain * exact.encode(TEXTS)).sum(axis=1).min() > 0.999999
    assert (plain * embedder.encode(TEXTS)).sum(axis=1).min() > 0.999
    bfloat16 = replace(exact, precision="bfloat16").encode(TEXTS)
    assert (plain * bfloat16).sum(axis=1).min() > 0.999


def test_bfloat16_layers_see_few_shapes_whatever_the_lengths(exact: SentenceEncoder) -> None:
    from torch.nn.functional import gelu, linear
    from torch.overrides import TorchFunctionMode

    from qa_pipeline.models.torch_blocks import BLOCK_SIZES

    heights = []

    class Recording(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is linear or func is gelu:
                heights.append(args[0].numel() // args[0].shape[-1])
            return func(*args, **(kwargs or {}))

    bfloat16 = replace(exact, precision="bfloat16")
    with Recording():
        for length in (1, 5, 77, 200):
            inputs = bfloat16._tokenize(["word " * length] * 7)
            bfloat16._encode_batch(inputs, np.arange(7))
    assert heights
    assert set(heights) <= set(BLOCK_SIZES)


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


def test_vectors_without_a_direction_are_refused(embedder: SentenceEncoder) -> None:
    for broken in (np.zeros((1, 3), np.float32), np.full((1, 3), np.nan, np.float32)):
        with pytest.raises(SettingsError, match=r"embedding\.precision"):
            embedder._unit_length(broken)


def test_a_gpu_that_is_not_there_is_missed_at_the_first_text_and_not_before(tmp_path: Path) -> None:
    encoder = load_embedder(EmbeddingSettings(device="cuda"))
    assert encoder.precision == "cuda float32"
    with pytest.raises(SettingsError, match=r"embedding\.device"):
        encoder.encode(["Is there a GPU?"])
