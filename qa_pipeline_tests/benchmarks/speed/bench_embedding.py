"""Speed and exactness of `encode` beside plain sentence-transformers, by precision, measured in one run.

    python -m qa_pipeline_tests.benchmarks.speed.bench_embedding [--corpus FOLDER] [--texts 400] [--repeats 3]

Prints one JSON line. For each precision: `ratio` (plain seconds / our seconds, best of the repeats, taken in
turns, all with the same cores), `cpu_ratio` (the same of processor time, which depends less on what else
runs), cosines between both vectors of the same text, how far cosines between texts moved, and what a process
of its own needs to have its first vector. The texts are as long as sentences and chunks are.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qa_pipeline.models.base import Vectors
from qa_pipeline.models.encoder import SentenceEncoder, load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

WORDS_PER_TEXT = (6, 10, 14, 18, 22, 28, 36, 60, 90, 120, 150, 180)
"""Half sentences, half chunks: what a run embeds."""
PRECISIONS = ("auto", "float32")
WARM_UP = 16

START = """
import sys, time
start = time.perf_counter()
from pathlib import Path
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.settings.generation import EmbeddingSettings
settings = EmbeddingSettings(precision=sys.argv[1], model=sys.argv[2])
load_embedder(settings).encode(["How many workers start?"])
status = Path("/proc/self/status").read_text()
peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
print(round(time.perf_counter() - start, 2), round(int(peak) * 1024 / 1e6), "torch" in sys.modules)
"""


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, help="folder of .md, .txt and .html files to take words from")
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--model", default=EmbeddingSettings().model)
    arguments = parser.parse_args()
    encoders = {
        name: load_embedder(EmbeddingSettings.model_validate({"precision": name, "model": arguments.model}))
        for name in PRECISIONS
    }
    first = next(iter(encoders.values()))
    words = _corpus_words(arguments.corpus) if arguments.corpus else _vocabulary_words(first)
    texts = _mixed_lengths(words, arguments.texts)
    result = _measure(encoders, texts, arguments.repeats)
    for name in encoders:
        result["precisions"][name] |= _start(name, arguments.model)
    print_json(result)


def _measure(encoders: dict[str, SentenceEncoder], texts: list[str], repeats: int) -> dict[str, Any]:
    from sentence_transformers import SentenceTransformer

    first = next(iter(encoders.values()))
    plain = SentenceTransformer(str(first.files.folder), device="cpu", local_files_only=True)
    encode: dict[str, Callable[[Sequence[str]], Any]] = {"plain": plain.encode}
    encode |= {name: encoder.encode for name, encoder in encoders.items()}
    for call in encode.values():
        call(texts[:WARM_UP])
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in encode}
    vectors = {}
    for _ in range(repeats):
        for name, call in encode.items():
            start, start_work = time.perf_counter(), time.process_time()
            vectors[name] = call(texts)
            times[name].append((time.perf_counter() - start, time.process_time() - start_work))
    best = {name: min(seconds for seconds, _ in taken) for name, taken in times.items()}
    work = {name: min(seconds for _, seconds in taken) for name, taken in times.items()}
    reference = vectors["plain"] / np.linalg.norm(vectors["plain"], axis=1, keepdims=True)
    tokens = np.minimum(first.count(texts), first.window)
    return {
        "benchmark": "embedding",
        "model": first.model,
        "cores": len(os.sched_getaffinity(0)),
        "load": [round(value, 1) for value in os.getloadavg()],
        "texts": len(texts),
        "mean_tokens": round(float(tokens.mean()), 1),
        "plain_seconds": round(best["plain"], 3),
        "precisions": {
            name: {
                "precision": encoder.precision,
                "seconds": round(best[name], 3),
                "ratio": round(best["plain"] / best[name], 2),
                "cpu_ratio": round(work["plain"] / work[name], 2),
                "texts_per_second": round(len(texts) / best[name], 1),
                **_exactness(reference, vectors[name]),
            }
            for name, encoder in encoders.items()
        },
    }


def _exactness(reference: Vectors, vectors: Vectors) -> dict[str, float]:
    """Cosines of a text's two vectors, and how far cosines between different texts moved."""
    cosines = (reference * vectors).sum(axis=1)
    above = np.triu_indices(len(vectors), 1)
    moved = np.abs(reference @ reference.T - vectors @ vectors.T)[above]
    return {
        "mean_cosine": round(float(cosines.mean()), 6),
        "p01_cosine": round(float(np.quantile(cosines, 0.01)), 6),
        "min_cosine": round(float(cosines.min()), 6),
        "mean_moved": round(float(moved.mean()), 5),
        "p99_moved": round(float(np.quantile(moved, 0.99)), 5),
    }


def _start(precision: str, model: str) -> dict[str, Any]:
    """What a new process needs until its first vector."""
    command = [sys.executable, "-c", START, precision, model]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return {"start_seconds": float(told[0]), "peak_mb": int(told[1]), "imports_torch": told[2] == "True"}


def _mixed_lengths(words: list[str], count: int) -> list[str]:
    generator = random.Random(0)
    lengths = [generator.choice(WORDS_PER_TEXT) + generator.randint(-3, 3) for _ in range(count)]
    starts = [generator.randrange(max(1, len(words) - length)) for length in lengths]
    return [" ".join(words[start : start + length]) for start, length in zip(starts, lengths, strict=True)]


def _vocabulary_words(encoder: SentenceEncoder) -> list[str]:
    known = sorted(word for word in encoder.tokenizer.get_vocab() if word.isalpha() and len(word) > 2)
    return random.Random(0).choices(known, k=50_000)


def _corpus_words(folder: Path) -> list[str]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in {".md", ".txt", ".html"})
    return " ".join(path.read_text(encoding="utf-8", errors="replace") for path in paths).split()


if __name__ == "__main__":
    main()
