"""Recall, speed and size of each kind of index against exact search.

    python -m qa_pipeline_tests.benchmarks.speed.bench_index --texts FOLDER ... --questions FOLDER
        [--sizes 100000 300000] [--real 20000] [--kinds flat hnsw]
    python -m qa_pipeline_tests.benchmarks.speed.bench_index --vectors FILE --queries FILE

Prints one JSON line.

Vectors are read from .npy files, or made: sentences of the .md, .rst, .txt and .html files and of the
`context` columns of the .parquet files below the folders, embedded with the default settings, at most
`--real` of them, drawn by lot. Where more are asked for, the rest are made near real ones: a real vector
moved by 0.3 to 0.9 along the difference of two others, so that they spread in the directions in which real
ones do. Queries: real questions, the `question` columns below the folder of questions. Recall counts vectors
as near as the true tenth.
"""

import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.models.encoder import Vectors, load_embedder
from qa_pipeline.retrieval.shard import Shard, build_index, dump_shard, load_shard
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now

KINDS = {"flat": 10**9, "hnsw": 1}
"""Vectors below which a batch is searched exactly, by kind of index."""
SUFFIXES = {".md", ".rst", ".txt", ".html"}
LENGTHS = (25, 900)
"""Characters of a sentence that is taken."""
DEPTH = 10
SAME_COSINE = 1e-6
"""Difference of cosines below which two vectors are equally near."""
QUESTIONS = 1000
SEED = 0
ORIGIN = {"model": "bench", "revision": "1", "precision": "int8"}

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--texts", type=Path, nargs="+", default=[])
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--vectors", type=Path, help="real ones, embedded before; in place of --texts")
    parser.add_argument("--queries", type=Path, help="of real questions; goes with --vectors")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000])
    parser.add_argument("--real", type=int, default=20_000)
    arguments = parser.parse_args()
    if arguments.vectors and arguments.queries:
        real, queries = np.load(arguments.vectors), np.load(arguments.queries)
    elif arguments.texts and arguments.questions:
        real, queries = _embedded(
            _drawn(_sentences(arguments.texts), arguments.real),
            _drawn(_column(arguments.questions, "question"), QUESTIONS),
        )
    else:
        parser.error("give --texts and --questions, or --vectors and --queries")
    result: dict[str, Any] = {
        "benchmark": "index",
        "cores": len(os.sched_getaffinity(0)),
        "real_vectors": len(real),
        "questions": len(queries),
        "sizes": {},
    }
    for size in arguments.sizes:
        result["sizes"][size] = _measured_kinds(_as_many(real, size), queries, arguments.kinds)
    print_json(result)


def _measured_kinds(vectors: Vectors, queries: Vectors, kinds: Sequence[str]) -> dict[str, Any]:
    frame = _frame(vectors)
    exact = build_index(frame, KINDS["flat"])
    nearest = exact.search(queries, DEPTH)[1][:, -1:]
    return {kind: _measure(frame, queries, nearest, kind) for kind in kinds}


def _measure(frame: pl.DataFrame, queries: Vectors, nearest: Vectors, kind: str) -> dict[str, Any]:
    start = time.perf_counter()
    shard = build_index(frame, KINDS[kind])
    built = time.perf_counter()
    content = dump_shard(shard)
    start_loading = time.perf_counter()
    loaded = load_shard(content, **ORIGIN)
    loaded.search(queries[:1], DEPTH)
    ready = time.perf_counter()
    scores = loaded.search(queries, DEPTH)[1]
    done = time.perf_counter()
    recall = float((scores >= nearest - SAME_COSINE).mean())
    return {
        "kind": shard.kind,
        "recall@10_of_questions": round(recall, 4),
        "build_seconds": round(built - start, 1),
        "load_seconds": round(ready - start_loading, 2),
        "queries_per_second": round(len(queries) / (done - ready)),
        "alone_milliseconds": _alone(loaded, queries[:50]),
        "bytes": len(content),
        "load": load_now(),
        "peak_mb": _peak_mb(),
    }


def _alone(shard: Shard, queries: Vectors) -> float:
    """Milliseconds of a query that comes by itself."""
    start = time.perf_counter()
    for row in range(len(queries)):
        shard.search(queries[row : row + 1], DEPTH)
    return round((time.perf_counter() - start) / len(queries) * 1000, 2)


def _peak_mb() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return round(int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024 / 1e6)


def _frame(vectors: Vectors) -> pl.DataFrame:
    return EMBEDDINGS.conform(
        pl.select(
            pl.int_range(len(vectors)).cast(pl.String()).alias("chunk_id"),
            pl.lit("b").alias("batch"),
            pl.lit("0").alias("text_sha256"),
            *(
                pl.lit(value).alias(name)
                for name, value in zip(("model", "model_revision", "precision"), ORIGIN.values(), strict=True)
            ),
            pl.Series("vector", vectors).cast(pl.List(pl.Float32())),
        )
    )


def _as_many(real: Vectors, size: int) -> Vectors:
    """Real vectors, and as many made near them as are wanting."""
    if len(real) >= size:
        return real[:size]
    generator = np.random.default_rng(SEED)
    made = [real]
    for start in range(len(real), size, 10_000):
        count = min(10_000, size - start)
        near, one, other = (real[generator.integers(0, len(real), count)] for _ in range(3))
        apart = one - other
        apart /= np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-6)
        moved = near + generator.uniform(0.3, 0.9, (count, 1)) * apart
        made.append((moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32))
    return np.vstack(made)


def _embedded(sentences: list[str], questions: list[str]) -> tuple[Vectors, Vectors]:
    encoder = load_embedder(EmbeddingSettings())
    return encoder.encode(sentences), encoder.encode(questions)


def _sentences(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
            text = path.read_text(encoding="utf-8", errors="replace")
            for paragraph in re.split(r"\n\s*\n", text):
                yield from _SENTENCE_END.split(" ".join(paragraph.split()))
        for context in _column(folder, "context"):
            yield from _SENTENCE_END.split(" ".join(context.split()))


def _column(folder: Path, name: str) -> Iterator[str]:
    """The texts in a column of all .parquet files that have it; lists are taken apart."""
    for path in sorted(folder.rglob("*.parquet")):
        if name in pl.read_parquet_schema(path):
            values = pl.read_parquet(path, columns=[name])[name]
            values = values.explode() if values.dtype == pl.List else values
            yield from values.drop_nulls()


def _drawn(texts: Iterator[str], most: int) -> list[str]:
    shortest, longest = LENGTHS
    distinct = list(dict.fromkeys(text for text in texts if shortest < len(text) < longest))
    return random.Random(SEED).sample(distinct, min(most, len(distinct)))


if __name__ == "__main__":
    main()
