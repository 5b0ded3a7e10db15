"""How often the right passage is found: words alone, vectors alone, and both fused.

    python -m qa_pipeline_tests.benchmarks.bench_retrieval --bench FOLDER [--vector-weight W] [--rrf-k K]

FOLDER holds `retrieval/NAME/{corpus,queries,qrels}.parquet` and `qa/*quad*.parquet`, whose contexts are
the passages and whose questions ask for their own. Prints one JSON line with hit@1 and hit@5 of each set.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.embedding import Embedder, embed_chunks
from qa_pipeline.embedding_model import load_embedder
from qa_pipeline.index import build_index
from qa_pipeline.retrieval import Hit, Retriever
from qa_pipeline.settings import EmbeddingSettings, RetrievalSettings
from qa_pipeline.vector_cache import MemoryVectorCache

LANGUAGES = {"swefaq_dev": "sv"}
"""Sets of `retrieval/` that are not English; those of `qa/` say it themselves."""


def main() -> None:
    """Measure and print."""
    defaults = RetrievalSettings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--vector-weight", type=float, default=defaults.vector_weight)
    parser.add_argument("--rrf-k", type=int, default=defaults.rrf_k)
    parser.add_argument("--model", default=EmbeddingSettings().model)
    arguments = parser.parse_args()
    settings = RetrievalSettings(vector_weight=arguments.vector_weight, rrf_k=arguments.rrf_k)
    embedder = load_embedder(EmbeddingSettings(model=arguments.model))
    sets = {path.stem: _qa_set(path) for path in sorted(arguments.bench.glob("qa/*quad*.parquet"))}
    sets |= {path.name: _retrieval_set(path) for path in sorted(arguments.bench.glob("retrieval/*"))}
    print(
        json.dumps(
            {
                "benchmark": "retrieval",
                "model": embedder.model,
                "vector_weight": settings.vector_weight,
                "rrf_k": settings.rrf_k,
                "sets": {name: _measure(*data, embedder, settings) for name, data in sets.items()},
            }
        )
    )


def _measure(
    chunks: pl.DataFrame, questions: pl.DataFrame, embedder: Embedder, settings: RetrievalSettings
) -> dict[str, Any]:
    shard = build_index(embed_chunks(chunks, embedder, MemoryVectorCache()))
    retriever = Retriever(chunks, shard, embedder, settings)
    language = chunks["language"][0]
    found = [
        (retriever.search(question, language), set(wanted)) for question, wanted in questions.iter_rows()
    ]
    return {
        "passages": chunks.height,
        "questions": questions.height,
        "bm25": {
            f"hit@{k}": _hit_rate([(_by_words(hits, k), wanted) for hits, wanted in found]) for k in (1, 5)
        },
        "vectors": {
            f"hit@{k}": _hit_rate([(_by_vectors(hits, k), wanted) for hits, wanted in found]) for k in (1, 5)
        },
        "fused": {
            f"hit@{k}": _hit_rate([(_first(hits, k), wanted) for hits, wanted in found]) for k in (1, 5)
        },
    }


def _hit_rate(found: list[tuple[set[str], set[str]]]) -> float:
    return round(sum(bool(hits & wanted) for hits, wanted in found) / len(found), 3)


def _first(hits: list[Hit], k: int) -> set[str]:
    return {hit.chunk_id for hit in hits[:k]}


def _by_words(hits: list[Hit], k: int) -> set[str]:
    return {hit.chunk_id for hit in hits if hit.bm25_rank is not None and hit.bm25_rank <= k}


def _by_vectors(hits: list[Hit], k: int) -> set[str]:
    return {hit.chunk_id for hit in hits if hit.vector_rank is not None and hit.vector_rank <= k}


def _qa_set(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = pl.read_parquet(path).filter(pl.col("answerable") == 1)
    rows = rows.with_columns(text=pl.col("context").list.join("\n"))
    passages = rows.select("text", "language").unique(maintain_order=True)
    chunks = _chunks(passages.with_row_index("chunk_id"))
    wanted = rows.join(chunks, on="text", maintain_order="left").select(
        "question", pl.concat_list("chunk_id").alias("wanted")
    )
    return chunks, wanted


def _retrieval_set(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    corpus = pl.read_parquet(folder / "corpus.parquet").rename({"doc_id": "chunk_id"})
    corpus = corpus.with_columns(language=pl.lit(LANGUAGES.get(folder.name, "en")))
    relevant = pl.read_parquet(folder / "qrels.parquet").filter(pl.col("relevance") > 0)
    wanted = relevant.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").alias("wanted"))
    queries = pl.read_parquet(folder / "queries.parquet")
    questions = queries.join(wanted, on="query_id", maintain_order="left").select("text", "wanted")
    return _chunks(corpus), questions


def _chunks(passages: pl.DataFrame) -> pl.DataFrame:
    return passages.select(
        pl.col("chunk_id").cast(pl.String()),
        pl.lit("bench").alias("batch"),
        pl.lit([], dtype=pl.List(pl.String())).alias("section_path"),
        "text",
        "language",
    )


if __name__ == "__main__":
    main()
