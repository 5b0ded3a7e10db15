"""How well the search finds the right passage: words, vectors, both fused, and fused and ranked again.

    python -m qa_pipeline_tests.benchmarks.quality.bench_retrieval --bench FOLDER
        [--questions 700] [--vector-weight W] [--model M]

FOLDER holds `retrieval/NAME/{corpus,queries,qrels}.parquet` and `qa/*quad*.parquet`, whose contexts are the
passages and whose questions ask for their own. Measures are those of ir-measures (pytrec_eval); F1 is of the
first five. The default weight of vectors was tuned on such sets: so beside it stands a weight that was
chosen on one half of the questions, parted by document, and every figure is of the other half. Last, by how
much fused is above the better of words and vectors in nDCG@10, with the 95 % interval of a paired bootstrap.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from ir_measures import RR, P, Qrel, R, ScoredDoc, SetF, iter_calc, nDCG
from scipy.stats import bootstrap

from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.retrieval.search import RRF_K, Retriever, build_index, embed_chunks, fuse
from qa_pipeline.settings.generation import EmbeddingSettings, RetrievalSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import cached

LANGUAGES = {"swefaq_dev": "sv"}
"""Sets of `retrieval/` that are not English; those of `qa/` say it themselves."""
RANKED, FOUND = (nDCG @ 10, RR @ 10), (R @ 5, P @ 5)
FIRST = SetF(beta=1.0)
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
RESAMPLES = 4000
SEED = 0

Scores = npt.NDArray[np.float64]
Rankings = dict[str, list[list[str]]]
"""Passage ids, best first, of each question by way of ranking."""


def main() -> None:
    """Measure and print."""
    defaults = RetrievalSettings()
    parser = parser_of(__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=700, help="most questions of a set, drawn by lot")
    parser.add_argument("--vector-weight", type=float, default=defaults.vector_weight)
    parser.add_argument("--model", default=EmbeddingSettings().model)
    arguments = parser.parse_args()
    settings = RetrievalSettings(
        vector_weight=arguments.vector_weight,
        top_k=10,
    )
    embedder = cached(load_embedder(EmbeddingSettings(model=arguments.model)))
    found = {path.stem: _qa_set(path) for path in sorted(arguments.bench.glob("qa/*quad*.parquet"))}
    found |= {path.name: _retrieval_set(path) for path in sorted(arguments.bench.glob("retrieval/*"))}
    sets = {name: _Set(*each, arguments.questions, embedder) for name, each in found.items()}
    weight = max(WEIGHTS, key=lambda one: np.mean([each.gain(one) for each in sets.values()]))
    figures = {name: each.figures(settings, weight) for name, each in sets.items()}
    print_json({"benchmark": "retrieval", "model": arguments.model, "chosen_weight": weight, "sets": figures})


class _Set:
    """Passages, and the questions of both halves with the passages that answer them."""

    def __init__(
        self, chunks: pl.DataFrame, questions: pl.DataFrame, most: int, embedder: CachedEmbedder
    ) -> None:
        asked = questions.sample(min(most, questions.height), seed=SEED)
        self._chunks, self._embedder = chunks, embedder
        self.language = chunks["language"][0]
        self._shard = build_index(embed_chunks(chunks, embedder))
        groups = asked["group"].unique().sort().to_list()
        chosen = np.random.default_rng(SEED).permutation(len(groups))[: len(groups) // 2]
        fitting = pl.col("group").is_in([groups[place] for place in chosen])
        self._fitted, self._kept = asked.filter(fitting), asked.filter(~fitting)
        self._ranked = self._retriever().rankings(*self._asked(self._fitted))

    def _retriever(self, settings: RetrievalSettings | None = None) -> Retriever:
        return Retriever(self._chunks, self._shard, self._embedder, settings or RetrievalSettings())

    def _asked(self, rows: pl.DataFrame) -> tuple[list[str], list[str]]:
        return rows["question"].to_list(), [self.language] * rows.height

    def gain(self, weight: float) -> float:
        """nDCG@10 of the half that weights are chosen on."""
        ids = self._chunks["chunk_id"].to_list()
        fused = [[ids[place] for place, _ in fuse(one, (1.0, weight), RRF_K)[:10]] for one in self._ranked]
        return float(_measured(fused, self._fitted["wanted"].to_list())["nDCG@10"].mean())

    def figures(self, settings: RetrievalSettings, weight: float) -> dict[str, Any]:
        """Every measure of every ranking over the other half."""
        wanted = self._kept["wanted"].to_list()
        scores = {
            name: _measured(ranked, wanted) for name, ranked in self._rankings(settings, weight).items()
        }
        better = max(("words", "vectors"), key=lambda name: scores[name]["nDCG@10"].mean())
        return {
            "language": self.language,
            "passages": self._chunks.height,
            "questions": len(wanted),
            **{
                name: {measure: round(float(each.mean()), 3) for measure, each in found.items()}
                for name, found in scores.items()
            },
            "above_the_better_part": {
                name: _interval(scores[name]["nDCG@10"] - scores[better]["nDCG@10"])
                for name in scores
                if name.startswith("fused")
            },
        }

    def _rankings(self, settings: RetrievalSettings, weight: float) -> Rankings:
        questions, languages = self._asked(self._kept)
        ids = self._chunks["chunk_id"].to_list()
        parts = self._retriever().rankings(questions, languages)
        found: Rankings = {
            name: [[ids[place] for place in part[n][:10]] for part in parts]
            for n, name in enumerate(("words", "vectors"))
        }
        chosen = settings.model_copy(update={"vector_weight": weight})
        for name, way in {"fused": settings, "fused, chosen weight": chosen}.items():
            answered = self._retriever(way).retrieve(questions, languages)
            found[name] = [[chunk_id for chunk_id, _ in ranked] for ranked in answered]
        return found


def _measured(rankings: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Mapping[str, Scores]:
    """The measures of each question."""
    qrels = [Qrel(str(n), chunk_id, 1) for n, ids in enumerate(wanted) for chunk_id in ids]
    found = {str(measure): np.zeros(len(rankings)) for measure in (*RANKED, *FOUND, FIRST)}
    for measures, most in (((*RANKED, *FOUND), 10), ((FIRST,), 5)):
        run = [
            ScoredDoc(str(n), chunk_id, -float(place))
            for n, ranked in enumerate(rankings)
            for place, chunk_id in enumerate(ranked[:most])
        ]
        for value in iter_calc(measures, qrels, run):
            found[str(value.measure)][int(value.query_id)] = value.value
    found["F1@5"] = found.pop(str(FIRST))
    return found


def _interval(differences: Scores) -> list[float]:
    """Mean, lower and upper bound."""
    if not differences.any():
        return [0.0, 0.0, 0.0]
    drawn = bootstrap((differences,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED)
    bounds = drawn.confidence_interval
    return [round(float(one), 4) for one in (differences.mean(), bounds.low, bounds.high)]


def _qa_set(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = pl.read_parquet(path).filter(pl.col("answerable") == 1)
    rows = rows.with_columns(text=pl.col("context").list.join("\n"))
    passages = rows.select("text", "language").unique(maintain_order=True)
    chunks = _chunks(passages.with_row_index("chunk_id"))
    asked = rows.join(chunks, on="text", maintain_order="left")
    return chunks, asked.select("question", wanted=pl.concat_list("chunk_id"), group="group_id")


def _retrieval_set(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    corpus = pl.read_parquet(folder / "corpus.parquet").rename({"doc_id": "chunk_id"})
    corpus = corpus.with_columns(language=pl.lit(LANGUAGES.get(folder.name, "en")))
    relevant = pl.read_parquet(folder / "qrels.parquet").filter(pl.col("relevance") > 0)
    wanted = relevant.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").alias("wanted"))
    queries = pl.read_parquet(folder / "queries.parquet").join(wanted, on="query_id", maintain_order="left")
    return _chunks(corpus), queries.select(question="text", wanted="wanted", group="query_id")


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
