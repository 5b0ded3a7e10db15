"""What every encoder keeps to, whatever computes its vectors."""

import numpy as np

from qa_pipeline.models.base import Embedder

TEXTS = [
    "How many workers start by default?",
    "The server starts five workers unless told otherwise.",
    "Bananas ripen faster beside apples.",
    "Hur många arbetare startar som standard?",
    "",
    "word " * 400,
    "  padded with blanks \n",
]


def check_vectors(encoder: Embedder) -> None:
    """Hold vectors to unit length and the order of the texts: a question, its answer, something else."""
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384) == (7, 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    question, answer, fruit = vectors[0], vectors[1], vectors[2]
    assert question @ answer > question @ fruit + 0.3
    assert len(encoder.encode([])) == 0
