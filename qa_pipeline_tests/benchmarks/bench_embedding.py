"""Speed and exactness of `encode` beside plain sentence-transformers, measured in one run.

    python -m qa_pipeline_tests.benchmarks.bench_embedding [--corpus FOLDER] [--texts 400] [--repeats 3]

Prints one JSON line: `ratio` (plain seconds / our seconds, best of the repeats, taken in turns) and
`min_cosine` between both vectors of the same text. The texts are as long as sentences and chunks are.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from qa_pipeline.embedding_encoder import SentenceEncoder
from qa_pipeline.embedding_model import load_embedder
from qa_pipeline.settings import EmbeddingSettings

WORDS_PER_TEXT = (6, 10, 14, 18, 22, 28, 36, 60, 90, 120, 150, 180)
"""Half sentences, half chunks: what a run embeds."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder of .md, .txt and .html files to take words from")
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--model", default=EmbeddingSettings().model)
    arguments = parser.parse_args()
    embedder = load_embedder(EmbeddingSettings(model=arguments.model))
    words = _corpus_words(arguments.corpus) if arguments.corpus else _vocabulary_words(embedder)
    texts = _mixed_lengths(words, arguments.texts)
    print(json.dumps(_measure(embedder, texts, arguments.repeats)))


def _measure(embedder: SentenceEncoder, texts: list[str], repeats: int) -> dict[str, Any]:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(embedder.files.folder), device="cpu", local_files_only=True)
    plain.encode(texts[:16])
    embedder.encode(texts[:16])
    plain_times, our_times = [], []
    for _ in range(repeats):
        seconds, reference = _timed(lambda: plain.encode(texts))
        plain_times.append(seconds)
        seconds, vectors = _timed(lambda: embedder.encode(texts))
        our_times.append(seconds)
    reference = reference / np.linalg.norm(reference, axis=1, keepdims=True)
    tokens = np.minimum(embedder.count(texts), embedder.window)
    return {
        "benchmark": "embedding",
        "model": embedder.model,
        "precision": embedder.precision,
        "texts": len(texts),
        "mean_tokens": round(float(tokens.mean()), 1),
        "plain_seconds": round(min(plain_times), 3),
        "our_seconds": round(min(our_times), 3),
        "ratio": round(min(plain_times) / min(our_times), 2),
        "texts_per_second": round(len(texts) / min(our_times), 1),
        "min_cosine": round(float((reference * vectors).sum(axis=1).min()), 6),
    }


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def _mixed_lengths(words: list[str], count: int) -> list[str]:
    generator = random.Random(0)
    lengths = [generator.choice(WORDS_PER_TEXT) + generator.randint(-3, 3) for _ in range(count)]
    starts = [generator.randrange(max(1, len(words) - length)) for length in lengths]
    return [" ".join(words[start : start + length]) for start, length in zip(starts, lengths, strict=True)]


def _vocabulary_words(embedder: SentenceEncoder) -> list[str]:
    known = sorted(word for word in embedder.tokenizer.get_vocab() if word.isalpha() and len(word) > 2)
    return random.Random(0).choices(known, k=50_000)


def _corpus_words(folder: Path) -> list[str]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in {".md", ".txt", ".html"})
    return " ".join(path.read_text(encoding="utf-8", errors="replace") for path in paths).split()


if __name__ == "__main__":
    main()
