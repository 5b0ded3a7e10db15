"""How often the right passage is found: words alone, vectors alone, and both fused, by precision.

    python -m qa_pipeline_tests.benchmarks.quality.bench_retrieval --bench FOLDER [--precisions auto float32]
        [--questions 700] [--vector-weight W]

FOLDER holds `retrieval/NAME/{corpus,queries,qrels}.parquet` and `qa/*quad*.parquet`, whose contexts are
the passages and whose questions ask for their own. Prints one JSON line with hit@1, hit@5 and nDCG@10
(Järvelin and Kekäläinen 2002, a passage is relevant or not) of each set; for every further precision also
what it gains or loses against the first one, with the 95 % interval of a paired bootstrap over questions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.retrieval.search import Retriever
from qa_pipeline.retrieval.shard import build_index, embed_chunks
from qa_pipeline.settings.generation import EmbeddingSettings, RetrievalSettings
from qa_pipeline_tests.benchmarks.speed.bench_embedding import PRECISIONS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import cached

LANGUAGES = {"swefaq_dev": "sv"}
"""Sets of `retrieval/` that are not English; those of `qa/` say it themselves."""
MEASURES = ("hit@1", "hit@5", "nDCG@10")
RESAMPLES = 10_000
SEED = 0

Scores = npt.NDArray[np.float64]
"""One row a question, one column a measure."""


def main() -> None:
    """Measure and print."""
    defaults = RetrievalSettings()
    parser = parser_of(__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=700, help="most questions of a set, drawn by lot")
    parser.add_argument("--vector-weight", type=float, default=defaults.vector_weight)
    parser.add_argument("--model", default=EmbeddingSettings().model)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    arguments = parser.parse_args()
    settings = RetrievalSettings(vector_weight=arguments.vector_weight, top_k=10)
    sets = {path.stem: _qa_set(path) for path in sorted(arguments.bench.glob("qa/*quad*.parquet"))}
    sets |= {path.name: _retrieval_set(path) for path in sorted(arguments.bench.glob("retrieval/*"))}
    embedders = {name: _embedder(name, arguments.model) for name in arguments.precisions}
    measured = {
        name: _measure(chunks, _some(questions, arguments.questions), embedders, settings)
        for name, (chunks, questions) in sets.items()
    }
    result = {
        "benchmark": "retrieval",
        "model": arguments.model,
        "precisions": {name: embedder.precision for name, embedder in embedders.items()},
        "vector_weight": settings.vector_weight,
        "sets": {name: _told(*found) for name, found in measured.items()},
        "all": _told(*_together([found for _, found in measured.values()])),
    }
    print_json(result)


def _embedder(precision: str, model: str) -> CachedEmbedder:
    settings = EmbeddingSettings.model_validate({"precision": precision, "model": model})
    return cached(load_embedder(settings))


def _some(questions: pl.DataFrame, most: int) -> pl.DataFrame:
    return questions if questions.height <= most else questions.sample(most, seed=SEED)


def _measure(
    chunks: pl.DataFrame,
    questions: pl.DataFrame,
    embedders: Mapping[str, CachedEmbedder],
    settings: RetrievalSettings,
) -> tuple[int, dict[str, dict[str, Scores]]]:
    """Number of passages, and by precision the scores of each ranking."""
    return chunks.height, {
        name: _scores(chunks, questions, embedder, settings) for name, embedder in embedders.items()
    }


def _scores(
    chunks: pl.DataFrame, questions: pl.DataFrame, embedder: CachedEmbedder, settings: RetrievalSettings
) -> dict[str, Scores]:
    shard = build_index(embed_chunks(chunks, embedder))
    retriever = Retriever(chunks, shard, embedder, settings)
    language = chunks["language"][0]
    embedder.encode(questions[:, 0].to_list())  # at once, so that the searches below find them computed
    scores: dict[str, list[list[float]]] = {"words": [], "vectors": [], "fused": []}
    for question, wanted in questions.iter_rows():
        by_words, by_vectors = retriever.rankings([question], [language])[0]
        rankings = {
            "words": [chunks["chunk_id"][place] for place in by_words],
            "vectors": [chunks["chunk_id"][place] for place in by_vectors],
            "fused": [chunk_id for chunk_id, _ in retriever.retrieve([question], [language])[0]],
        }
        for name, ranking in rankings.items():
            scores[name].append(_scored(ranking, set(wanted)))
    return {name: np.array(rows) for name, rows in scores.items()}


def _scored(ranking: Sequence[str], wanted: set[str]) -> list[float]:
    """The measures of one question."""
    hits = [chunk_id in wanted for chunk_id in ranking[:10]]
    weights = 1 / np.log2(np.arange(2, 12))
    gain = sum(weight for hit, weight in zip(hits, weights, strict=False) if hit)
    return [float(any(hits[:1])), float(any(hits[:5])), float(gain / weights[: len(wanted)].sum())]


def _told(passages: int, found: Mapping[str, Mapping[str, Scores]]) -> dict[str, Any]:
    first, *others = found
    figures: dict[str, Any] = {"passages": passages, "questions": len(found[first]["words"])}
    figures["words"] = _means(found[first]["words"])
    for name, rankings in found.items():
        figures[name] = {ranking: _means(rankings[ranking]) for ranking in ("vectors", "fused")}
    for name in others:
        figures[f"{name} - {first}"] = {
            ranking: _differences(found[name][ranking] - found[first][ranking])
            for ranking in ("vectors", "fused")
        }
    return figures


def _means(scores: Scores) -> dict[str, float]:
    return dict(zip(MEASURES, np.round(scores.mean(axis=0), 3).tolist(), strict=True))


def _differences(pairs: Scores) -> dict[str, list[float]]:
    """Mean difference and its interval: questions are drawn anew, both backends' scores together."""
    random = np.random.default_rng(SEED)
    drawn = (random.integers(0, len(pairs), len(pairs)) for _ in range(RESAMPLES))
    means = np.array([pairs[rows].mean(axis=0) for rows in drawn])
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    rows = np.round(np.stack([pairs.mean(axis=0), low, high], axis=1), 4)
    return dict(zip(MEASURES, rows.tolist(), strict=True))


def _together(
    sets: Sequence[Mapping[str, Mapping[str, Scores]]],
) -> tuple[int, dict[str, dict[str, Scores]]]:
    """The questions of all sets as one; each searched its own passages."""
    first = sets[0]
    return 0, {
        name: {ranking: np.concatenate([one[name][ranking] for one in sets]) for ranking in first[name]}
        for name in first
    }


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
